"""Explains a search in words: what happened to the request and to every hit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kitpick_rescorers.state import StageTrace


class HitStep(msgspec.Struct, frozen=True):
    """The effect of one stage on one hit. Ranks count from 1 in the list before and after it."""

    stage: str
    rank: int
    score: float
    before: int | None = None
    """Rank before the stage; None in the first stage."""
    reason: str = ""


class HitExplanation(msgspec.Struct, frozen=True):
    """The steps of one hit through the pipeline, without stages that neither moved nor mentioned it."""

    id: str
    rank: int
    steps: tuple[HitStep, ...]


class Explanation(msgspec.Struct, frozen=True):
    """A line for each stage, and the steps of each hit."""

    stages: tuple[str, ...]
    hits: tuple[HitExplanation, ...]

    def text(self) -> str:
        """Plain text for a terminal."""
        lines = list(self.stages)
        for hit in self.hits:
            lines += ["", f"{hit.rank}. {hit.id}", *(f"   {_step_line(step)}" for step in hit.steps)]
        return "\n".join(lines) + "\n"


def explain(trace: Sequence[StageTrace], ids: Sequence[str]) -> Explanation:
    """Reads the trace of an answer, for the hits of these ids in their order.

    An API that a stage dropped and the request's own words put back has no step in between.
    """
    ranks = [{key: rank for rank, key in enumerate(entry.order, start=1)} for entry in trace]
    hits = [
        HitExplanation(key, rank, tuple(_steps(trace, ranks, key))) for rank, key in enumerate(ids, start=1)
    ]
    return Explanation(tuple(_stage_line(entry) for entry in trace), tuple(hits))


def _steps(trace: Sequence[StageTrace], ranks: Sequence[Mapping[str, int]], key: str) -> Iterator[HitStep]:
    before: int | None = None
    for entry, rank_of in zip(trace, ranks, strict=True):
        rank = rank_of.get(key)
        if rank is None:  # a stage dropped it, and a later rule put it back
            before = None
            continue
        reason = entry.reasons.get(key, "")
        if not entry.skipped and (reason or rank != before):
            yield HitStep(entry.stage, rank, entry.scores[rank - 1], before, reason)
        before = rank


def _stage_line(entry: StageTrace) -> str:
    said = f"skipped: {entry.skipped}" if entry.skipped else entry.note
    numbers = ", ".join(f"{name} {value:.3g}" for name, value in entry.details.items())
    return " · ".join(part for part in (f"{entry.stage} {entry.milliseconds:.1f} ms", said, numbers) if part)


def _step_line(step: HitStep) -> str:
    moved = f"{'–' if step.before is None else step.before} → {step.rank}"
    return f"{step.stage:<13}{moved:>9}  {step.reason}".rstrip()
