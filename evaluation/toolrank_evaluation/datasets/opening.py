"""The datasets that can be named, and where each one's files lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolrank_evaluation.dataset import Dataset
from toolrank_evaluation.datasets.beir import beir
from toolrank_evaluation.datasets.labelled import labelled
from toolrank_evaluation.datasets.toolbench import toolbench
from toolrank_evaluation.errors import UnknownDataset
from toolrank_evaluation.training_sets.metatool import read_metatool
from toolrank_evaluation.training_sets.sealtools import read_sealtools

DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "toolbench": toolbench,
    "toollens": lambda folder: beir(folder, "toollens"),
    "metatool": lambda folder: labelled(read_metatool(folder)),
    "sealtools": lambda folder: labelled(read_sealtools(folder)),
}
"""Name → reader of its folder, which has the same name under the data folder."""


def open_dataset(name: str, data: Path) -> Dataset:
    """A named dataset out of the folder `data`, or any folder in BEIR layout by its path.

    Raises:
        UnknownDataset: no such name, or the folder is absent.
        InvalidDataset: its files are broken.
    """
    if name in DATASETS:
        folder = data / name
        if not folder.is_dir():
            raise UnknownDataset(f"{name}: no folder {folder}: name the folder of the datasets with --data")
        return DATASETS[name](folder)
    if (Path(name) / "corpus.jsonl").is_file():
        return beir(Path(name))
    raise UnknownDataset(f"{name!r} is neither one of {', '.join(DATASETS)} nor a folder in BEIR layout")
