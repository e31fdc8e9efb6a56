"""The mean of several trainings' weights: as good as their ensemble, at the price of one model.

Wortsman et al. 2022, Model soups: it holds for models that were trained further from the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch

from toolrank_models.manifest import MANIFEST, Manifest
from toolrank_models.train.checkpoint import BEST, load_best
from toolrank_models.train.errors import BrokenCheckpoint
from toolrank_models.train.from_export import reopen


class Origin(msgspec.Struct, frozen=True):
    """Where weights come from: the steps of runs, and exported models; several mean their average."""

    steps: tuple[int, ...] = ()
    models: tuple[Manifest, ...] = ()

    def words(self) -> str:
        """For a manifest; nothing where nothing was loaded."""
        if not self.steps and not self.models:
            return ""
        if len(self.steps) == 1 and not self.models:
            return f"trained for {self.steps[0]} steps"
        names = [f"of {model.identity}" for model in self.models]
        if self.steps:
            names.append(f"after {' and '.join(map(str, sorted(self.steps)))} steps")
        return f"mean of the weights {' and '.join(names)}"


def load_average(model: Any, folders: Sequence[Path]) -> Origin:  # noqa: ANN401
    """Puts the mean of several trainings' weights into a model of their shape.

    Args:
        model: a torch module.
        folders: of `TrainingRun`s, whose best weights count, or of exported models. With none, the model
            stays as it is.

    Raises:
        BrokenCheckpoint: a run was not validated yet, or something has another shape.
        CorruptModel, UnsupportedModel: as `reopen`.
    """
    found = [_weights(folder, model) for folder in folders]
    if not found:
        return Origin()
    try:
        mean = {name: _mean([each.tensors[name] for each in found]) for name in found[0].tensors}
        model.load_state_dict(mean)
    except (RuntimeError, KeyError) as error:
        raise BrokenCheckpoint(folders[-1] / BEST, f"does not fit the others ({error})") from error
    return Origin(
        tuple(each.source for each in found if isinstance(each.source, int)),
        tuple(each.source for each in found if isinstance(each.source, Manifest)),
    )


def trained_from(base: str, origin: Origin) -> str:
    """For a manifest: what a training began with, and what became of it."""
    if len(origin.models) == 1 and not origin.steps:
        return origin.models[0].base_model
    words = origin.words()
    return f"{base}{', from there ' if ', ' in base else ', '}{words}" if words else base


class _Weights(NamedTuple):
    tensors: Mapping[str, torch.Tensor]
    source: int | Manifest


def _weights(folder: Path, model: Any) -> _Weights:  # noqa: ANN401
    if not (folder / MANIFEST).is_file():
        best = load_best(folder)
        return _Weights(best["model"], int(best["step"]))
    opened = reopen(folder)
    # an encoder is exported without the pooler, which nothing reads
    pooler = {name: value for name, value in model.state_dict().items() if name.startswith("pooler.")}
    return _Weights(pooler | opened.module.state_dict(), opened.manifest)


def _mean(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    first = tensors[0]
    return torch.stack(list(tensors)).mean(0) if first.is_floating_point() else first
