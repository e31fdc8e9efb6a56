"""Conditions on a report: minimum figures, and the largest loss against a baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import msgspec

from kitpick_evaluation.errors import InvalidGate, OtherBaseline
from kitpick_evaluation.report import Report, ReportRow
from kitpick_foundation.errors import suggestion

_FLOOR = re.compile(r"^(?:(?P<subset>.+)/)?(?P<figure>[^>=:/]+)>=(?P<bound>[^>=]+)$")
_DROP = re.compile(r"^(?:(?P<subset>.+)/)?(?P<figure>[^>=:/]+):(?P<bound>[^:]+)$")
_ROUNDED = 1e-12
"""By so much a mean may be off."""


class Floor(msgspec.Struct, frozen=True):
    """`[SUBSET/]FIGURE>=BOUND`: the minimum of a figure, in [0, 1]. Without a subset: overall."""

    figure: str
    bound: float
    subset: str = ""


class Drop(msgspec.Struct, frozen=True):
    """`[SUBSET/]FIGURE:BOUND`: the largest loss of a figure against the baseline, in [0, 1]."""

    figure: str
    bound: float
    subset: str = ""


def parse_floor(text: str) -> Floor:
    """A floor as it is written on a command line, e.g. `recall@5>=0.80` or `multi/comp@5>=0.4`.

    Raises:
        InvalidGate: it is not of that form, or the bound is not in [0, 1].
    """
    return Floor(*_parts(_FLOOR, text, "recall@5>=0.80"))


def parse_drop(text: str) -> Drop:
    """A largest loss, e.g. `ndcg@5:0.01`."""
    return Drop(*_parts(_DROP, text, "ndcg@5:0.01"))


def check_conditions(floors: Sequence[Floor], drops: Sequence[Drop], figures: Sequence[str]) -> None:
    """Refuses conditions on figures that the report will not have.

    Raises:
        InvalidGate: the first such condition.
    """
    for name in (*(floor.figure for floor in floors), *(drop.figure for drop in drops)):
        if name not in figures:
            raise InvalidGate(f"no figure {name!r} is measured: {suggestion(name, figures)}")


def failures(
    report: Report, floors: Sequence[Floor], drops: Sequence[Drop] = (), baseline: Report | None = None
) -> list[str]:
    """A sentence for each condition that a profile does not meet; empty if the report passes.

    Raises:
        InvalidGate: a figure or subset that the report lacks, or a largest loss without a baseline.
        OtherBaseline: the baseline is of other requests, other judgements, or lacks a profile.
    """
    if baseline is not None:
        check_baseline(report, baseline)
    elif drops:
        raise InvalidGate("a largest loss needs a baseline to compare with: --baseline report.json")
    return [*_below(report, floors), *(_dropped(report, drops, baseline) if baseline else ())]


def check_baseline(report: Report, baseline: Report) -> None:
    """Refuses a baseline of other requests or an incomplete one.

    Raises:
        OtherBaseline: of another dataset, other requests or judgements.
    """
    if baseline.dataset != report.dataset:
        raise OtherBaseline(f"the baseline is of dataset {baseline.dataset!r}, this is {report.dataset!r}")
    if baseline.provenance.digest != report.provenance.digest:
        raise OtherBaseline(
            f"the baseline was measured on other requests or judgements of {report.dataset!r}"
            f" ({baseline.queries} requests, here {report.queries}): measure it again"
        )


def _below(report: Report, floors: Sequence[Floor]) -> Iterator[str]:
    for floor in floors:
        for profile in report.profiles:
            row = _row(report, profile, floor.subset)
            found = _figure(row, floor.figure)
            if found < floor.bound - _ROUNDED:
                yield f"{_name(row, floor.figure)} is {found:.4f}, below {floor.bound:g}"


def _dropped(report: Report, drops: Sequence[Drop], baseline: Report) -> Iterator[str]:
    for drop in drops:
        for profile in report.profiles:
            if profile not in baseline.profiles:
                raise OtherBaseline(f"the baseline has no profile {profile!r}: measure it with that profile")
            row, earlier = _row(report, profile, drop.subset), _row(baseline, profile, drop.subset)
            now, before = _figure(row, drop.figure), _figure(earlier, drop.figure)
            if before - now > drop.bound + _ROUNDED:
                lost = f"{before - now:.4f} below the baseline's {before:.4f}"
                yield f"{_name(row, drop.figure)} is {now:.4f}, {lost}; allowed are {drop.bound:g}"


def _row(report: Report, profile: str, subset: str) -> ReportRow:
    if not subset:
        return report.overall(profile)
    for row in report.rows:
        if (row.subset, row.profile) == (subset, profile):
            return row
    known = ", ".join(dict.fromkeys(row.subset for row in report.rows))
    raise InvalidGate(f"no subset {subset!r} in the report of {report.dataset!r}; there are {known}")


def _figure(row: ReportRow, name: str) -> float:
    if name not in row.figures:
        raise InvalidGate(f"no figure {name!r} in the report; there are {', '.join(row.figures)}")
    return row.figures[name]


def _name(row: ReportRow, figure: str) -> str:
    return f"{row.profile}: {figure} ({row.subset}, {row.queries} requests)"


def _parts(form: re.Pattern[str], text: str, example: str) -> tuple[str, float, str]:
    found = form.match(text.strip())
    try:
        bound = float(found["bound"]) if found else math.nan
    except ValueError:
        bound = math.nan
    if found is None or not 0.0 <= bound <= 1.0:
        raise InvalidGate(f"{text!r} is no condition: write it like {example}, the bound in [0, 1]")
    return found["figure"].strip(), bound, found["subset"] or ""
