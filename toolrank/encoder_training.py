"""Training the encoder on own requests: each finds its APIs among all texts of the catalog."""

from __future__ import annotations

from functools import partial

from toolrank.evaluating import Judged
from toolrank.model_training import Lessons, OwnReport, OwnTraining, reported, require_torch
from toolrank_evaluation.training_sets.closed_catalog import closed_catalog
from toolrank_ingest.progress import Progress
from toolrank_models.locate import find_model


def train_encoder_on_own_requests(judged: Judged, training: OwnTraining, progress: Progress) -> OwnReport:
    """Fine-tunes the encoder of the catalog's settings on its judged requests; no profile is tuned.

    The requests are split by a hash of their text; the weights of the best step are exported, and take the
    place of `training.out` only if they find more for the requests held out than the model in use does. An
    index has vectors of one encoder: the next ingest with the new one embeds everything anew.

    Raises:
        MissingRuntime: the extra `train` is not installed.
        NotBetter: nothing was replaced.
        EvaluationError: a split is empty.
        ModelError: the model in use is damaged, the loss is not finite, or the disk is full; nothing was
            replaced.
    """
    require_torch()
    from toolrank_models.train.encoder_tuning import tune_encoder
    from toolrank_models.train.fine_tuning import Places
    from toolrank_models.train.recipe import CatalogRecipe, read_recipe

    recipe = read_recipe(training.recipe, CatalogRecipe)
    index, _ = judged.catalog.live()
    documents = [item.document for item in judged.catalog.engine.documents(index)]
    catalog = closed_catalog("own requests", documents, judged.queries, training.holdout)
    lessons = Lessons(
        train=catalog.queries,
        held_out=catalog.held_out.queries,
        documents=[documents[i] for i in sorted({i for right in catalog.relevant for i in right})],
        name="own requests",
        command="toolrank models train --kind encoder",
    )
    places = Places(find_model(judged.catalog.settings.encoder), training.run, training.out)
    described = partial(lessons.described, training.out)
    return reported(
        lessons, tune_encoder(places, recipe, catalog, described, lessons.measured, progress.note)
    )
