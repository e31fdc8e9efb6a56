"""Training on own requests: the cross-encoder or the encoder in use goes on learning from them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from kitpick.evaluation.measuring import Judged, documents_of
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_ingest.progress import Progress
from kitpick_models.locate import find_model
from kitpick_models.manifest import Manifest, TrainingData, hash_tool
from kitpick_training.errors import require_torch
from kitpick_training.examples import RankingFigures
from kitpick_training.own.lists import Drawable, OwnLists, OwnRequest, closed_catalog, split_queries

if TYPE_CHECKING:
    from kitpick_training.fine_tuning import FineTuned


FIRST_STAGE = "hybrid"
"""The profile that proposes what is learned from."""
CANDIDATES = 40
"""Proposals of the first stage per request: what wrong texts are drawn from, and what is reordered."""


Taught_co = TypeVar("Taught_co", covariant=True)
"""What a request looks like to the model that learns from it."""


class OwnTraining(msgspec.Struct, frozen=True, kw_only=True):
    """What to train, from what, and where it goes."""

    recipe: Path
    out: Path
    """The model folder; replaced as a whole when the new model is better."""
    run: Path
    """Checkpoints: a stopped run goes on from them."""
    holdout: float = 0.2


class Lessons(msgspec.Struct, Generic[Taught_co], frozen=True, kw_only=True):
    """What a model learns from, and what its manifest says of that."""

    train: Sequence[Taught_co]
    held_out: Sequence[Taught_co]
    documents: Sequence[ApiDocument]
    """Whose tools it is then recorded to have seen."""
    name: str
    command: str

    @property
    def seen(self) -> frozenset[str]:
        """Hashes of the tools that are learned about."""
        return frozenset(hash_tool(document.tool_key) for document in self.documents)

    @property
    def measured(self) -> tuple[str, str]:
        """Date and command, for the card."""
        return datetime.date.today().isoformat(), self.command

    def described(self, out: Path, manifest: Manifest, step: int) -> Manifest:
        """The manifest of what was trained on from a model, up to files and figures."""
        return msgspec.structs.replace(
            manifest,
            name=out.name,
            base_model=f"{manifest.identity}, {step} steps on {self.name}; before: {manifest.base_model}",
            training=(*manifest.training, TrainingData(self.name, "their owner's", len(self.train))),
            seen=tuple(sorted(self.seen.union(manifest.seen))),
        )


class OwnReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came out, all figures on requests that were not trained on."""

    model: str
    started_from: str
    trained_on: int
    held_out: int
    best_step: int
    tools_seen: int
    """Tools of one's own that the model is now recorded to have seen."""
    before: RankingFigures
    after: RankingFigures


def train_on_own_requests(judged: Judged, training: OwnTraining, progress: Progress) -> OwnReport:
    """Fine-tunes the cross-encoder of the catalog's settings on its judged requests.

    The requests are split by a hash of their text; the weights of the best step are exported, and take the
    place of `training.out` only if they order the held-out candidates better than the model in use does.

    Raises:
        MissingExtra: the extra `train` is not installed.
        NotBetter: nothing was replaced.
        EvaluationError: a split is empty.
        ModelError: the model in use is damaged, the loss is not finite, or the disk is full; nothing was
            replaced.
    """
    require_torch()
    train, held_out = split_queries("own requests", judged.queries, training.holdout)
    lists = _lists(judged, [*train, *held_out], progress)
    documents = documents_of(judged.catalog, sorted({id_ for query in train for id_ in query.relevant}))
    lessons: Lessons[Drawable] = Lessons(
        train=lists[: len(train)],
        held_out=lists[len(train) :],
        documents=documents,
        name="own requests",
        command="kitpick models train",
    )
    return fine_tuned(judged.catalog.models.chosen.cross_encoder, training, lessons, progress)


def _lists(judged: Judged, queries: Sequence[JudgedQuery], progress: Progress) -> list[OwnRequest]:
    wanted = sorted({id_ for query in queries for id_ in query.relevant})
    texts = {document.id: rerank_text(document) for document in documents_of(judged.catalog, wanted)}
    found = []
    with progress.phase("propose", len(queries)) as advance:
        for query in queries:
            hits = judged.catalog.search(query.text, CANDIDATES, profile=FIRST_STAGE).hits
            proposed = tuple(dict.fromkeys(rerank_text(hit.document) for hit in hits))
            right = tuple(dict.fromkeys(texts[id_] for id_ in sorted(query.relevant)))
            found.append(OwnRequest(query.text, right, proposed))
            advance(1)
    return found


def fine_tuned(
    cross_encoder: str, training: OwnTraining, lessons: Lessons[Drawable], progress: Progress
) -> OwnReport:
    """Trains on from a cross-encoder, and replaces `training.out` if the outcome is better.

    Raises:
        NotBetter: nothing was replaced.
        EvaluationError: a split is empty.
        ModelError: as `train_on_own_requests`.
    """
    from kitpick_training.fine_tuning import Places, fine_tune
    from kitpick_training.recipe import RerankerRecipe, read_recipe

    recipe = read_recipe(training.recipe, RerankerRecipe)
    start = find_model(cross_encoder)
    source = OwnLists(lessons.train, lessons.held_out, recipe.seed, recipe.list_size)
    places = Places(start, training.run, training.out)
    described = partial(lessons.described, training.out)
    return reported(lessons, fine_tune(places, recipe, source, described, lessons.measured, progress.note))


def reported(lessons: Lessons[Taught_co], tuned: FineTuned) -> OwnReport:
    """What to tell of a training."""
    return OwnReport(
        model=tuned.manifest.identity,
        started_from=tuned.started_from,
        trained_on=len(lessons.train),
        held_out=len(lessons.held_out),
        best_step=tuned.best_step,
        tools_seen=len(lessons.seen),
        before=tuned.before,
        after=tuned.after,
    )


def train_encoder_on_own_requests(judged: Judged, training: OwnTraining, progress: Progress) -> OwnReport:
    """Fine-tunes the encoder of the catalog's settings on its judged requests.

    The requests are split by a hash of their text; the weights of the best step are exported, and take the
    place of `training.out` only if they find more for the requests held out than the model in use does. An
    index has vectors of one encoder: the next ingest with the new one embeds everything anew. Of two encoders
    that were joined into one the first learns from what both together get wrong, and is joined again.

    Raises:
        MissingExtra: the extra `train` is not installed.
        NotBetter: nothing was replaced.
        EvaluationError: a split is empty.
        ModelError: the model in use is damaged, the loss is not finite, or the disk is full; nothing was
            replaced.
    """
    require_torch()
    from kitpick_training.fine_tuning import Places, tune_encoder
    from kitpick_training.recipe import CatalogRecipe, read_recipe

    recipe = read_recipe(training.recipe, CatalogRecipe)
    index, _ = judged.catalog.live()
    documents = [item.document for item in judged.catalog.engine.documents(index)]
    catalog = closed_catalog("own requests", documents, judged.queries, training.holdout)
    lessons = Lessons(
        train=catalog.queries,
        held_out=catalog.held_out.queries,
        documents=[documents[i] for i in sorted({i for right in catalog.relevant for i in right})],
        name="own requests",
        command="kitpick models train --kind encoder",
    )
    places = Places(find_model(judged.catalog.models.chosen.encoder), training.run, training.out)
    described = partial(lessons.described, training.out)
    return reported(
        lessons, tune_encoder(places, recipe, catalog, described, lessons.measured, progress.note)
    )
