"""Errors of an evaluation. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from kitpick_foundation.errors import KitpickError


class EvaluationError(KitpickError):
    """Base of the errors of this package."""


class UnknownDataset(EvaluationError):
    """An unknown dataset."""


class InvalidDataset(EvaluationError):
    """A dataset that cannot be used: unknown relevant ids, no queries, broken lines."""


class InvalidCutoff(EvaluationError):
    """A k that is below 1, repeated, or deeper than the catalog."""


class InvalidRanking(EvaluationError):
    """An answer that cannot be judged: an API twice, or scores that are not finite."""

    def __init__(self, query_id: str, reason: str) -> None:
        super().__init__(f"query {query_id!r}: {reason}")


class InvalidReport(EvaluationError):
    """A file that is no complete report of this version."""


class OtherBaseline(EvaluationError):
    """A baseline that was not measured on the same requests and judgements."""


class InvalidGate(EvaluationError):
    """A condition without a known figure or a bound."""
