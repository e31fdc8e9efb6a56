"""From the trace of a pipeline to the way of every candidate: who entered where, who was cut, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from toolrank.ui.protocol import ShownStage
from toolrank.ui.recording import RecordingEngine
from toolrank_engines.contract import Candidate
from toolrank_rescorers.state import StageTrace

FIND = "find"
"""Name of the step that every other one starts from: the two rankings, and what was fetched later."""


def ids_in_sight(recorded: RecordingEngine, trace: Sequence[StageTrace]) -> list[str]:
    """Every API that took part: as proposed, as fetched, then those that only a stage's list knows."""
    known = dict.fromkeys([*(candidate.id for candidate in recorded.proposed), *recorded.fetched])
    return list(known | dict.fromkeys(key for entry in trace[:1] for key in entry.order))


def flow(
    recorded: RecordingEngine, trace: Sequence[StageTrace], place: Mapping[str, int], milliseconds: float
) -> tuple[ShownStage, ...]:
    """What every step did, the finding of candidates first.

    Args:
        recorded: what the engine proposed.
        trace: of the pipeline's last round.
        place: position of every id of `ids_in_sight`.
        milliseconds: that finding took.
    """
    stages = [_found(recorded, place, milliseconds)]
    for entry in trace:
        before, after = stages[-1].order, tuple(place[key] for key in entry.order)
        stages.append(
            ShownStage(
                stage=entry.stage,
                milliseconds=entry.milliseconds,
                note=entry.note,
                skipped=entry.skipped,
                order=after,
                scores=entry.scores,
                entered=_beyond(after, before),
                cut=_beyond(before, after),
                reasons={place[key]: reason for key, reason in entry.reasons.items() if key in place},
                details=entry.details,
            )
        )
    return tuple(stages)


def _found(recorded: RecordingEngine, place: Mapping[str, int], milliseconds: float) -> ShownStage:
    ids = [*(candidate.id for candidate in recorded.proposed), *recorded.fetched]
    order = tuple(place[key] for key in ids)
    reasons = {place[candidate.id]: _rankings(candidate) for candidate in recorded.proposed}
    reasons |= {place[key]: reason for key, reason in recorded.fetched.items()}
    lexical = sum(candidate.lexical is not None for candidate in recorded.proposed)
    dense = sum(candidate.dense is not None for candidate in recorded.proposed)
    note = f"{lexical} by words, {dense} by vector, {len(recorded.fetched)} fetched later"
    return ShownStage(
        stage=FIND,
        milliseconds=milliseconds,
        note=note,
        skipped="",
        order=order,
        scores=(0.0,) * len(order),
        entered=order,
        cut=(),
        reasons=reasons,
    )


def _rankings(candidate: Candidate) -> str:
    return ", ".join(
        f"{name} rank {found.rank} ({found.score:.3g})"
        for name, found in candidate.places.items()
        if found is not None
    )


def _beyond(these: Iterable[int], those: Iterable[int]) -> tuple[int, ...]:
    known = set(those)
    return tuple(item for item in these if item not in known)
