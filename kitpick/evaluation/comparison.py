"""Comparison: several systems answer the same requests, and their answers are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.evaluation.measuring import Judged, Plan, measure, ranker_of
from kitpick.evaluation.systems import CatalogSystem, SystemSpec
from kitpick_evaluation.answer import Answer, Ranker, run_ranker
from kitpick_evaluation.calibration import ProbabilityObserver
from kitpick_evaluation.comparison import Changed, Comparison, Side, most_changed, pair_tests, side
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.metrics import Figures
from kitpick_ingest.progress import Progress
from kitpick_rescorers.explain import explain
from kitpick_rescorers.profiles import load_profile

FIGURES = ("ndcg@5", "recall@5", "comp@5")
CHANGED = 10
"""Requests shown for each system beside the first."""


class Wishes(msgspec.Struct, frozen=True):
    """Options of a comparison: figures to test, of which the first chooses the requests to show."""

    figures: tuple[str, ...] = FIGURES
    changed: int = CHANGED


def compare(
    judged: Judged,
    specs: Sequence[SystemSpec],
    plan: Plan,
    wishes: Wishes,
    progress: Progress,
) -> Comparison:
    """Asks every request of every system and compares all pairs.

    Args:
        judged: the requests, and the catalog for systems that name none.
        specs: the systems; the first one is what the others are shown beside.
        plan: as for an evaluation; its profiles are not looked at.
        wishes: what to test and show.
        progress: receives every phase.

    Raises:
        EvaluationError: fewer than two systems, or one that cannot answer in full.
    """
    if len({spec.label for spec in specs}) < max(2, len(specs)):
        raise EvaluationError("a comparison needs two systems or more, each named once")
    with ExitStack() as stack:
        rankers: dict[str, Ranker] = {}
        systems: dict[str, CatalogSystem] = {}
        for spec in specs:
            if spec.run is not None:
                rankers[spec.label] = run_ranker(spec.run)
            else:
                catalog = _catalog(judged, spec, stack, progress)
                system = CatalogSystem(
                    catalog, load_profile(spec.profile), DefinitionTokens(), permitted=plan.permitted
                )
                systems[spec.label], rankers[spec.label] = system, ranker_of(system)
        hits = ProbabilityObserver()
        measured = measure(judged, plan, progress, hits, systems=systems, rankers=rankers)
        figures = measured.evaluation.figures
        return Comparison(
            report=measured.report,
            figure=wishes.figures[0],
            tests=pair_tests(figures, wishes.figures, plan.sampling.seed),
            changed=tuple(_changed(judged, rankers, figures, plan, wishes)),
            calibration={name: hits.bins(name) for name in rankers},
        )


def _catalog(judged: Judged, spec: SystemSpec, stack: ExitStack, progress: Progress) -> Catalog:
    """The catalog of a system. Different models need different catalogs."""
    if not spec.catalog and not spec.models:
        return judged.catalog
    settings = replace(judged.catalog.settings, **spec.models)
    url = spec.catalog or judged.catalog.engine.url
    if {"encoder", "models"} & {*spec.models} and not spec.catalog and judged.source is not None:
        # Two encoders in one catalog would rebuild it back and forth.
        place = settings.embedding_cache.parent / "evaluation"
        url = f"sqlite:{place / f'{judged.name}-{Path(settings.chosen_models().encoder).name}.db'}"
    catalog = stack.enter_context(Catalog.open(url, settings=settings))
    if judged.source is not None:
        catalog.ingest(judged.source, progress=progress)
    return catalog


def _changed(
    judged: Judged,
    rankers: Mapping[str, Ranker],
    figures: Mapping[str, Mapping[str, Figures]],
    plan: Plan,
    wishes: Wishes,
) -> list[Changed]:
    """The requests that changed most, run again for their traces, which are too large to keep."""
    first, *others = rankers
    figure, depth = wishes.figures[0], max(plan.sampling.cutoffs)

    def seen(name: str, query: JudgedQuery) -> Side:
        answer = rankers[name](query, depth)
        return side(name, figures[name][query.id][figure], answer.ids, query, _stage_lines(answer))

    return [
        Changed(query.id, query.text, tuple(sorted(query.relevant)), (seen(first, query), seen(other, query)))
        for other in others
        for query in most_changed(figures[first], figures[other], judged.queries, figure, wishes.changed)
    ]


def _stage_lines(answer: Answer) -> str:
    return explain(answer.trace, answer.ids[:5]).text() if answer.trace else ""
