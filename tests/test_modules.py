"""Modules of the house: names at their top are defined once, class names in the whole house; no circles."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "kitpick",
    "foundation",
    "engines",
    "ingest",
    "rescorers",
    "onnx_models",
    "evaluation",
    "training",
)
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def defined(module: ast.Module) -> Iterator[str]:
    for statement in module.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if "overload" not in map(ast.unparse, statement.decorator_list):
                yield statement.name
        elif isinstance(statement, ast.Assign):
            yield from (
                name.id
                for target in statement.targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            )
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_constant_is_replaced_by_a_later_one_of_the_same_name(path: Path) -> None:
    counts = Counter(defined(ast.parse(path.read_text("utf-8"))))
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_class_has_its_name_for_itself() -> None:
    places = defaultdict[str, list[str]](list)
    for path in MODULES:
        for statement in ast.parse(path.read_text("utf-8")).body:
            if isinstance(statement, ast.ClassDef):
                places[statement.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


ROOTS = (ROOT, *(ROOT / package for package in PACKAGES if package != "kitpick"))


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    root = max((root for root in ROOTS if path.is_relative_to(root)), key=lambda root: len(root.parts))
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path, modules: set[str]) -> set[str]:
    """The modules that one names, at its top, for its types and inside its functions."""
    named: set[str] = set()
    for statement in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(statement, ast.Import):
            named.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            whole = {f"{statement.module}.{alias.name}" for alias in statement.names}
            named.update((whole & modules) or {statement.module})
    return (named & modules) - {name_of(path)}


def circles(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is left of a graph when all that leads to no circle is taken away."""
    graph = {name: set(below) for name, below in graph.items()}
    while leaves := {name for name, below in graph.items() if not below}:
        graph = {name: below - leaves for name, below in graph.items() if name not in leaves}
    return graph


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == {}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}).keys() == {"a", "b", "c"}


def test_no_imports_run_in_a_circle() -> None:
    paths = {name_of(path): path for path in MODULES}
    assert circles({name: imported(path, set(paths)) for name, path in paths.items()}) == {}
