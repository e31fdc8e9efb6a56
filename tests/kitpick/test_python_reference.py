"""docs/python.md is what the docstrings of the public names say: every field, property and method of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import kitpick

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
REWRITE = "run: python tests/kitpick/test_python_reference.py"
HEAD = """# Python

The public names of the package `kitpick`, and what its answers hold, written from their docstrings. A short
way in is in the [README](../README.md#from-python); frameworks of agents are in [adapters](adapters.md), and
settings with their variables in [settings](settings.md). Names that are not here may change without notice.

`from kitpick import Catalog` loads no model: the first ingest or search does.
"""
BASES = {"SearchHit": ("Hit", "kitpick_rescorers.request")}
"""Public class → the class whose fields it has, too."""
HELD = {"ApiDocument": "kitpick_engines.document", "Degradation": "kitpick_rescorers.state"}
"""What hits and answers are made of, which nobody has to make."""
_SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$")


def classes() -> dict[str, ast.ClassDef]:
    """Name → source of each class on the page."""
    places = {name: kitpick._MODULES[name] for name in kitpick.__all__} | HELD
    return {name: _class(name, module) for name, module in places.items()}


def _class(name: str, module: str) -> ast.ClassDef:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text("utf-8")).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


def fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, default and docstring of each public field, inherited ones first."""
    if node.name in BASES:
        yield from fields(_class(*BASES[node.name]))
    following: list[ast.stmt | None] = [*node.body[1:], None]
    for statement, after in zip(node.body, following, strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.target.id.startswith("_") or "ClassVar" in ast.unparse(statement.annotation):
            continue
        said = (
            after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        )
        default = "" if statement.value is None else ast.unparse(_default(statement.value))
        yield statement.target.id, ast.unparse(statement.annotation), default, " ".join(str(said).split())


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and (
            not statement.name.startswith("_")
            or (statement.name == "__init__" and ast.get_docstring(statement))
        ):
            yield statement


def rendered() -> str:
    parts = [HEAD]
    for name, node in classes().items():
        parts.append(f"## `{name}`\n\n{_prose(ast.get_docstring(node) or '')}")
        if rows := list(fields(node)):
            lines = [_row(*row) for row in rows]
            parts.append("\n".join(["| field | type | default | |", "|---|---|---|---|", *lines]))
        parts += [f"### {_signature(name, method)}\n\n{_prose(_said(method))}" for method in methods(node)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _default(value: ast.expr) -> ast.expr:
    """What a setting is where its environment variable is not set."""
    is_setting = isinstance(value, ast.Call) and ast.unparse(value.func) == "_read"
    return value.args[1] if is_setting and isinstance(value, ast.Call) else value


def _row(name: str, kind: str, default: str, said: str) -> str:
    shown = f"`{default}`" if default else ""
    return f"| `{name}` | `{kind}` | {shown} | {said} |".replace(" | None`", " \\| None`")


def _said(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ast.get_docstring(method) or ""


def _signature(owner: str, method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    marks = {ast.unparse(mark) for mark in method.decorator_list}
    if "property" in marks:
        return f"`{owner}.{method.name}`"
    given = ast.unparse(method.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    gives = f" -> {ast.unparse(method.returns)}" if method.returns is not None else ""
    waits = "await " if isinstance(method, ast.AsyncFunctionDef) else ""
    name = owner if method.name == "__init__" else f"{owner}.{method.name}"
    return f"`{waits}{name}({given}){'' if method.name == '__init__' else gives}`"


def _prose(docstring: str) -> str:
    """A docstring as Markdown: what it says of arguments and errors becomes a list."""
    lines: list[str] = []
    listed = False
    for line in docstring.splitlines():
        if _SECTION.match(line):
            listed = True
            lines += [line, ""]
        elif not listed or not line.strip():
            listed = listed and bool(line.strip())
            lines.append(line)
        elif line.startswith("     "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(f"- {line.strip()}")
    return "\n".join(lines)


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text("utf-8") == rendered(), REWRITE


@pytest.mark.parametrize("name", [*kitpick.__all__, *HELD])
def test_every_public_method_says_what_it_does(name: str) -> None:
    node = classes()[name]
    assert ast.get_docstring(node)
    assert [method.name for method in methods(node) if not _said(method)] == []


@pytest.mark.parametrize("name", ["SearchResult", "SearchHit", "Filter", "Degradation"])
def test_every_field_of_an_answer_says_what_it_means(name: str) -> None:
    assert [field for field, _, _, said in fields(classes()[name]) if not said] == []


if __name__ == "__main__":
    PAGE.write_text(rendered(), "utf-8")
