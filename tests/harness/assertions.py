"""Which tests assert something: by themselves, or through a function that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_CALLS = ("raises", "warns", "fail")
"""Of pytest; what a library calls `assert_…` counts as well."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Suite:
    """All files of the tests, read once."""

    def __init__(self, folder: Path) -> None:
        self._modules = {path: ast.parse(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py"))}
        self._named = {path.stem: path for path in self._modules}
        self._functions = {path: dict(_functions(tree)) for path, tree in self._modules.items()}
        self._seen = {path: self._imported(path) for path in self._modules}

    def without_assertion(self) -> Iterator[str]:
        """Each test that asserts nothing, as pytest names it."""
        for path, functions in self._functions.items():
            for name, function in functions.items():
                is_test = name.startswith("test_") and path.name.startswith("test_")
                if is_test and not self._asserts(path, function, {name}):
                    yield f"{path.name}::{name}"

    def _asserts(self, path: Path, function: Function, entered: set[str]) -> bool:
        if any(map(_is_assertion, ast.walk(function))):
            return True
        for called in map(_called, ast.walk(function)):
            for place in (path, *self._seen[path]):
                helper = self._functions[place].get(called)
                if helper is not None and (key := f"{place}:{called}") not in entered:
                    entered.add(key)
                    if self._asserts(place, helper, entered):
                        return True
        return False

    def _imported(self, path: Path) -> list[Path]:
        """Helpers and other tests that a file imports."""
        modules = {
            statement.module.rpartition(".")[2]
            for statement in ast.walk(self._modules[path])
            if isinstance(statement, ast.ImportFrom) and statement.module
        }
        return [self._named[module] for module in sorted(modules & self._named.keys())]


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node.name, node


def _is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and _name(node.exc.func) == "AssertionError"
    return isinstance(node, ast.Assert) or _called(node) in _CALLS or _called(node).startswith("assert_")


def _called(node: ast.AST) -> str:
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
