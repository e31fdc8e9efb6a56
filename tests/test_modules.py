"""Modules of the house: a name at their top is defined once, and the name of a class in the whole house."""

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
