"""State of a run on disk, replaced in one move: a kill or a full disk leaves the state before."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import torch

from toolrank_models.train.errors import BrokenCheckpoint, CheckpointNotWritten

BEST = "best.pt"
"""In a run's folder: the weights that validated best."""


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Writes beside the target, flushes to the disk, then renames.

    Raises:
        CheckpointNotWritten: the disk is full or read-only; what was at `path` is unchanged.
    """
    beside = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except (OSError, RuntimeError) as error:
        beside.unlink(missing_ok=True)
        raise CheckpointNotWritten(path, str(error)) from error


def load_state(path: Path) -> dict[str, Any] | None:
    """The saved state, None where there is none. Only tensors and plain values are unpickled.

    Raises:
        BrokenCheckpoint: the file is cut off or no checkpoint.
    """
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise BrokenCheckpoint(path, f"cannot be read ({type(error).__name__})") from error
    if not isinstance(state, dict):
        raise BrokenCheckpoint(path, "does not hold a state")
    return state


def load_best(run: Path) -> dict[str, Any]:
    """The weights of a run that validated best (`model`), and their step.

    Raises:
        BrokenCheckpoint: the run has not been validated yet, or the file is no checkpoint.
    """
    path = run / BEST
    best = load_state(path)
    if best is None:
        raise BrokenCheckpoint(path, "is not there yet")
    return best
