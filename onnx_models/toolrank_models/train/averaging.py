"""The mean of several trainings' weights: as good as their ensemble, at the price of one model.

Wortsman et al. 2022, Model soups: it holds for models that were trained further from the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from toolrank_models.train.checkpoint import BEST, load_best
from toolrank_models.train.errors import BrokenCheckpoint


def load_average(model: Any, runs: Sequence[Path]) -> list[int]:  # noqa: ANN401
    """Puts the mean of the best weights of several runs into a model of their shape.

    Args:
        model: a torch module.
        runs: folders of `TrainingRun`s; with none, the model stays as it is.

    Returns:
        The step that each run's best weights are of.

    Raises:
        BrokenCheckpoint: a run was not validated yet, or has another shape.
    """
    found = [load_best(run) for run in runs]
    if not found:
        return []
    try:
        names = found[0]["model"]
        model.load_state_dict({name: _mean([each["model"][name] for each in found]) for name in names})
    except (RuntimeError, KeyError) as error:
        raise BrokenCheckpoint(runs[-1] / BEST, f"does not fit the others ({error})") from error
    return [int(each["step"]) for each in found]


def trained_for(steps: Sequence[int], before: Sequence[int] = ()) -> str:
    """Where weights come from, for a manifest: their steps, and those of the runs that these started from."""
    words = f"trained for {steps[0]} steps"
    if len(steps) > 1:
        words = f"mean of the weights after {' and '.join(map(str, sorted(steps)))} steps"
    return f"{trained_for(before)}, from there {words}" if before else words


def _mean(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    first = tensors[0]
    return torch.stack(list(tensors)).mean(0) if first.is_floating_point() else first
