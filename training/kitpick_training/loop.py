"""The training loop: steps, checkpoints, validation, progress. A killed run goes on where it was."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch

from kitpick_foundation.decoding import convert_to
from kitpick_training.errors import BrokenCheckpoint, CheckpointNotWritten, DivergedTraining
from kitpick_training.examples import RankingFigures
from kitpick_training.recipe import RunSettings

BEST = "best.pt"
"""In a run's folder: the weights that validated best."""

Report = Callable[[str], None]
"""Receives a line of progress."""


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


class Milestone(msgspec.Struct, frozen=True):
    """One point of the learning curve. `loss` is the mean since the point before."""

    step: int
    loss: float
    ndcg5: float
    recall5: float
    complete5: float
    seconds: float


class Task(Protocol):
    """What a run trains: a model, the loss of a step, and how good the model is on what was held out."""

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The torch module whose parameters are trained."""

    def loss(self, step: int) -> torch.Tensor:
        """The loss of one step: equal for equal weights and steps, on any machine."""

    def figures(self) -> RankingFigures:
        """Figures on the validation split; the weights of the best `choose_by` are kept."""


class TrainingRun:
    """A run in a folder: `state.pt` to go on from, `best.pt` with the weights that validated best.

    Args:
        recipe: settings; a folder belongs to one seed and shape, only `steps` and intervals may change.
        task: the model in its initial state, and what it learns.
        folder: where the states live.
        report: called with a line of progress.
    """

    def __init__(self, recipe: RunSettings, task: Task, folder: Path, report: Report) -> None:
        self.recipe, self.task, self.folder, self.report = recipe, task, folder, report
        self.step = 0
        self.curve: list[Milestone] = []
        self.losses: list[float] = []
        groups = _groups(task.model, recipe.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)

    def run(self) -> list[Milestone]:
        """Trains to the last step and returns the learning curve.

        Raises:
            DivergedTraining: the loss is not finite; the last checkpoint is kept.
            BrokenCheckpoint, CheckpointNotWritten: the folder cannot be read or written.
        """
        torch.set_num_threads(self.recipe.threads)
        self._resume()
        begun, first = time.monotonic(), self.step
        if self.step == 0 and self.recipe.validate_start:
            self._validate(0.0)
        while self.step < self.recipe.steps and not self._exhausted():
            self.losses.append(self._train_step())
            self.step += 1
            self._progress(begun, first)
            if self.step % self.recipe.validate_every == 0 or self.step == self.recipe.steps:
                self._validate(time.monotonic() - begun)
            last = self.step == self.recipe.steps or self._exhausted()
            if last or self.step % self.recipe.checkpoint_every == 0:
                self._save()
        return self.curve

    def load_best(self) -> int:
        """Puts the weights that validated best into the model and returns their step.

        Raises:
            BrokenCheckpoint: the run has not been validated yet.
        """
        best = load_best(self.folder)
        self.task.model.load_state_dict(best["model"])
        return int(best["step"])

    def _train_step(self) -> float:
        self.task.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.rate(self.step)
        loss = self.task.loss(self.step)
        if not torch.isfinite(loss):
            raise DivergedTraining(self.step, self._state_path)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.task.model.parameters(), self.recipe.clip_norm)
        self.optimizer.step()
        return float(loss.detach())

    def _validate(self, seconds: float) -> None:
        figures = self.task.figures()
        loss = sum(self.losses) / max(1, len(self.losses))
        self.losses = []
        best = max(self._chosen_by(), default=-1.0)
        point = Milestone(self.step, loss, figures.ndcg, figures.recall, figures.complete, seconds)
        self.curve.append(point)
        self.report(
            f"step {self.step}: loss {loss:.3f}, validation NDCG@5 {figures.ndcg:.4f},"
            f" Comp@5 {figures.complete:.4f}"
        )
        if self._chosen_by()[-1] > best:
            save_state(self.folder / BEST, {"step": self.step, "model": self.task.model.state_dict()})

    def _chosen_by(self) -> list[float]:
        return [getattr(point, self.recipe.choose_by) for point in self.curve]

    def _exhausted(self) -> bool:
        found, patience = self._chosen_by(), self.recipe.patience
        return 0 < patience < len(found) and max(found[-patience:]) <= max(found[:-patience])

    def _progress(self, begun: float, first: int) -> None:
        if self.step % 20 == 0:
            rate = (time.monotonic() - begun) / (self.step - first)
            recent = sum(self.losses[-20:]) / len(self.losses[-20:])
            left = rate * (self.recipe.steps - self.step) / 60
            self.report(
                f"{self.step}/{self.recipe.steps} loss {recent:.3f} {rate:.2f} s/step, {left:.0f} min left"
            )

    @property
    def _state_path(self) -> Path:
        return self.folder / "state.pt"

    def _save(self) -> None:
        state: dict[str, Any] = {
            "name": self.recipe.name,
            "seed": self.recipe.seed,
            "step": self.step,
            "model": self.task.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "curve": [msgspec.to_builtins(point) for point in self.curve],
            "losses": self.losses,
        }
        save_state(self._state_path, state)

    def _resume(self) -> None:
        state = load_state(self._state_path)
        if state is None:
            return
        if (state.get("name"), state.get("seed")) != (self.recipe.name, self.recipe.seed):
            raise BrokenCheckpoint(self._state_path, "belongs to another recipe or seed")
        try:
            self.task.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        except (RuntimeError, ValueError, KeyError) as error:
            raise BrokenCheckpoint(self._state_path, f"does not fit this model ({error})") from error
        self.step, self.losses = state["step"], list(state["losses"])
        self.curve = [convert_to(point, Milestone) for point in state["curve"]]
        self.report(f"going on from step {self.step}")


def _groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices only, as is customary: biases and norms are left alone."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
