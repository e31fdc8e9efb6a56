"""What can go wrong while a model is trained: what, where and the cure."""

from __future__ import annotations

from pathlib import Path

from toolrank_models.errors import ModelError


class TrainingError(ModelError):
    """Base of everything this part raises."""


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


class ModelNotWritten(TrainingError):
    """The disk refused the model folder; what stood there before still stands."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot write {path}: {reason}: free some space and run again, it goes on from there"
        )
