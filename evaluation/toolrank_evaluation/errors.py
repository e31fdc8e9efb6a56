"""What can go wrong in an evaluation: what, where and the cure."""

from __future__ import annotations


class EvaluationError(Exception):
    """Base of everything this part raises."""


class UnknownDataset(EvaluationError):
    """A dataset name or folder that no reader understands."""


class InvalidDataset(EvaluationError):
    """A dataset that cannot be judged as it is: unknown relevant ids, no queries, broken lines."""


class InvalidCutoff(EvaluationError):
    """A k that is below 1, repeated, or deeper than the catalog."""


class InvalidAnswer(EvaluationError):
    """An answer that cannot be judged: an API twice, or scores that are not finite."""

    def __init__(self, query_id: str, reason: str) -> None:
        super().__init__(f"query {query_id!r}: {reason}")


class InvalidRun(EvaluationError):
    """A file of rankings that cannot be read as one."""


class InvalidLog(EvaluationError):
    """A file of logged tool calls that cannot be read as one."""


class InvalidReport(EvaluationError):
    """A file that is no complete report of this version."""


class OtherBaseline(EvaluationError):
    """A baseline that was not measured on the same requests and judgements."""


class InvalidGate(EvaluationError):
    """A condition that does not say a known figure and a bound."""


class InvalidSpace(EvaluationError):
    """Something to tune that the profile does not have, or values it cannot take."""


class MissingExtra(EvaluationError):
    """The metrics library is not installed; the message holds the install line."""

    def __init__(self, purpose: str = "ranking metrics need", extra: str = "eval") -> None:
        super().__init__(f"{purpose} the extra {extra!r}: pip install 'toolrank[{extra}]'")
