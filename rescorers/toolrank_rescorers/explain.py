"""What happened to a request, and to every hit of it, in words."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toolrank_rescorers.request import Hit, Rescored
from toolrank_rescorers.state import StageTrace


class Step(msgspec.Struct, frozen=True):
    """What one stage did to one hit. Ranks count from 1 in the list before and after it."""

    stage: str
    rank: int
    score: float
    before: int | None = None
    """None in the first stage."""
    reason: str = ""


class HitExplanation(msgspec.Struct, frozen=True):
    """The way of one hit through the pipeline; stages that left it unmentioned and unmoved are left out."""

    id: str
    rank: int
    steps: tuple[Step, ...]


class Explanation(msgspec.Struct, frozen=True):
    """Notes on the request as a whole, and the way of each hit."""

    notes: tuple[str, ...]
    hits: tuple[HitExplanation, ...]

    def text(self) -> str:
        """Plain text for a terminal."""
        lines = [*self.notes]
        for hit in self.hits:
            lines += ["", f"{hit.rank}. {hit.id}", *(f"   {_step_line(step)}" for step in hit.steps)]
        return "\n".join(lines) + "\n"


def explain(answer: Rescored) -> Explanation:
    """Reads the trace of an answer."""
    ranks = [{key: rank for rank, key in enumerate(entry.order, start=1)} for entry in answer.trace]
    hits = tuple(
        HitExplanation(hit.id, hit.rank, tuple(_steps(answer, ranks, hit))) for hit in answer.results
    )
    return Explanation(tuple(_notes(answer)), hits)


def _steps(answer: Rescored, ranks: list[dict[str, int]], hit: Hit) -> Iterator[Step]:
    before: int | None = None
    for entry, rank_of in zip(answer.trace, ranks, strict=True):
        rank = rank_of[hit.id]
        reason = entry.reasons.get(hit.id, "")
        if not entry.skipped and (reason or rank != before):
            yield Step(entry.stage, rank, entry.scores[rank - 1], before, reason)
        before = rank


def _notes(answer: Rescored) -> Iterator[str]:
    for entry in answer.trace:
        yield _stage_line(entry)
    if answer.rounds:
        yield f"fetched what was needed {answer.rounds} times"
    if answer.abstained:
        yield f"abstained: {answer.abstained_because}"
    for item in answer.degraded:
        yield f"degraded: {item.stage}: {item.reason}"


def _stage_line(entry: StageTrace) -> str:
    said = f"skipped: {entry.skipped}" if entry.skipped else entry.note
    numbers = ", ".join(f"{name} {value:.3g}" for name, value in entry.details.items())
    return " · ".join(part for part in (f"{entry.stage} {entry.milliseconds:.1f} ms", said, numbers) if part)


def _step_line(step: Step) -> str:
    moved = f"{'–' if step.before is None else step.before} → {step.rank}"
    return f"{step.stage:<13}{moved:>9}  {step.reason}".rstrip()
