"""What stages ask of models, as protocols: any object with these methods serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.demorank.pool import Demonstration
from toolrank_rescorers.llm.model import LanguageModel
from toolrank_rescorers.scoring import ScoreCache


class ScorerManifest(Protocol):
    """What a cross-encoder knows of itself."""

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Probabilities tuned for this model: `concentrate`, `abstain`."""

    def is_seen(self, tool_key: str) -> bool:
        """Whether this model was trained on requests for this tool."""


class Scorer(Protocol):
    """A cross-encoder: how well does a text answer a query?"""

    @property
    def identity(self) -> str:
        """Name and digest: equal identities give equal scores."""

    @property
    def manifest(self) -> ScorerManifest:
        """Its thresholds, and what it has seen."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text; higher is better."""

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities (n,) in [0, 1], monotone in the logits."""


class QueryKind(Protocol):
    """A classifier: does a query want one tool or several?"""

    @property
    def features(self) -> Sequence[str]:
        """Names of the features of a scored list that it reads; empty where it reads the query's vector."""

    @property
    def threshold(self) -> float:
        """Probability in (0, 1) from which a query counts as `multi`."""

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        """Probability in [0, 1] that several tools are wanted.

        `vector` holds the values of `features`, or is the query's vector (d,).
        """


class Demonstrations(Protocol):
    """Questions that were answered, to be shown to a language model before it answers another one."""

    def choose(self, query: str, text: str, shots: int, retrieved: int) -> Sequence[Demonstration]:
        """At most `shots` of them for a request and an API, out of the `retrieved` nearest."""


class Models(msgspec.Struct, frozen=True, eq=False):
    """The models a pipeline runs with. A stage whose model is absent is skipped and says so."""

    scorer: Scorer | None = None
    query_kind: QueryKind | None = None
    cache: ScoreCache | None = None
    llm: LanguageModel | None = None
    demonstrations: Demonstrations | None = None

    def threshold(self, name: str, setting: float | None, fallback: float) -> float:
        """The profile's setting, else what the cross-encoder's manifest says, else the fallback."""
        if setting is not None:
            return setting
        return fallback if self.scorer is None else self.scorer.manifest.thresholds.get(name, fallback)
