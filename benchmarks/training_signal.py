"""What each loss and each source of requests adds to a cross-encoder: short runs that differ in one thing.

Every run starts from the same body and takes the same steps; the last weights are measured, on held-out tools
of every source, also of those that a run did not learn from. `--run FOLDER` keeps checkpoints: a stopped
benchmark goes on. `--data FOLDER`, `--steps N`, `--only NAME ...` for some of the runs.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from rescoring import DATA
from rich.console import Console
from rich.table import Table

from kitpick_training.cross_encoder import RerankerTask, TrainableCrossEncoder
from kitpick_training.data.ranking_lists import DEFAULT_MIXTURE, ListSampler
from kitpick_training.data.sources import reranker_source
from kitpick_training.encoder import TrainableEncoder
from kitpick_training.examples import RankingList, ranking_figures
from kitpick_training.export.original import pretrained_body
from kitpick_training.loop import TrainingRun
from kitpick_training.recipe import RerankerRecipe, read_recipe, recipe_path

SOURCES = tuple(DEFAULT_MIXTURE.catalogs)
LOSSES: dict[str, dict[str, Any]] = {
    "listwise": {"order": "listwise", "bce_weight": 0.0},
    "RankNet": {"order": "pairwise", "bce_weight": 0.0},
    "BCE": {"order": "pointwise"},
    "RankNet and BCE": {"order": "pairwise", "bce_weight": 0.2},
}
REFERENCE = "listwise and BCE, all sources"
"""As the shipped recipe has it."""
VARIANTS = (REFERENCE, *LOSSES, *(f"without {name}" for name in SOURCES))
Figures = dict[str, float]


def main() -> int:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=VARIANTS)
    arguments = parser.parse_args()
    base = read_recipe(recipe_path("reranker-l6"), RerankerRecipe)
    recipe = msgspec.structs.replace(
        base,
        steps=arguments.steps,
        decay_steps=arguments.steps // 2,
        half=True,
        threads=1,
        validate_every=10**6,
    )
    body = TrainableEncoder.from_body(pretrained_body(), half=True)
    neighbours = arguments.run / "neighbours"
    source, _ = reranker_source(
        arguments.data, DEFAULT_MIXTURE, body, neighbours, recipe.seed, recipe.list_size
    )
    scored = {
        name: trained(name, recipe, source, arguments.run / name.replace(" ", "-")) for name in arguments.only
    }
    found = {name: figures(source.validation(), scores) for name, scores in scored.items()}
    Console(width=110).print(table(found))
    print(json.dumps({name: {k: round(v, 4) for k, v in each.items()} for name, each in found.items()}))
    return 0


def trained(
    name: str, recipe: RerankerRecipe, source: ListSampler, folder: Path
) -> list[NDArray[np.float32]]:
    """The scores of the validation lists by the model of one run."""
    recipe = msgspec.structs.replace(recipe, **LOSSES.get(name, {}))
    left_out = name.removeprefix("without ")
    if left_out in SOURCES:
        source = source.without(left_out)
    encoder = TrainableCrossEncoder.from_body(pretrained_body(), recipe)
    task = RerankerTask(recipe, encoder, source)
    run = TrainingRun(recipe, task, folder, lambda line: print(f"{name}: {line}", flush=True))
    run.run()
    return encoder.score_lists(task.validation)


def figures(lists: Sequence[RankingList], scores: Sequence[NDArray[np.float32]]) -> Figures:
    """NDCG@5 on the held-out tools of every source, and the mean over sources."""
    found = {}
    for source in SOURCES:
        rows = [(item, score) for item, score in zip(lists, scores, strict=True) if item.source == source]
        found[source] = ranking_figures([item for item, _ in rows], [score for _, score in rows]).ndcg
    return {**found, "mean": float(np.mean(list(found.values())))}


def table(found: dict[str, Figures]) -> Table:
    """One row a run; NDCG@5 in points."""
    printed = Table("run", *SOURCES, "mean")
    for name, each in found.items():
        printed.add_row(name, *(f"{100 * each[column]:.1f}" for column in (*SOURCES, "mean")))
    return printed


if __name__ == "__main__":
    sys.exit(main())
