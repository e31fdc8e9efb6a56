"""From a cross-encoder in use to one that has learned more: trained, exported, compared, and put in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from toolrank_models.errors import NotBetter
from toolrank_models.manifest import Manifest
from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.examples import ListSource
from toolrank_models.train.exported_scorer import ExportedScorer
from toolrank_models.train.loop import Report, TrainingRun
from toolrank_models.train.publish import publish_reranker
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.train.recipe import RerankerRecipe
from toolrank_models.train.replacing import replacing
from toolrank_models.train.reranker_task import RerankerTask

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
        report: told of progress.

    Raises:
        NotBetter: the exported outcome orders the validation lists no better than the model in use.
        ModelError: the model in use is damaged or no cross-encoder; or training or writing failed. The folder
            of the outcome is as it was.
    """
    encoder, started_from = TrainableCrossEncoder.reopened(places.start, recipe)
    task = RerankerTask(recipe, encoder, source)
    run = TrainingRun(msgspec.structs.replace(recipe, validate_start=True), task, places.run, report)

    def before() -> RankingFigures:
        return ranking_figures(task.validation, ExportedScorer(places.start).score_lists(task.validation))

    def publish(step: int, out: Path) -> tuple[Manifest, RankingFigures]:
        manifest = msgspec.structs.replace(described(started_from, step), max_tokens=recipe.max_tokens)
        pairs = source.sample_pairs(PAIRS)
        done = publish_reranker(encoder, manifest, task.validation, pairs, out, measured)
        return done.manifest, done.exported[done.manifest.storage]

    return improved(run, places.out, started_from.identity, before, publish)


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
    with replacing(out) as staged:
        manifest, new = publish(step, staged)
        if new.ndcg <= old.ndcg:
            raise NotBetter(old.ndcg, new.ndcg, old.lists)
    return FineTuned(manifest, started_from, step, old, new)
