"""A judged dataset is refused when it cannot be judged."""

from __future__ import annotations

import pytest

from toolrank_evaluation.dataset import JudgedQuery, check_queries, select
from toolrank_evaluation.errors import InvalidDataset


def query(id_: str = "q1", text: str = "do it", relevant: str = "a", subset: str = "all") -> JudgedQuery:
    return JudgedQuery(id_, text, frozenset(relevant), subset)


def test_a_sound_dataset_passes() -> None:
    check_queries("d", [query(), query("q2")], {"a"})


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ([], "no queries"),
        ([query(), query()], "occurs twice"),
        ([query(text="  ")], "is empty"),
        ([query(relevant="")], "no relevant"),
        ([query(relevant="ab")], "lacks, e.g. 'b'"),
    ],
)
def test_what_cannot_be_judged_is_refused(queries: list[JudgedQuery], reason: str) -> None:
    with pytest.raises(InvalidDataset, match=reason):
        check_queries("d", queries, {"a"})


def test_a_selection_spreads_over_the_whole_order() -> None:
    queries = [query(str(n), subset="first" if n < 50 else "second") for n in range(100)]
    chosen = select(queries, 10)
    assert len(chosen) == 10
    assert {q.subset for q in chosen} == {"first", "second"}
    assert select(queries, None) == tuple(queries)
    assert select(queries, 1000) == tuple(queries)
