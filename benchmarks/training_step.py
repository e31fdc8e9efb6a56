"""What a training step of the cross-encoder costs: attention, arithmetic and threads, side by side.

As many pairs as a step of the recipe has, of requests and texts of ToolBench dev; loss and optimizer are left
out. `--data FOLDER`, `--repeats N`.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import torch
from models import interleaved
from rescoring import DATA
from rich.console import Console
from rich.table import Table

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_training.cross_encoder import TrainableCrossEncoder
from kitpick_training.export.original import pretrained_body
from kitpick_training.recipe import RerankerRecipe, read_recipe, recipe_path

Pairs = list[tuple[str, str]]

SIDES = {
    "fused attention, float32, split operations": ("sdpa", False, 1, 2),
    "fused attention, bfloat16, split operations": ("sdpa", True, 1, 2),
    "plain attention, bfloat16, split operations": ("eager", True, 1, 2),
    "plain attention, float32, chunks side by side": ("eager", False, 2, 1),
    "plain attention, bfloat16, chunks side by side": ("eager", True, 2, 1),
    "plain attention, bfloat16, one thread": ("eager", True, 1, 1),
}
"""Attention, bfloat16, chunks at a time, threads of an operation."""


def main() -> int:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    recipe = read_recipe(recipe_path("reranker-l6"), RerankerRecipe)
    pairs = some_pairs(arguments.data, recipe.lists_per_step * recipe.list_size)
    medians = interleaved(
        {name: step(recipe, pairs, *settings) for name, settings in SIDES.items()}, arguments.repeats
    )
    table = Table("forwards and backwards", f"seconds for {len(pairs)} pairs")
    for name, seconds in medians.items():
        table.add_row(name, f"{seconds:.2f}")
    Console(width=110).print(table)
    print(json.dumps({name: round(seconds, 3) for name, seconds in medians.items()}))
    return 0


def some_pairs(data: Path, count: int) -> Pairs:
    """Requests, each with the text of some API."""
    dataset = open_dataset("toolbench", data)
    texts = [rerank_text(item) for item in dataset.source.read() if isinstance(item, ApiDocument)]
    return [(query.text, texts[40 * row]) for row, query in enumerate(dataset.queries[:count])]


def step(
    recipe: RerankerRecipe, pairs: Pairs, attention: str, half: bool, workers: int, threads: int
) -> Callable[[], None]:
    """A function that runs one step's pairs forwards and backwards."""
    changed = msgspec.structs.replace(recipe, half=half, threads=workers)
    encoder = TrainableCrossEncoder.from_body(pretrained_body(), changed)
    encoder.model.set_attn_implementation(attention)
    encoder.model.train()

    def run() -> None:
        torch.set_num_threads(threads)
        encoder.model.zero_grad()
        encoder.logits(pairs).square().mean().backward()

    return run


if __name__ == "__main__":
    sys.exit(main())
