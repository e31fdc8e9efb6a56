"""Fine-tuning: trains a model in use further, and replaces it if the exported result is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from tokenizers import Tokenizer

from kitpick_models.manifest import Manifest, read_manifest
from kitpick_models.runtime import load_encoder
from kitpick_training.cross_encoder import RerankerTask, TrainableCrossEncoder
from kitpick_training.encoder import JoinedEncoder, PartlyFrozenEncoder, TrainableEncoder
from kitpick_training.encoder_tasks import CatalogTask, PreferenceTask, retrieval_figures
from kitpick_training.errors import NotBetter
from kitpick_training.examples import (
    ClosedCatalog,
    ListSource,
    RankingFigures,
    RankingList,
    RetrievalSet,
    ranking_figures,
)
from kitpick_training.export.apart import is_pair, take_apart
from kitpick_training.loop import Report, Task, TrainingRun
from kitpick_training.publication import ExportedScorer, publish_encoder, publish_reranker, replacement_of
from kitpick_training.recipe import (
    CatalogRecipe,
    EncoderRecipe,
    PreferenceRecipe,
    RerankerRecipe,
    RunSettings,
)
from kitpick_training.weights import reopen_as

HALVES = "halves"
"""Folder of a run with the encoders of a pair."""
PAIRS = 456
"""Of which 256 find the int8 scales, and the other 200 become the reference."""


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
        report: receives lines of progress.

    Raises:
        NotBetter: the exported outcome orders the validation lists no better than the model in use.
        ModelError: the model in use is damaged or no cross-encoder; or training or writing failed. The folder
            of the outcome is as it was.
    """
    encoder, started_from = TrainableCrossEncoder.reopened(places.start, recipe)
    task = RerankerTask(recipe, encoder, source)
    run = _run_from(task, recipe, places.run, report)

    def before() -> RankingFigures:
        return ranking_figures(task.validation, ExportedScorer(places.start).score_lists(task.validation))

    def publish(step: int, out: Path) -> tuple[Manifest, RankingFigures]:
        manifest = msgspec.structs.replace(described(started_from, step), max_tokens=recipe.max_tokens)
        pairs = source.sample_pairs(PAIRS)
        done = publish_reranker(encoder, manifest, task.validation, pairs, out, measured)
        return done.manifest, done.exported[done.manifest.storage]

    return improved(run, places.out, started_from.identity, before, publish)


def _run_from(task: Task, recipe: RunSettings, folder: Path, report: Report) -> TrainingRun:
    """A training that also measures the weights it starts from."""
    return TrainingRun(msgspec.structs.replace(recipe, validate_start=True), task, folder, report)


def improved(
    run: TrainingRun,
    out: Path,
    started_from: str,
    before: Callable[[], RankingFigures],
    publish: Callable[[int, Path], tuple[Manifest, RankingFigures]],
) -> FineTuned:
    """Runs a training; what it publishes takes the place of `out` if its figures are better than before.

    Args:
        run: a training that measures the weights it starts from.
        out: the model folder; the new one is written beside it first.
        started_from: identity of the model in use.
        before: figures of the model in use, as it is run.
        publish: writes the weights of a step into a folder; the manifest and figures of what was written.

    Raises:
        NotBetter: they are not, and nothing was replaced.
        ModelError: training or writing failed, and nothing was replaced.
    """
    curve = run.run()
    step = run.load_best()
    old = before()
    if step == 0:  # what an export differs by then is the rounding of its weights
        raise NotBetter(old.ndcg, curve[0].ndcg5, old.lists)
    with replacement_of(out) as staged:
        manifest, new = publish(step, staged)
        if new.ndcg <= old.ndcg:
            raise NotBetter(old.ndcg, new.ndcg, old.lists)
    return FineTuned(manifest, started_from, step, old, new)


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
        report: receives lines of progress.

    Raises:
        NotBetter: by the requests held out the exported outcome finds no more than the model in use.
        ModelError: the model in use is damaged or no encoder; or training or writing failed. The folder of
            the outcome is as it was.
    """
    encoder, manifest = reopened_encoder(places, recipe, recipe.frozen_layers)
    task = CatalogTask(recipe, encoder, catalog)
    run = _run_from(task, recipe, places.run, report)

    def before() -> RankingFigures:
        return retrieval_figures(load_encoder(places.start).encode, catalog.held_out)

    def publish(step: int, out: Path) -> tuple[Manifest, RankingFigures]:
        wanted = msgspec.structs.replace(described(manifest, step), max_tokens=recipe.max_tokens)
        done = publish_encoder(encoder, wanted, [catalog.held_out], some_texts(catalog), out, measured)
        return done.manifest, done.exported[done.manifest.storage][catalog.held_out.name]

    return improved(run, places.out, manifest.identity, before, publish)


def reopened_encoder(
    places: Places, recipe: EncoderRecipe, frozen_layers: int = 0
) -> tuple[TrainableEncoder, Manifest]:
    """An exported encoder to be trained further; its word embeddings stay as they are.

    Of two encoders that were joined into one the first learns.

    Args:
        places: where the model in use is, and where a pair is taken apart.
        recipe: of the run.
        frozen_layers: how many of the lower layers stay as they are.

    Raises:
        ModelError: damaged, or no encoder.
    """
    manifest = read_manifest(places.start)
    if not is_pair(places.start):
        return _learner(places.start, recipe, frozen_layers), manifest
    pair = take_apart(places.start, places.run / HALVES, recipe.max_tokens)
    return JoinedEncoder(_learner(pair.folders[0], recipe, frozen_layers), pair), manifest


def _learner(folder: Path, recipe: EncoderRecipe, frozen_layers: int) -> TrainableEncoder:
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
    return PartlyFrozenEncoder(encoder, frozen_layers) if frozen_layers else encoder


def some_texts(catalog: ClosedCatalog) -> Sequence[str]:
    """Requests and documents in turn, from the start again where there are few: for int8 scales."""
    sides = (catalog.queries, catalog.texts)
    return [sides[n % 2][n // 2 % len(sides[n % 2])] for n in range(PAIRS)]


def tune_preference(
    places: Places,
    recipe: PreferenceRecipe,
    source: PairSource,
    described: Callable[[Manifest, int], Manifest],
    measured: tuple[str, str],
    report: Report = lambda line: None,
) -> RankingFigures:
    """Trains on from an exported encoder and writes the best weights, which may be those it started from.

    The figures are of the validation lists, before the export.

    Args:
        places: where the model in use, the checkpoints and the outcome are.
        recipe: of the run.
        source: graded lists.
        described: the new manifest, from the manifest of `start` and the best step.
        measured: date and command, for the card.
        report: receives lines of progress.

    Raises:
        ModelError: the model in use is damaged or no encoder; or training or writing failed.
    """
    encoder, manifest = reopened_encoder(places, recipe)
    task = PreferenceTask(recipe, encoder, source)
    run = _run_from(task, recipe, places.run, report)
    run.run()
    step = run.load_best()
    texts = list(dict.fromkeys(text for pair in source.sample_pairs(PAIRS) for text in pair))
    texts = (texts * PAIRS)[:PAIRS]
    manifest = msgspec.structs.replace(described(manifest, step), max_tokens=recipe.max_tokens)
    places.out.mkdir(parents=True, exist_ok=True)
    publish_encoder(encoder, manifest, [listed_retrieval_set(task.validation)], texts, places.out, measured)
    return task.figures()


def listed_retrieval_set(lists: Sequence[RankingList]) -> RetrievalSet:
    """The lists that have a right text as one catalog, in which each request searches for its right texts."""
    answerable = [item for item in lists if item.answerable]
    texts = list(dict.fromkeys(text for item in answerable for text in item.texts))
    place = {text: number for number, text in enumerate(texts)}
    right = [
        tuple(place[text] for text, yes in zip(item.texts, item.relevant, strict=True) if yes)
        for item in answerable
    ]
    return RetrievalSet("preferences", tuple(item.query for item in answerable), tuple(texts), tuple(right))
