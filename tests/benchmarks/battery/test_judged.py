"""Pools: what profiles found is written down for readers, and judged by their grades."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest
from battery.figures import SetResult, headline, judged_figures
from battery.judged import joined, read_batches_of, read_pools, with_grades, write_batches, write_pools
from battery.sets import BatteryRequest, BatterySet
from battery.systems import RequestOutcome

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.data.split import Split

pytestmark = pytest.mark.needs("eval")

SPLITS: tuple[Split, Split] = ("test", "validation")
APIS = tuple(
    ApiDocument(id=name, source="s", category="", tool="mail", api=name, description=f"Does {name}.")
    for name in "abcdef"
)


def answered(request: BatteryRequest, ids: str) -> RequestOutcome:
    return RequestOutcome(request, tuple(ids), (None,) * len(ids), tuple(ids), abstained=False)


def mail(**grades: int) -> BatterySet:
    request = BatteryRequest("r1", "tidy up my mail", frozenset("a"), grades=grades)
    return BatterySet("music", None, APIS, (request,))


def found_in(battery_set: BatterySet, **profiles: str) -> SetResult:
    answers = {name: [answered(battery_set.requests[0], ids)] for name, ids in profiles.items()}
    return SetResult(battery_set.name, len(APIS), has_hierarchy=False, outcomes=answers, facets={"r1": {}})


def test_a_batch_holds_what_was_found_and_the_label_and_its_grades_come_back(tmp_path: Path) -> None:
    result = found_in(mail(), dense="bc", kitpick="cd")
    assert write_batches(tmp_path, [mail()], [result], ["dense", "kitpick"]) == 1
    text = (tmp_path / "000.txt").read_text("utf-8")
    shown = [line.partition(" :: ")[0].rpartition(" ")[2] for line in text.splitlines() if " :: " in line]
    assert sorted(shown) == ["a", "b", "c", "d"], "the label is among them, and nothing says that it is one"
    grades = [{"a": 2, "b": 0, "c": 1, "d": 2}[name] for name in shown]
    (tmp_path / "000.grades").write_text(json.dumps(grades), "utf-8")
    assert read_batches_of(tmp_path) == {"music/r1": {"a": 2, "b": 0, "c": 1, "d": 2}}


def test_what_has_a_grade_is_not_asked_again(tmp_path: Path) -> None:
    known = mail(a=2, b=0, c=1)
    assert write_batches(tmp_path / "new", [known], [found_in(known, dense="bc")], ["dense"]) == 0
    assert read_batches_of(tmp_path / "new") == {}
    assert write_batches(tmp_path, [known], [found_in(known, dense="bf")], ["dense"]) == 1
    assert "mail / f" in (tmp_path / "000.txt").read_text("utf-8")


def test_composed_requests_are_not_read(tmp_path: Path) -> None:
    composed = BatterySet("written-joined", None, APIS, mail().requests)
    assert write_batches(tmp_path, [composed], [found_in(composed, dense="bc")], ["dense"]) == 0


def test_a_file_of_pools_comes_back_and_later_grades_win(tmp_path: Path) -> None:
    file = tmp_path / "pools.jsonl.gz"
    write_pools({"music/r1": {"b": 1, "a": 2}, "music/r2": {}}, file)
    assert read_pools(file) == {"music/r1": {"a": 2, "b": 1}}
    assert joined(read_pools(file), {"music/r1": {"b": 0}}) == {"music/r1": {"a": 2, "b": 0}}
    assert with_grades(mail(), read_pools(file)).requests[0].grades == {"a": 2, "b": 1}
    assert read_pools(tmp_path / "absent") == {}
    file.write_bytes(b"no gzip")
    with pytest.raises(InvalidDataset, match="no file of pools"):
        read_pools(file)


def test_gains_are_three_and_one_against_the_best_order_of_what_was_graded() -> None:
    request = mail(a=2, b=1, c=0).requests[0]
    ideal = 3 + 1 / log2(3)
    assert judged_figures(answered(request, "ab")) == pytest.approx((1, 1))
    assert judged_figures(answered(request, "ba")) == pytest.approx(((1 + 3 / log2(3)) / ideal, 0))
    assert judged_figures(answered(request, "fa")) == pytest.approx((3 / log2(3) / ideal, 0)), "f is unread"
    assert judged_figures(answered(request, "")) == (0, 0)


def test_the_headline_compares_by_grades_where_there_are_any() -> None:
    graded = found_in(mail(a=1, b=2), dense="ab", hybrid="ac", kitpick="bf")
    found = headline([graded], "kitpick")
    assert found["judged_first_minus_best"] == pytest.approx(100)
    assert found["judged_unread"] == pytest.approx(0.5)
    assert found["first_minus_best"] == pytest.approx(-100), "by labels alone"
    assert (
        headline([found_in(mail(), dense="a", hybrid="a", kitpick="a")], "kitpick")["judged_minus_best"]
        is None
    )


def test_requests_of_two_splits_that_share_a_number_are_two() -> None:
    held_out, tuned = (
        with_grades(BatterySet("kits", split, APIS, mail().requests), {"kits/test/r1": {"a": 2}})
        for split in SPLITS
    )
    assert (held_out.requests[0].grades, tuned.requests[0].grades) == ({"a": 2}, {})
