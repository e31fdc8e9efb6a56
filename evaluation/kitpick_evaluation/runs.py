"""Rankings of another system, read from a TREC run file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from kitpick_evaluation.answer import Answer, Ranker
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidRun

_FIELDS = 6


def read_run(path: Path) -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Query id → (API, score), by falling score, ties by id. Lines of `QUERY Q0 API RANK SCORE TAG`.

    The scores decide, not the ranks, as in trec_eval.

    Raises:
        InvalidRun: unreadable, a broken line, a score that is not finite, or an API twice for one query.
    """
    scores: dict[str, dict[str, float]] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    _add(scores, line.split(), f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRun(f"{path}: cannot be read: {error}") from error
    return {query: _ordered(found) for query, found in scores.items()}


def run_ranker(path: Path) -> Ranker:
    """A system that answers from a run file; a query that is not in the file gets an empty answer.

    Raises:
        InvalidRun: as `read_run`.
    """
    run = read_run(path)

    def rank(query: JudgedQuery, k: int) -> Answer:
        found = run.get(query.id, ())[:k]
        return Answer(ids=tuple(api for api, _ in found), scores=tuple(score for _, score in found))

    return rank


def _add(scores: dict[str, dict[str, float]], fields: list[str], where: str) -> None:
    if len(fields) != _FIELDS:
        raise InvalidRun(f"{where}: {len(fields)} fields; a line is QUERY Q0 API RANK SCORE TAG")
    query, _, api, _, written, _ = fields
    try:
        score = float(written)
    except ValueError as error:
        raise InvalidRun(f"{where}: the score {written!r} is no number") from error
    if not math.isfinite(score):
        raise InvalidRun(f"{where}: the score is {written}: such a score orders nothing")
    if api in scores.setdefault(query, {}):
        raise InvalidRun(f"{where}: query {query!r} names {api!r} twice")
    scores[query][api] = score


def _ordered(found: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
