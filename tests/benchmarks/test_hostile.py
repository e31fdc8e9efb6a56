"""The list of hostile cases: what can be tried in this process gets what the list says."""

from __future__ import annotations

from dataclasses import replace

from hostile.descriptions import description_cases


def test_no_operation_of_a_description_vanishes() -> None:
    outcomes = {case.group: case.outcome() for case in description_cases()}
    assert {name: said for name, said in outcomes.items() if said != "right"} == {}
    assert len(outcomes) > 180


def test_an_operation_that_is_missing_is_noticed() -> None:
    case = next(iter(description_cases()))
    assert replace(case, apis=(*case.apis, "other")).outcome().startswith("came out: ")
    assert replace(case, told=False).outcome().startswith("dead letters: ")
