"""Every test says what must be true."""

from __future__ import annotations

from pathlib import Path

from assertions import Suite

TESTS = Path(__file__).resolve().parent


def test_no_test_is_without_an_assertion() -> None:
    assert list(Suite(TESTS).without_assertion()) == []


def test_an_assertion_is_found_where_it_is_made(tmp_path: Path) -> None:
    """In the test, in a helper that it calls, in pytest's own words, and nowhere else."""
    (tmp_path / "helper.py").write_text(
        "def check(x):\n    deeper(x)\ndef deeper(x):\n    assert x\n", "utf-8"
    )
    (tmp_path / "test_some.py").write_text(
        "from helper import check\n"
        "def test_itself():\n    assert True\n"
        "def test_by_a_helper():\n    check(1)\n"
        "def test_by_pytest():\n    with pytest.raises(ValueError):\n        int('x')\n"
        "def test_that_runs_alone():\n    run(1)\n"
        "def run(x):\n    run(x)\n",
        "utf-8",
    )
    assert list(Suite(tmp_path).without_assertion()) == ["test_some.py::test_that_runs_alone"]
