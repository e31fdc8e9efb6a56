"""Mutation check: small faults are put into a module, one at a time. Do the tests that are for it fail?

A fault is another comparison, another sign, a number one larger, the other branch, a call or an answer left
out; drawn by `--seed`, `--each` for a module. None is in `strict=True`, which only guards against faults.
Each runs the tests of its module in a process of its own, over a copy of the package, so the tree stays as it
is. Printed are the faults that no test saw; last is one JSON object: `killed` of `mutants`, and by module.

    scripts/bench mutants [--each 12] [--seed 33] [--only fusion]
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shared_data import ROOT

RESCORERS, ENGINES = "rescorers/kitpick_rescorers", "engines/kitpick_engines"
TESTS = {
    f"{RESCORERS}/pipeline.py": "rescorers/test_pipeline.py rescorers/test_rounds.py "
    "rescorers/test_deadlines.py",
    f"{RESCORERS}/stages/fusion.py": "rescorers/stages/test_fuse.py rescorers/stages/test_blend.py "
    "rescorers/stages/test_lifting.py",
    f"{RESCORERS}/search.py": "rescorers/test_search.py rescorers/test_rounds.py",
    f"{ENGINES}/contract.py": "engines/test_filter.py engines/sqlite/test_sqlite_contract.py",
    f"{ENGINES}/sqlite/view.py": "engines/sqlite/test_sqlite_contract.py engines/sqlite/test_dense.py",
}
"""Module → files below tests/."""
OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
}  # fmt: skip
_SECONDS = 900.0


def main() -> None:
    """Reads the command line, and prints what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--each", type=int, default=12, help="faults in each module")
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--only", default="", help="modules whose path holds this")
    options = parser.parse_args()
    found = {}
    for module in TESTS:
        if options.only in module:
            found[Path(module).stem] = checked(module, options.each, options.seed)
    killed, tried = (sum(column) for column in zip(*found.values(), strict=True))
    print(json.dumps({"killed": killed, "mutants": tried, "by_module": found}))


def checked(module: str, each: int, seed: int) -> tuple[int, int]:
    """How many faults of a module its tests saw, and how many were tried."""
    source = (ROOT / module).read_text("utf-8")
    if passes(module, source) is not True:
        sys.exit(f"{module}: its tests fail as it is")
    faults = list(mutants(source))
    drawn = random.Random(seed).sample(faults, min(each, len(faults)))
    survived = [said for said, text in drawn if passes(module, text)]
    for said in survived:
        print(f"{module}: {said}", flush=True)
    return len(drawn) - len(survived), len(drawn)


def passes(module: str, text: str) -> bool:
    """Whether the tests of a module pass with this text in its place."""
    package = Path(module).parts[1]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / Path(module).parts[0] / package, Path(folder) / package)
        (Path(folder) / Path(*Path(module).parts[1:])).write_text(text, "utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
        tests = [f"tests/{each}" for each in TESTS[module].split()]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [*command, *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Every fault inside functions: where it is and what it is, and the whole text with it."""
    tree = ast.parse(source)
    for number, node in enumerate(_inside(tree)):
        for variant in _variants(node):
            changed = copy.deepcopy(tree)
            place = next(each for place, each in enumerate(_inside(changed)) if place == number)
            place.__dict__.clear()
            place.__dict__.update(variant.__dict__)
            place.__class__ = variant.__class__  # type: ignore[assignment]
            line = getattr(node, "lineno", 0)
            yield (
                f"line {line}: {ast.unparse(node)[:70]!r} → {ast.unparse(place)[:70]!r}",
                ast.unparse(changed),
            )


def _inside(tree: ast.AST) -> Iterator[ast.AST]:
    """Statements and expressions of function bodies, without annotations and `strict=True` of `zip`."""
    strict = [each.value for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "strict"]
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in function.body:
                yield from (
                    each
                    for each in ast.walk(statement)
                    if not isinstance(each, ast.AnnAssign) and each not in strict
                )


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHERS:
        yield ast.Compare(node.left, [OTHERS[type(node.ops[0])](), *node.ops[1:]], node.comparators)  # type: ignore[list-item]
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(OTHERS[type(node.op)](), node.values)  # type: ignore[arg-type]
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHERS:
        yield ast.BinOp(node.left, OTHERS[type(node.op)](), node.right)  # type: ignore[arg-type]
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(None)


if __name__ == "__main__":
    main()
