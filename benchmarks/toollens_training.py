"""Trains the two ToolLens models and writes what `toollens` prints: curves, settings, figures on test.

Runs in the environment of training; RUN keeps checkpoints, and a stopped run goes on from them. The weights
are for this benchmark alone: ToolLens states no licence.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from toollens_decoding import Split, decoded

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.datasets.published import beir
from kitpick_training.encoder import PartlyFrozenEncoder, TrainableEncoder
from kitpick_training.encoder_tasks import CatalogTask
from kitpick_training.examples import ClosedCatalog, RetrievalSet
from kitpick_training.export.original import pretrained_body
from kitpick_training.loop import TrainingRun
from kitpick_training.nnn import NnnTask
from kitpick_training.own.lists import closed_catalog
from kitpick_training.recipe import CatalogRecipe, NnnRecipe, RunSettings, read_recipe, recipe_path

HOLDOUT = 0.04
"""Of the training requests: some 680 choose weights and settings."""
RECORDS = Path(__file__).parent / "training"
Vectors = NDArray[np.float32]


def train(data: Path, run: Path, *, half: bool = False) -> None:
    """Trains, goes on where a run was stopped, and writes two records.

    Args:
        data: folder with `toollens/`.
        run: folder of checkpoints.
        half: matrix products in bfloat16.
    """
    catalog, test = toollens(data / "toollens")
    dense_recipe = _recipe("toollens-dense", CatalogRecipe, half=half)
    encoder = _body(dense_recipe)
    task = CatalogTask(dense_recipe, encoder, catalog)
    trained = _trained(dense_recipe, task, run / "dense")
    documents = encoder(catalog.texts)
    _record("toollens-dense", dense_recipe, trained, decoded(*_splits(encoder, documents, catalog, test)))
    recipe = _recipe("toollens-nnn", NnnRecipe, half=half)
    through = NnnTask(recipe, encoder, catalog)
    trained = _trained(recipe, through, run / "nnn")
    found = decoded(*_splits(encoder, through.document_vectors(), catalog, test))
    _record("toollens-nnn", recipe, trained, found)


def _recipe(name: str, kind: Any, *, half: bool) -> Any:  # noqa: ANN401
    return msgspec.structs.replace(read_recipe(recipe_path(name), kind), half=half)


def toollens(folder: Path) -> tuple[ClosedCatalog, RetrievalSet]:
    """The training requests in two splits, and the test requests, over the same texts."""
    train, test = beir(folder, "toollens", "train"), beir(folder, "toollens", "test")
    documents = [item for item in train.source.read() if isinstance(item, ApiDocument)]
    catalog = closed_catalog("toollens", documents, train.queries, HOLDOUT)
    place = {document.id: number for number, document in enumerate(documents)}
    relevant = tuple(tuple(sorted(place[id_] for id_ in query.relevant)) for query in test.queries)
    return catalog, RetrievalSet("test", tuple(q.text for q in test.queries), catalog.texts, relevant)


def _body(recipe: CatalogRecipe) -> TrainableEncoder:
    whole = TrainableEncoder.from_body(
        pretrained_body(), recipe.max_tokens, recipe.chunk_texts, half=recipe.half
    )
    return PartlyFrozenEncoder(whole, recipe.frozen_layers)


def _trained(recipe: RunSettings, task: Any, folder: Path) -> dict[str, Any]:  # noqa: ANN401
    run = TrainingRun(recipe, task, folder, lambda line: print(line, flush=True))
    curve = run.run()
    return {"curve": curve, "best_step": run.load_best()}


def _splits(
    encoder: TrainableEncoder, documents: Vectors, catalog: ClosedCatalog, test: RetrievalSet
) -> tuple[Vectors, Split, Split, Split]:
    def split(queries: Sequence[str], relevant: Sequence[Sequence[int]]) -> Split:
        return Split(encoder(queries), relevant)

    held_out = catalog.held_out
    return (
        documents,
        split(catalog.queries, catalog.relevant),
        split(held_out.queries, held_out.relevant),
        split(test.queries, test.relevant),
    )


def _record(name: str, recipe: RunSettings, run: dict[str, Any], figures: dict[str, Any]) -> None:
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "command": "scripts/bench toollens --train" + (" --half" if recipe.half else ""),
        "recipe": recipe,
        **run,
        "figures": figures,
    }
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    print(json.dumps(figures), flush=True)
