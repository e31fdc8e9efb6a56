"""From an encoder in use to one that has learned a judge's preference: trained, exported, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from toolrank_models.manifest import Manifest
from toolrank_models.train.encoder_tuning import reopened_encoder
from toolrank_models.train.examples import RankingList, RetrievalSet
from toolrank_models.train.fine_tuning import PAIRS, PairSource, Places
from toolrank_models.train.loop import Report, TrainingRun
from toolrank_models.train.preference_task import PreferenceTask
from toolrank_models.train.publish_encoder import publish_encoder
from toolrank_models.train.ranking_metrics import RankingFigures
from toolrank_models.train.recipe import PreferenceRecipe


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
        report: told of progress.

    Raises:
        ModelError: the model in use is damaged or no encoder; or training or writing failed.
    """
    encoder, manifest = reopened_encoder(places.start, recipe)
    task = PreferenceTask(recipe, encoder, source)
    run = TrainingRun(msgspec.structs.replace(recipe, validate_start=True), task, places.run, report)
    run.run()
    step = run.load_best()
    texts = list(dict.fromkeys(text for pair in source.sample_pairs(PAIRS) for text in pair))
    texts = (texts * PAIRS)[:PAIRS]
    manifest = msgspec.structs.replace(described(manifest, step), max_tokens=recipe.max_tokens)
    places.out.mkdir(parents=True, exist_ok=True)
    publish_encoder(encoder, manifest, [retrieval_set(task.validation)], texts, places.out, measured)
    return task.figures()


def retrieval_set(lists: Sequence[RankingList]) -> RetrievalSet:
    """The lists that have a right text as one catalog, in which each request searches for its right texts."""
    answerable = [item for item in lists if item.answerable]
    texts = list(dict.fromkeys(text for item in answerable for text in item.texts))
    place = {text: number for number, text in enumerate(texts)}
    right = [
        tuple(place[text] for text, yes in zip(item.texts, item.relevant, strict=True) if yes)
        for item in answerable
    ]
    return RetrievalSet("preferences", tuple(item.query for item in answerable), tuple(texts), tuple(right))
