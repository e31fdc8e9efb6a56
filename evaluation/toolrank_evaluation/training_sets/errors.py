"""What can go wrong while training data is read: what, where and the cure."""

from __future__ import annotations

from pathlib import Path

from toolrank_evaluation.errors import EvaluationError


class TrainingSetError(EvaluationError):
    """Base of everything this part raises."""


class MissingData(TrainingSetError):
    """A data file that is not there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"no training data at {path}: pass the folder that holds it")


class BrokenRecord(TrainingSetError):
    """A line that is not the record it should be."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path.name}, line {line}: {reason}: repair or remove the line")


class UnknownDocument(TrainingSetError):
    """A request whose label names a document that the catalog lacks."""

    def __init__(self, catalog: str, document_id: str) -> None:
        super().__init__(f"{catalog}: a request names the unknown document {document_id[:200]!r}")


class EmptySplit(TrainingSetError):
    """A split without a single usable request."""

    def __init__(self, catalog: str, split: str) -> None:
        super().__init__(f"{catalog}: nothing in the {split} split: use more data or another holdout share")
