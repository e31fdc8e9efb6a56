"""From an encoder in use to one that knows a catalog: trained, exported, compared, and put in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from tokenizers import Tokenizer

from toolrank_models.manifest import Manifest
from toolrank_models.runtime import load_encoder
from toolrank_models.train.catalog_task import CatalogTask
from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.encoder_task import retrieval_figures
from toolrank_models.train.examples import ClosedCatalog
from toolrank_models.train.fine_tuning import PAIRS, FineTuned, Places, improved
from toolrank_models.train.from_export import reopen_as
from toolrank_models.train.loop import Report, TrainingRun
from toolrank_models.train.partly_frozen import PartlyFrozenEncoder
from toolrank_models.train.publish_encoder import publish_encoder
from toolrank_models.train.ranking_metrics import RankingFigures
from toolrank_models.train.recipe import CatalogRecipe, EncoderRecipe


def tune_encoder(
    places: Places,
    recipe: CatalogRecipe,
    catalog: ClosedCatalog,
    described: Callable[[Manifest, int], Manifest],
    measured: tuple[str, str],
    report: Report = lambda line: None,
) -> FineTuned:
    """Trains on from an exported encoder, and replaces a model folder if the outcome is better.

    Args:
        places: where the model in use, the checkpoints and the outcome are.
        recipe: of the run.
        catalog: all texts, requests to learn from and requests held out.
        described: the new manifest, from the manifest of `start` and the best step.
        measured: date and command, for the card.
        report: told of progress.

    Raises:
        NotBetter: by the requests held out the exported outcome finds no more than the model in use.
        ModelError: the model in use is damaged or no encoder; or training or writing failed. The folder of
            the outcome is as it was.
    """
    whole, manifest = reopened_encoder(places.start, recipe)
    encoder = PartlyFrozenEncoder(whole, recipe.frozen_layers) if recipe.frozen_layers else whole
    task = CatalogTask(recipe, encoder, catalog)
    run = TrainingRun(msgspec.structs.replace(recipe, validate_start=True), task, places.run, report)

    def before() -> RankingFigures:
        return retrieval_figures(load_encoder(places.start).encode, catalog.held_out)

    def publish(step: int, out: Path) -> tuple[Manifest, RankingFigures]:
        wanted = msgspec.structs.replace(described(manifest, step), max_tokens=recipe.max_tokens)
        done = publish_encoder(encoder, wanted, [catalog.held_out], some_texts(catalog), out, measured)
        return done.manifest, done.exported[done.manifest.storage][catalog.held_out.name]

    return improved(run, places.out, manifest.identity, before, publish)


def reopened_encoder(folder: Path, recipe: EncoderRecipe) -> tuple[TrainableEncoder, Manifest]:
    """An exported encoder to be trained further; its word embeddings stay as they are.

    Raises:
        ModelError: damaged, or no encoder.
    """
    opened = reopen_as(folder, "encoder")
    encoder = TrainableEncoder(
        opened.module,
        Tokenizer.from_str(opened.tokenizer.decode()),
        recipe.max_tokens,
        recipe.chunk_texts,
        half=recipe.half,
        threads=recipe.threads,
    )
    encoder.model.get_input_embeddings().weight.requires_grad_(False)
    return encoder, opened.manifest


def some_texts(catalog: ClosedCatalog) -> Sequence[str]:
    """Requests and documents in turn, from the start again where there are few: for int8 scales."""
    sides = (catalog.queries, catalog.texts)
    return [sides[n % 2][n // 2 % len(sides[n % 2])] for n in range(PAIRS)]
