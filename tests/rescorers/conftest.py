"""Builders for small lists of candidates, and models whose every answer is written in the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_rescorers.models import Models
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Fuse, Stage
from kitpick_rescorers.state import State


def candidate(
    name: str,
    *,
    lexical: int | None = None,
    dense: int | None = None,
    sentence: int | None = None,
    vector: Sequence[float] = (1.0, 0.0),
    text: str | None = None,
) -> Candidate:
    """`weather/now` is the API `now` of the tool `weather`; its text is its name unless given."""
    tool, _, api = name.partition("/")
    return Candidate(
        id=name,
        category="",
        tool=tool,
        api=api,
        text=name if text is None else text,
        vector=np.array(vector, dtype=np.float32),
        lexical=None if lexical is None else Place(lexical, 1.0 / lexical),
        dense=None if dense is None else Place(dense, 1.0 / dense),
        sentence=None if sentence is None else Place(sentence, 1.0 / sentence),
    )


class TableScorer:
    """A cross-encoder that looks its logits up by text; the calibration is the logistic function."""

    identity = "table@1"
    manifest: TableScorer  # it is its own manifest

    def __init__(
        self,
        logits: Mapping[str, float],
        seen: Sequence[str] = (),
        thresholds: Mapping[str, float] | None = None,
    ) -> None:
        self.manifest = self
        self.logits = logits
        self.seen = {f"/{tool}" for tool in seen}
        self.thresholds = thresholds or {}
        self.asked: list[list[str]] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append(list(texts))
        return np.array([self.logits[text] for text in texts], dtype=np.float32)

    def probability(self, logits: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-logits))

    def is_seen(self, tool_key: str) -> bool:
        return tool_key in self.seen


class FixedKind:
    """A classifier with one answer."""

    threshold = 0.5

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def probability_multi(self, vector: Any) -> float:
        return self.probability


class SumRanker:
    """A list ranker whose logit is the sum of the features it reads, and that answers as told."""

    identity = "sum@1"
    threshold = 0.5

    def __init__(
        self,
        features: Sequence[str] = ("dense_rank",),
        answerable: float = 0.9,
        evidence: Sequence[str] = ("first", "words"),
    ) -> None:
        self.features, self.answerable, self.evidence = features, answerable, evidence
        self.seen: Any = None

    def score(self, features: Any) -> Any:
        return features.sum(axis=1)

    def probability(self, logits: Any) -> Any:
        return 1 / (1 + np.exp(-logits))

    def probability_answerable(self, evidence: Any) -> float:
        self.seen = evidence
        return self.answerable


class Bench:
    """What a stage's test works with."""

    candidate = staticmethod(candidate)
    scorer = TableScorer
    kind = FixedKind
    ranker = SumRanker

    @staticmethod
    def state(candidates: Sequence[Candidate], **request: Any) -> State:
        return opening_state(RescoreRequest("query", candidates, **request))

    @staticmethod
    def fused(
        names: Sequence[str], vectors: Mapping[str, Sequence[float]] | None = None, **more: Any
    ) -> State:
        """Candidates in this first-stage order."""
        made = [
            candidate(name, lexical=rank, vector=(vectors or {}).get(name, (1.0, 0.0)))
            for rank, name in enumerate(names, start=1)
        ]
        return Fuse().apply(Bench.state(made, **more), Models())

    @staticmethod
    def models(scorer: Any = None, kind: Any = None, ranker: Any = None) -> Models:
        return Models(scorer=scorer, query_kind=kind, cache=ScoreCache(), ranker=ranker)

    @staticmethod
    def apply(
        state: State, *stages: Stage, scorer: Any = None, kind: Any = None, ranker: Any = None
    ) -> State:
        models = Bench.models(scorer, kind, ranker)
        for stage in stages:
            state = stage.apply(state, models)
        return state

    @staticmethod
    def ids(state: State) -> list[str]:
        return [item.id for item in state.ranked]


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()
