"""Small faults for `scripts/bench mutants`: where they are put, and that what they name is there."""

from __future__ import annotations

from mutants import TESTS, mutants
from shared_data import ROOT

SOURCE = """
def nearest(values, limit):
    pairs = zip(values, values, strict=True)
    return [a for a, b in pairs if a < limit]
"""


def test_every_module_and_its_tests_are_where_it_looks_for_them():
    files = [*TESTS, *(f"tests/{each}" for tests in TESTS.values() for each in tests.split())]
    assert [each for each in files if not (ROOT / each).is_file()] == []


def test_a_fault_is_one_change_inside_a_function_and_never_of_a_guard():
    said, texts = zip(*mutants(SOURCE), strict=True)
    assert [each.partition(": ")[2] for each in said] == [
        "'return [a for a, b in pairs if a < limit]' → 'return'",
        "'a < limit' → 'a <= limit'",
    ]
    assert all("strict=True" in text for text in texts)
