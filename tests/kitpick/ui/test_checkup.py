"""The check for APIs that are hard to find: part by part, and of what the caller may see."""

from __future__ import annotations

from typing import Any

import pytest

from kitpick.ui.checkup import AT_ONCE, check_answer, findings_of_part, ids_of_part
from kitpick.ui.shelves import MOST, listing
from kitpick_engines.document import ApiDocument


def api(number: int, tool: str = "t") -> ApiDocument:
    description = f"Returns thing {number} of the list."
    return ApiDocument(f"s/{tool}/a{number:03}", "s", "c", tool, f"a{number:03}", description)


def test_the_parts_of_a_catalog_are_all_of_it() -> None:
    shown = listing([api(number) for number in range(2 * AT_ONCE + 1)], MOST)
    parts, first = [], 0
    while first < len(shown.lines):
        parts += ids_of_part(shown, first)
        first = check_answer(shown, first, []).checked
    assert parts == [line.id for _, _, line in shown.lines]
    assert ids_of_part(shown, first) == []


def test_what_another_tool_is_found_for_is_told_and_what_its_own_is_not() -> None:
    one, twin, stranger = api(1), api(2), api(3, "other")
    shown = listing([one, twin, stranger], MOST)
    found = list(findings_of_part(shown, [one], lambda text, k: [twin.id, one.id]))
    assert found == [], "an API of the same tool that is not in this part"
    (finding,) = findings_of_part(shown, [one], lambda text, k: [stranger.id, one.id])
    assert (finding.kind.value, finding.other, finding.rank) == ("confusable", stranger.id, 2)
    (line,) = check_answer(shown, 0, [finding]).findings
    assert (line.kind, line.api, line.other) == ("confusable", one.id, stranger.id)


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_a_caller_checks_what_they_may_see(shown: Any) -> None:
    answer = shown.ask("check", {}).json()
    assert (answer["checked"], answer["apis"]) == (11, 11)
    assert "payroll" not in str(answer)
    behind = shown.ask("check", {"first": 11}).json()
    assert (behind["checked"], behind["findings"]) == (11, [])
    assert shown.ask("check", {"first": -1}).status_code in (400, 422)
