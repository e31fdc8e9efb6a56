"""What can go wrong in a rescorer: what, where and the cure."""

from __future__ import annotations

from collections.abc import Iterable


class RescorerError(Exception):
    """Base of everything this part raises."""


class InvalidRequest(RescorerError):
    """A request that cannot be answered as asked."""


class UnknownProfile(RescorerError):
    """A profile name that is not shipped, or a path without a file."""

    def __init__(self, name: str, shipped: Iterable[str]) -> None:
        super().__init__(
            f"no profile {name[:200]!r}: shipped are {', '.join(shipped)}; "
            "one of your own is named by the path of its .toml file"
        )


class InvalidProfile(RescorerError):
    """A profile that does not say what it must: the file, the field and what is allowed there."""

    def __init__(self, file: str, field: str, reason: str, allowed: Iterable[str] = ()) -> None:
        cure = ", ".join(allowed)
        super().__init__(f"{file}: {field}: {reason}" + (f"; allowed: {cure}" if cure else ""))
        self.file = file
        self.field = field


class InvalidScores(RescorerError):
    """Scores of the wrong number, or that are not finite: such a model orders nothing."""


class StageUnavailable(RescorerError):
    """A stage cannot do its work on this request. The pipeline records it and the order stands."""

    @classmethod
    def failed(cls, model: str, error: Exception) -> StageUnavailable:
        """Whatever a model raises, the search goes on without it."""
        return cls(f"{model} failed: {type(error).__name__}: {str(error)[:300]}")
