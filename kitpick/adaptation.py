"""Fits to a catalog the threshold below which a profile says that nothing here does what is asked.

How sure the list ranker is of a good answer differs between catalogs, so that the threshold it comes with is
low enough for all of them, and too low for most. What tells the right one is said in
`kitpick_evaluation.abstention`: judged requests, or without any the descriptions of the catalog's own APIs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from kitpick.catalog import Catalog
from kitpick.evaluation import Judged, Plan
from kitpick.profile_tuning import models_of, record
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import (
    ALARMS,
    CohortRequest,
    can_abstain,
    cohort_requests,
    cohort_threshold,
    fit_to_requests,
    judges_lists,
    undecided,
    with_threshold,
)
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.tuning.recording import Recorded
from kitpick_ingest.progress import Progress
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Abstain, Learned
from kitpick_rescorers.stages.depth import FALLBACK

Basis: TypeAlias = Literal["requests", "descriptions"]


class AdaptReport(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold of a profile for a catalog, and what it does. Shares and probabilities in [0, 1]."""

    profile: str
    catalog: str
    basis: Basis
    """What chose it: judged requests, or descriptions of the catalog's own APIs."""
    asked: int
    """How many of these were asked."""
    threshold_before: float
    threshold: float
    most_false: float | None
    """Largest share of requests like the judged ones that are refused wrongly; None without any."""
    caught_before: float
    """Share refused of the same texts while the tools that serve them are hidden; by the old threshold."""
    caught: float
    """The same by the new one."""


class Adapted(msgspec.Struct, frozen=True):
    """The report and the profile that it is about."""

    report: AdaptReport
    profile: Profile


def adapt_to_requests(
    judged: Judged, profile: str, plan: Plan, progress: Progress, most_false: float = ALARMS
) -> Adapted:
    """Chooses the threshold by requests whose right answers are known.

    Raises:
        EvaluationError: the profile cannot abstain, or there are too few requests.
        RescorerError: there is no such profile.
        EngineError, ModelError: the catalog cannot be searched.
    """
    if int(most_false * (len(judged.queries) + 1)) < 1:
        raise EvaluationError(
            f"{len(judged.queries)} requests cannot tell what {most_false:.0%} of them are:"
            f" it takes {round(1 / most_false) - 1}"
        )
    verdict = _Verdict.of(judged.catalog, profile)
    recorded = record(judged.catalog, judged.queries, verdict.profile, plan, progress)
    hidden = [{judged.facets.tool(api) for api in item.query.relevant} for item in recorded]
    deprived = [item.without(tools) for item, tools in zip(recorded, hidden, strict=True)]
    with progress.phase("adapt", 3 * len(recorded)) as advance:
        answers = verdict.answers(recorded, undecided(verdict.profile), advance)
        fitted = fit_to_requests(verdict.profile, answers, most_false)
        before = verdict.answers(deprived, verdict.profile, advance)
        after = verdict.answers(deprived, fitted, advance)
    return verdict.adapted("requests", fitted, before, after, most_false)


def adapt_to_descriptions(catalog: Catalog, profile: str, plan: Plan, progress: Progress) -> Adapted:
    """Chooses the threshold by descriptions of the catalog's own APIs, each asked while its tool is hidden.

    Raises:
        EvaluationError: the profile's verdict is not a list ranker's that has learned what this tells, or the
            catalog has too few descriptions.
        EmptyCatalog: nothing was taken in yet.
        RescorerError: there is no such profile.
        EngineError, ModelError: the catalog cannot be searched.
    """
    verdict = _Verdict.of(catalog, profile)
    margin = verdict.cohort_margin()
    cohort = _cohort(catalog, progress)
    asked = [JudgedQuery(each.api, each.text, frozenset({each.api})) for each in cohort]
    recorded = record(catalog, asked, verdict.profile, plan, progress)
    deprived = [item.without({each.tool}) for item, each in zip(recorded, cohort, strict=True)]
    with progress.phase("adapt", 2 * len(deprived)) as advance:
        before = verdict.answers(deprived, verdict.profile, advance)
        threshold = cohort_threshold([each.answerable or 0.0 for each in before], margin)
        fitted = with_threshold(verdict.profile, threshold)
        after = verdict.answers(deprived, fitted, advance)
    return verdict.adapted("descriptions", fitted, before, after)


LEAST_DESCRIPTIONS = 20
"""Fewer descriptions say nothing about a catalog."""


def _cohort(catalog: Catalog, progress: Progress) -> list[CohortRequest]:
    stats = catalog.engine.stats()
    if stats is None:
        raise EmptyCatalog(catalog.engine.url)
    with progress.phase("read", stats.documents) as advance:
        found = cohort_requests(_documents(catalog, stats.index, advance))
    tools = len({request.tool for request in found})
    if len(found) < LEAST_DESCRIPTIONS or tools < 2:
        raise EvaluationError(
            f"{catalog.engine.url} has {len(found)} APIs of {tools} tools with a description: it takes "
            f"{LEAST_DESCRIPTIONS} of two; adapt the profile to judged requests, with --queries FILE"
        )
    return found


def _documents(catalog: Catalog, index: str, advance: Callable[[int], None]) -> Iterator[ApiDocument]:
    for indexed in catalog.engine.documents(index):
        advance(1)
        yield indexed.document


_HITS = 5


class _Verdict(msgspec.Struct, frozen=True):
    """A profile that can abstain, over a catalog."""

    profile: Profile
    models: Models
    catalog: Catalog

    @classmethod
    def of(cls, catalog: Catalog, profile: str) -> _Verdict:
        base = load_profile(profile)
        if not can_abstain(base):
            raise EvaluationError(f"profile {base.name!r} never abstains: it has no stage that does")
        return cls(base, models_of(catalog, base), catalog)

    def cohort_margin(self) -> float:
        margin = None if self.models.ranker is None else self.models.ranker.cohort_margin
        if margin is None or not judges_lists(self.profile):
            raise EvaluationError(
                f"profile {self.profile.name!r} has no list ranker that learned from descriptions: adapt "
                "it to judged requests, with --queries FILE"
            )
        return margin

    def answers(
        self, recorded: Sequence[Recorded], profile: Profile, advance: Callable[[int], None]
    ) -> list[Answer]:
        found = []
        for item in recorded:
            answer = item.answer(profile, self.models, _HITS)
            if judges_lists(profile) and answer.answerable is None and answer.ids:
                raise EvaluationError(
                    f"profile {self.profile.name!r}: the stage `learned` did not run: no list ranker fits "
                    "these models"
                )
            found.append(answer)
            advance(1)
        return found

    def adapted(
        self,
        basis: Basis,
        fitted: Profile,
        before: Sequence[Answer],
        after: Sequence[Answer],
        most_false: float | None = None,
    ) -> Adapted:
        """The fitted profile, with the answers of both to requests that the catalog cannot serve."""
        report = AdaptReport(
            profile=self.profile.name,
            catalog=self.catalog.engine.url,
            basis=basis,
            asked=len(before),
            threshold_before=self._threshold(self.profile),
            threshold=self._threshold(fitted),
            most_false=most_false,
            caught_before=_refused(before),
            caught=_refused(after),
        )
        name = f"{self.profile.name}-adapted"[:100]
        return Adapted(report, msgspec.structs.replace(fitted, name=name))

    def _threshold(self, profile: Profile) -> float:
        """The one that decides."""
        if judges_lists(profile):
            judge = next(each for each in profile.stages if isinstance(each, Learned) and each.abstains)
            fallback = FALLBACK if self.models.ranker is None else self.models.ranker.threshold
            return fallback if judge.threshold is None else judge.threshold
        stage = next(stage for stage in profile.stages if isinstance(stage, Abstain))
        return self.models.threshold("abstain", stage.threshold, FALLBACK)


def _refused(answers: Sequence[Answer]) -> float:
    return sum(answer.abstained for answer in answers) / len(answers)
