"""Errors of a rescorer. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.errors import KitpickError


class RescorerError(KitpickError):
    """Base of the errors of this package."""


class EmptyCatalog(RescorerError):
    """A search in a catalog without documents."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: the catalog is empty: take something in with `kitpick ingest SOURCE`")


class InvalidRequest(RescorerError):
    """A request that cannot be answered as it is."""


class UnknownProfile(RescorerError):
    """A profile name that is not shipped, or a path without a file."""

    def __init__(self, name: str, shipped: Iterable[str]) -> None:
        super().__init__(
            f"no profile {name[:200]!r}: shipped are {', '.join(shipped)}; "
            "one of your own is named by the path of its .toml file"
        )


class InvalidProfile(RescorerError):
    """An invalid profile; the text names the file, the field and the allowed values."""

    def __init__(self, file: str, field: str, reason: str, allowed: Iterable[str] = ()) -> None:
        cure = ", ".join(allowed)
        super().__init__(f"{file}: {field}: {reason}" + (f"; allowed: {cure}" if cure else ""))
        self.file = file
        self.field = field


class UnusableStage(RescorerError):
    """A stage that another installed package registers, and that cannot be used."""

    def __init__(self, name: str, place: str, reason: str) -> None:
        super().__init__(f"the stage {name!r}, registered as {place}: {reason}")


class InvalidScores(RescorerError):
    """A model returned the wrong number of scores, or scores that are not finite."""


class ScoredInPart(KitpickError):
    """A cross-encoder that was stopped by a deadline, with what it had scored by then."""

    logits: NDArray[np.float64] = np.empty(0)
    """Logits (n,), one a text; NaN where the text was not read."""


class StageUnavailable(RescorerError):
    """A stage cannot run on this request. The pipeline records this and keeps the order."""

    @classmethod
    def failed(cls, model: str, error: Exception) -> StageUnavailable:
        """The error of a stage whose model raised `error`."""
        return cls(f"{model} failed: {type(error).__name__}: {str(error)[:300]}")
