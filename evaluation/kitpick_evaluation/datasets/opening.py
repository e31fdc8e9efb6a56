"""Opens a dataset by its name or folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kitpick_evaluation.dataset import Dataset
from kitpick_evaluation.datasets.beir import beir
from kitpick_evaluation.datasets.metatool import read_metatool
from kitpick_evaluation.datasets.records import labelled
from kitpick_evaluation.datasets.sealtools import read_sealtools
from kitpick_evaluation.datasets.toolbench import toolbench
from kitpick_evaluation.datasets.toolret import toolret
from kitpick_evaluation.errors import UnknownDataset

DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "toolbench": toolbench,
    "toollens": lambda folder: beir(folder, "toollens"),
    "metatool": lambda folder: labelled(read_metatool(folder)),
    "sealtools": lambda folder: labelled(read_sealtools(folder)),
    "toolret": lambda folder: toolret(folder, instructed=True),
    "toolret-plain": lambda folder: toolret(folder, instructed=False),
}
"""Name → reader of its folder, which has the name's first part under the data folder."""


def open_dataset(name: str, data: Path) -> Dataset:
    """A dataset by its name in the folder `data`, or any folder in BEIR layout by its path.

    Raises:
        UnknownDataset: no such name, or the folder is absent.
        InvalidDataset: its files are broken.
    """
    if name in DATASETS:
        folder = data / name.partition("-")[0]
        if not folder.is_dir():
            raise UnknownDataset(f"{name}: no folder {folder}: name the folder of the datasets with --data")
        return DATASETS[name](folder)
    if (Path(name) / "corpus.jsonl").is_file():
        return beir(Path(name))
    raise UnknownDataset(f"{name!r} is neither one of {', '.join(DATASETS)} nor a folder in BEIR layout")
