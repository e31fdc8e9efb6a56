"""A report is written whole or not at all, and read only when it is whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidReport
from kitpick_evaluation.report import (
    MEAN,
    Provenance,
    Report,
    ReportRow,
    digest_of,
    encode_report,
    read_report,
    write_report,
)

PROVENANCE = Provenance(digest="d", requests=2, cutoffs=(5,), seed=0, resamples=10)
REPORT = Report(
    complete=True,
    dataset="shop",
    queries=2,
    provenance=PROVENANCE,
    rows=(
        ReportRow("single", "p", 1, {"recall@5": 1.0}, {"recall@5": (1.0, 1.0)}),
        ReportRow("multi", "p", 1, {"recall@5": 0.5}, {"recall@5": (0.5, 0.5)}),
        ReportRow(MEAN, "p", 2, {"recall@5": 0.75}, {"recall@5": (0.5, 1.0)}),
    ),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "report.json"
    write_report(REPORT, file)
    assert read_report(file) == REPORT
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


def test_equal_reports_are_equal_bytes() -> None:
    assert encode_report(REPORT) == encode_report(msgspec.json.decode(encode_report(REPORT), type=Report))


def test_half_a_report_is_never_taken_for_one(tmp_path: Path) -> None:
    whole = encode_report(REPORT)
    file = tmp_path / "r.json"
    for length in range(0, len(whole) - 2, 7):
        file.write_bytes(whole[:length])
        with pytest.raises(InvalidReport, match="not a complete report"):
            read_report(file)


@pytest.mark.parametrize(
    ("changes", "reason"), [({"complete": False}, "partial"), ({"version": 99}, "version 99")]
)
def test_partial_and_foreign_reports_are_refused(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(encode_report(msgspec.structs.replace(REPORT, **changes)))
    with pytest.raises(InvalidReport, match=reason):
        read_report(file)


def test_a_missing_report_and_an_unwritable_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidReport, match=r"no\.json"):
        read_report(tmp_path / "no.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidReport, match="cannot be written"):
        write_report(REPORT, tmp_path / "file" / "r.json")


def test_the_overall_row_is_the_mean_over_subsets() -> None:
    assert REPORT.overall("p").figures["recall@5"] == 0.75
    assert REPORT.row("multi", "p").queries == 1
    with pytest.raises(KeyError):
        REPORT.overall("q")
    with pytest.raises(KeyError):
        REPORT.row("triple", "p")


def test_the_digest_tells_requests_and_judgements_apart() -> None:
    query = JudgedQuery("1", "rain?", frozenset("ab"))
    assert digest_of([query]) == digest_of([JudgedQuery("1", "rain?", frozenset("ba"))])
    assert digest_of([query]) == "6d5a38df2c953cd16a7847de222fd610", "stored baselines stay valid"
    grouped = JudgedQuery("1", "rain?", frozenset("ab"), groups=(frozenset("ab"),))
    assert digest_of([grouped]) != digest_of([query])
    others = [JudgedQuery("1", "rain?", frozenset("a")), JudgedQuery("1", "snow?", frozenset("ab"))]
    assert len({digest_of([other]) for other in (query, *others)}) == 3
