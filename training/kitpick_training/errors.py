"""What can go wrong while a model is trained: what, where and the cure."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from kitpick_foundation.errors import FailureKind, MissingExtra
from kitpick_models.errors import ModelError

_FAULTLESS = 1.0 - 1e-6


class TrainingError(ModelError):
    """Base of everything this part raises."""


class FiguresNotWritten(TrainingError):
    """The folder of a model cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"{folder}: figures cannot be recorded ({reason}): free some space, or copy the model to a "
            "folder of your own and name that in the settings"
        )


class InvalidRecipe(TrainingError):
    """A configuration that is no recipe."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class DivergedTraining(TrainingError):
    """The loss is no longer a number."""

    def __init__(self, step: int, checkpoint: Path) -> None:
        super().__init__(
            f"the loss of step {step} is not finite; the last good state is in {checkpoint}: "
            "lower `learning_rate` and run again to go on from there"
        )
        self.step = step


class BrokenCheckpoint(TrainingError):
    """A checkpoint that cannot be read, or belongs to another recipe."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"checkpoint {path}: {reason}: remove it to start over, or use another folder")


class CheckpointNotWritten(TrainingError):
    """The disk refused a checkpoint; the one before it is intact."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot write {path}: {reason}: free some space and run again, it goes on from there"
        )


class EmptyTrainingSet(TrainingError):
    """Nothing to learn from, or nothing to measure on."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no {what}: the training set is empty after splitting")


class InvalidFeatures(TrainingError):
    """A file that does not hold the features to learn from."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class UnfaithfulExport(TrainingError):
    """A written model that does not answer as the trained one."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}: it is not to be used")


class ModelNotWritten(TrainingError):
    """The disk refused the model folder; what stood there before still stands."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot write {path}: {reason}: free some space and run again, it goes on from there"
        )


class BrokenPieces(TrainingError):
    """A file in pieces that cannot be put together."""

    def __init__(self, folder: Path, name: str, reason: str) -> None:
        super().__init__(f"{name} in {folder}: {reason}: bring all of them again")


class BrokenLists(TrainingError):
    """Bytes that are no packed lists."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"these are no packed lists ({reason[:200]}): pack them again")


class NotBetter(TrainingError):
    """A trained model that is no better than the one it started from: it was not put in its place."""

    failure = FailureKind.REFUSED

    def __init__(self, before: float, after: float, requests: int) -> None:
        cure = "log more requests, or change the recipe"
        if before > _FAULTLESS:
            cure = "the model in use makes no mistake on them: were they labelled by its own answers?"
        super().__init__(
            f"the trained model is not better on the {requests} requests held out (NDCG@5 {after:.4f}, "
            f"before {before:.4f}): nothing was replaced; {cure}"
        )
        self.before, self.after = before, after


def require_torch() -> None:
    """Refuses before anything is asked or read for a training.

    Raises:
        MissingExtra: the extra `train` is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("train", "training and export")
