"""From a cross-encoder in use to one that has learned more: trained, exported, compared, and put in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from tokenizers import Tokenizer

from toolrank_models.errors import NotBetter
from toolrank_models.manifest import Manifest
from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.examples import ListSource
from toolrank_models.train.from_export import reopen_as
from toolrank_models.train.loop import Report, TrainingRun
from toolrank_models.train.publish import publish_reranker, runtime_scores
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.train.recipe import RerankerRecipe
from toolrank_models.train.replacing import replacing
from toolrank_models.train.reranker_task import RerankerTask

PAIRS = 304
"""Of which 256 find the int8 scales, and the rest becomes the reference."""


class PairSource(ListSource, Protocol):
    """Lists to learn from and to be measured on, and pairs for int8 scales."""

    def sample_pairs(self, count: int) -> Sequence[tuple[str, str]]:
        """Pairs (request, text) of the training split, right and wrong ones."""


class Places(msgspec.Struct, frozen=True):
    """Folders of a fine-tuning."""

    start: Path
    """The model in use."""
    run: Path
    """Checkpoints."""
    out: Path
    """The model that is written; may be `start`."""


class FineTuned(msgspec.Struct, frozen=True):
    """The new model, and both models on the validation lists, each as it is run."""

    manifest: Manifest
    started_from: str
    best_step: int
    before: RankingFigures
    after: RankingFigures


def fine_tune(
    places: Places,
    recipe: RerankerRecipe,
    source: PairSource,
    described: Callable[[Manifest, int], Manifest],
    measured: tuple[str, str],
    report: Report = lambda line: None,
) -> FineTuned:
    """Trains on from an exported model, and replaces a model folder if the outcome is better.

    Args:
        places: where the model in use, the checkpoints and the outcome are.
        recipe: of the run.
        source: the lists.
        described: the new manifest, from the manifest of `start` and the best step.
        measured: date and command, for the card.
        report: told of progress.

    Raises:
        NotBetter: the exported outcome orders the validation lists no better than the model in use.
        ModelError: the model in use is damaged or no cross-encoder; or training or writing failed. The folder
            of the outcome is as it was.
    """
    opened = reopen_as(places.start, "cross_encoder")
    recipe = msgspec.structs.replace(recipe, validate_start=True)
    encoder = _trainable(opened.module, opened.tokenizer, recipe)
    task = RerankerTask(recipe, encoder, source)
    run = TrainingRun(recipe, task, places.run, report)
    run.run()
    step = run.load_best()
    before = ranking_figures(task.validation, runtime_scores(places.start, task.validation))
    if step == 0:  # what an export differs by then is the rounding of its weights
        raise NotBetter(before.ndcg, run.curve[0].ndcg5, before.lists)
    manifest = msgspec.structs.replace(described(opened.manifest, step), max_tokens=recipe.max_tokens)

    def publish(out: Path) -> tuple[Manifest, RankingFigures]:
        pairs = source.sample_pairs(PAIRS)
        done = publish_reranker(encoder, manifest, task.validation, pairs, out, measured)
        return done.manifest, done.exported[done.manifest.storage]

    final, after = replaced_if_better(places.out, before, publish)
    return FineTuned(final, opened.manifest.identity, step, before, after)


def replaced_if_better(
    out: Path, before: RankingFigures, publish: Callable[[Path], tuple[Manifest, RankingFigures]]
) -> tuple[Manifest, RankingFigures]:
    """Has a model written beside `out`; it takes its place if its figures are better than those before.

    Raises:
        NotBetter: they are not, and nothing was replaced.
        ModelError: it could not be written, and nothing was replaced.
    """
    with replacing(out) as staged:
        manifest, after = publish(staged)
        if after.ndcg <= before.ndcg:
            raise NotBetter(before.ndcg, after.ndcg, before.lists)
    return manifest, after


def _trainable(module: object, tokenizer: bytes, recipe: RerankerRecipe) -> TrainableCrossEncoder:
    encoder = TrainableCrossEncoder(
        module,
        Tokenizer.from_str(tokenizer.decode()),
        recipe.max_tokens,
        recipe.chunk_pairs,
        half=recipe.half,
        threads=recipe.threads,
    )
    encoder.model.get_input_embeddings().weight.requires_grad_(False)
    return encoder
