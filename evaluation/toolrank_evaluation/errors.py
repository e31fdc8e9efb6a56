"""What can go wrong in an evaluation: what, where and the cure."""

from __future__ import annotations


class EvaluationError(Exception):
    """Base of everything this part raises."""


class UnknownDataset(EvaluationError):
    """A dataset name or folder that no reader understands."""


class InvalidDataset(EvaluationError):
    """A dataset that cannot be judged as it is: unknown relevant ids, no queries, broken lines."""


class MissingExtra(EvaluationError):
    """The metrics library is not installed; the message holds the install line."""

    def __init__(self) -> None:
        super().__init__("ranking metrics need the extra 'eval': pip install 'toolrank[eval]'")
