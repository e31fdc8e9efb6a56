"""The models that come with the package: from the data folder to a published model folder."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kitpick_models.errors import UnsupportedModel
from kitpick_models.manifest import MANIFEST, Manifest, read_manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_training.cross_encoder import (
    RerankerTask,
    TrainableCrossEncoder,
    WithoutLikelyAnswers,
)
from kitpick_training.data.prepared import Encode
from kitpick_training.data.ranking_lists import MIXTURES, ListSampler
from kitpick_training.data.readers import seen_tools, training_data
from kitpick_training.data.records import LabelledCatalog
from kitpick_training.data.sources import (
    encoder_source,
    held_out_sets,
    reranker_source,
    sample_texts,
    training_catalogs,
)
from kitpick_training.encoder import TrainableEncoder
from kitpick_training.encoder_tasks import EncoderTask
from kitpick_training.errors import InvalidRecipe
from kitpick_training.examples import ListSource
from kitpick_training.export.original import BODY, pretrained_body
from kitpick_training.export.pair import Half, join, pair_manifest
from kitpick_training.fine_tuning import PAIRS
from kitpick_training.loop import Report, TrainingRun
from kitpick_training.publication import (
    ExportedScorer,
    measured_encoder,
    publish_encoder,
    publish_reranker,
    write_report,
)
from kitpick_training.query_kind import kind_vectors, publish_query_kind, train_head
from kitpick_training.recipe import (
    EncoderRecipe,
    PairRecipe,
    QueryKindRecipe,
    RerankerRecipe,
    read_recipe,
    recipe_path,
)
from kitpick_training.weights import Origin, load_average, trained_from, with_what_it_knew


class TrainingJob(msgspec.Struct, frozen=True, kw_only=True):
    """What is trained from, and where it goes."""

    recipe: str
    """Name of a shipped recipe, or a .toml file."""
    data: Path
    """Folder that holds one folder per data set."""
    run: Path
    """Checkpoints and what else is computed once: a stopped run goes on from there."""
    out: Path
    """The model folder."""
    command: str
    """For the card: how the figures were come by."""

    @property
    def measured(self) -> tuple[str, str]:
        """Date and command, for the card."""
        return datetime.date.today().isoformat(), self.command


class TransformerJob(TrainingJob, frozen=True, kw_only=True):
    """A job whose model is a transformer, with weights to start from."""

    start: tuple[Path, ...] = ()
    """Runs or models to start from; several: the mean of their weights. None: the pretrained body."""
    average: tuple[Path, ...] = ()
    """Runs or models to average the outcome with."""
    body: Path | None = None
    """A transformers folder in place of the pretrained body."""
    report: Path | None = None
    """JSON file for the learning curve and the figures."""


class RerankerJob(TransformerJob, frozen=True, kw_only=True):
    """A job for a cross-encoder."""

    encoder: Path | None = None
    """The encoder run or model that finds the hard negatives; None: the pretrained body."""
    judge: Path | None = None
    """The model that tells likely answers, for a recipe with `doubt_margin`."""


def train_encoder(job: TransformerJob, report: Report) -> Manifest:
    """Trains and publishes the sentence encoder.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
        ModelError: the recipe, a checkpoint or a model cannot be used, or the disk is full.
    """
    recipe = read_recipe(recipe_path(job.recipe), EncoderRecipe)
    encoder = TrainableEncoder.from_body(
        _body(job),
        recipe.max_tokens,
        recipe.chunk_texts,
        half=recipe.half,
        threads=recipe.threads,
    )
    origin = load_average(encoder.model, job.start)
    source, catalogs = encoder_source(
        job.data, encoder, job.run / "neighbours", recipe.seed, recipe.list_size
    )
    task = EncoderTask(recipe, encoder, source)
    run = TrainingRun(recipe, task, job.run, report)
    run.run()
    after = load_average(encoder.model, [job.run, *job.average])
    manifest = Manifest(
        name=recipe.name,
        kind="encoder",
        version="2",
        base_model=trained_from(trained_from(recipe.body or BODY, origin), after),
        licence="Apache-2.0",
        training=training_data(catalogs),
        seen=seen_tools(catalogs),
        score_scale="cosine",
        max_tokens=256,
    )
    manifest = with_what_it_knew(manifest, origin.models)
    lists = source.batch(-1, PAIRS)
    texts = list(dict.fromkeys(text for item in lists for text in (item.query, item.texts[0])))[:PAIRS]
    published = publish_encoder(encoder, manifest, task.validation, texts, job.out, job.measured)
    if job.report:
        write_report(job.report, recipe, run.curve, after.steps[0], published)
    return published.manifest


def _body(job: TransformerJob) -> Path:
    """The folder of the pretrained body.

    Raises:
        UnsupportedModel: the job names one that transformers cannot open.
        MissingExtra: it names none, and the package of the usual one is not installed.
    """
    body = job.body or pretrained_body()
    lacks = [name for name in ("config.json", "tokenizer.json") if not (body / name).is_file()]
    if lacks:
        raise UnsupportedModel(f"{body}: no folder of transformers, it has no {' and no '.join(lacks)}")
    return body


def train_reranker(job: RerankerJob, report: Report) -> Manifest:
    """Trains and publishes the cross-encoder.

    Raises:
        InvalidRecipe: it asks for a judge that is not named.
        EvaluationError: data is missing, broken or empty after splitting.
        ModelError: a checkpoint or a model cannot be used, or the disk is full.
    """
    path = recipe_path(job.recipe)
    recipe = read_recipe(path, RerankerRecipe)
    if recipe.doubt_margin is not None and job.judge is None:
        raise InvalidRecipe(path, "doubt_margin asks a trained model: name its folder with --judge")
    runtime = RuntimeSettings(threads=recipe.threads)
    sampler, catalogs = _sampler(job, recipe)
    encoder, origin = _untrained(job, recipe)
    task = RerankerTask(recipe, encoder, _taught(sampler, job, recipe, runtime))
    run = TrainingRun(recipe, task, job.run, report)
    run.run()
    after = load_average(encoder.model, [job.run, *job.average])
    manifest = Manifest(
        name=recipe.name,
        kind="cross_encoder",
        version="2",
        base_model=trained_from(trained_from(recipe.body or BODY, origin), after),
        licence="Apache-2.0",
        training=training_data(catalogs),
        seen=seen_tools(catalogs),
        max_tokens=recipe.max_tokens,
    )
    manifest = with_what_it_knew(manifest, origin.models)
    pairs = sampler.sample_pairs(PAIRS)
    published = publish_reranker(encoder, manifest, task.validation, pairs, job.out, job.measured)
    if job.report:
        mixture = MIXTURES[recipe.mixture]
        write_report(job.report, recipe, run.curve, after.steps[0], published, mixture=mixture)
    return published.manifest


def join_encoders(job: TrainingJob, halves: Sequence[Path]) -> Manifest:
    """Makes one encoder of two and publishes it, with figures on what both were held out from.

    Args:
        job: whose `run` is not used.
        halves: model folders, in the order of the recipe's weights.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
        ModelError: the recipe or a model cannot be used, or they are not two encoders.
    """
    recipe = read_recipe(recipe_path(job.recipe), PairRecipe)
    if len(halves) != len(recipe.weights):
        raise UnsupportedModel(f"{len(halves)} encoders to join: the recipe {recipe.name} takes two")
    catalogs = training_catalogs(job.data)
    texts = sample_texts(catalogs, recipe.texts, recipe.seed)
    parts = [Half(folder, weight) for folder, weight in zip(halves, recipe.weights, strict=True)]
    manifest = pair_manifest([read_manifest(folder) for folder in halves], recipe)
    join(parts, texts, job.out, manifest)
    held_out = held_out_sets(job.data, load_encoder(job.out).encode, None, recipe.seed)
    return measured_encoder(job.out, held_out, job.measured)


def train_query_kind(job: TrainingJob) -> Manifest:
    """Trains and publishes the query-kind head, which says whether a request needs several tools.

    Raises:
        EvaluationError: data is missing or broken.
        ModelError: the recipe or a model cannot be used, or the disk is full.
    """
    recipe = read_recipe(recipe_path(job.recipe), QueryKindRecipe)
    encoder = load_encoder(recipe.encoder)
    splits = kind_vectors(job.data, recipe, encoder.encode)
    head = train_head(splits.train, splits.validation, recipe)
    return publish_query_kind(head, recipe, encoder.identity, splits, job.out, job.measured)


def _sampler(job: RerankerJob, recipe: RerankerRecipe) -> tuple[ListSampler, list[LabelledCatalog]]:
    """Lists with the hard negatives that an encoder proposes, and the catalogs they are of."""
    cache = job.run / "neighbours"
    mixture = MIXTURES[recipe.mixture]
    return reranker_source(job.data, mixture, _first_stage(job, recipe), cache, recipe.seed, recipe.list_size)


def _first_stage(job: RerankerJob, recipe: RerankerRecipe) -> Encode:
    """What finds the hard negatives: an exported encoder, the weights of a run, or the pretrained body."""
    if job.encoder and (job.encoder / MANIFEST).is_file():
        return load_encoder(job.encoder, RuntimeSettings(threads=recipe.threads)).encode
    encoder = TrainableEncoder.from_body(_body(job), half=recipe.half, threads=recipe.threads)
    if job.encoder:
        load_average(encoder.model, [job.encoder])
    return encoder


def _untrained(job: RerankerJob, recipe: RerankerRecipe) -> tuple[TrainableCrossEncoder, Origin]:
    """The model before its first step, and where its weights come from."""
    encoder = TrainableCrossEncoder.from_body(_body(job), recipe)
    return encoder, load_average(encoder.model, job.start)


def _taught(
    sampler: ListSampler, job: RerankerJob, recipe: RerankerRecipe, runtime: RuntimeSettings
) -> ListSource:
    """What is learned from: all lists, or those without likely answers."""
    if recipe.doubt_margin is None or job.judge is None:
        return sampler
    return WithoutLikelyAnswers(sampler, ExportedScorer(job.judge, runtime), recipe.doubt_margin)
