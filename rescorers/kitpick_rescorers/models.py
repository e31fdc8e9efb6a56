"""Protocols of the models that stages use: any object with these methods can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.scoring import ScoreCache, Scorer

if TYPE_CHECKING:  # loaded where a profile asks a language model
    from kitpick_rescorers.llm.model import LanguageModel


class QueryKind(Protocol):
    """A classifier: does a query want one tool or several?"""

    @property
    def threshold(self) -> float:
        """Probability in (0, 1) from which a query counts as `multi`."""

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        """Probability in [0, 1] that the query of this vector, (d,), wants several tools."""


class LearnedFusion(Protocol):
    """A learned fusion: how likely does each candidate of a list serve the request, and does any?"""

    @property
    def identity(self) -> str:
        """Name and digest."""

    @property
    def features(self) -> Sequence[str]:
        """Names of the features of a candidate that it reads, see `features.FEATURES`."""

    @property
    def evidence(self) -> Sequence[str]:
        """Names of what it reads of a whole list, see `features.LIST_EVIDENCE`."""

    @property
    def threshold(self) -> float:
        """Probability in [0, 1] below which a list does not answer the request."""

    @property
    def cohort_margin(self) -> float | None:
        """Log-odds that a list needs above what is typical of requests that a catalog cannot serve.

        None where it was not learned.
        """

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits (n,) of candidates by their features (n, f)."""

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities (n,) in [0, 1], monotone in the logits."""

    def probability_answerable(self, evidence: NDArray[np.float64]) -> float:
        """Probability in [0, 1] that anything in a list serves the request, by its evidence (g,)."""


class Models(msgspec.Struct, frozen=True, eq=False):
    """The models a pipeline runs with. A stage whose model is absent is skipped and says so."""

    scorer: Scorer | None = None
    query_kind: QueryKind | None = None
    cache: ScoreCache | None = None
    llm: LanguageModel | None = None
    ranker: LearnedFusion | None = None
