"""Fits a profile to a catalog: the vectors of its requests, and the threshold below which nothing fits.

In each catalog the vectors of requests differ from those of documents in a way of their own: judged requests
show how to turn further ones (`kitpick.adaptation.request_fit`). How sure the list ranker is of a good
answer differs between catalogs, so that the threshold it comes with is low enough for all of them, and too
low for most. `kitpick_evaluation.abstention` says how the right one is found: by judged requests, or without
any by the descriptions of the catalog's own APIs.

`EvaluationError` is raised for a profile that cannot be adapted so, for too few requests or descriptions, and
for requests to which whoever asks may see no right API; `MissingExtra` without scipy or ir-measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from kitpick.adaptation.held_out import held_out_requests
from kitpick.adaptation.request_fit import MAX_REQUESTS
from kitpick.adaptation.request_vectors import (
    LEAST_REQUESTS,
    choose_vectors,
    ranker_last,
    takes_part,
    with_last,
)
from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged, Plan, visible_apis
from kitpick.evaluation.recording import Recorder, models_of
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import (
    ALARMS,
    CohortRequest,
    can_abstain,
    cohort_requests,
    cohort_threshold,
    confident_threshold,
    decided_alone,
    fit_to_requests,
    fit_with_confidence,
    judge_of,
    judges_lists,
    least_requests,
    refused_at_most,
    undecided,
    with_threshold,
)
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery, select
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.recording import Recorded
from kitpick_ingest.progress import Progress
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.stages import Abstain
from kitpick_rescorers.stages.base import threshold_of
from kitpick_rescorers.stages.depth import FALLBACK

Basis: TypeAlias = Literal["requests", "descriptions", "held-out"]


class AdaptReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was fitted to a catalog, and what it does. Shares, probabilities and figures in [0, 1]."""

    profile: str
    catalog: str
    basis: Basis
    """What it was fitted to: judged requests, descriptions of the catalog's own APIs, or other catalogs."""
    asked: int
    """How many of these were asked."""
    left: str = ""
    """Why the vectors of requests were not fitted; empty where they were, or were not to be."""
    turned: bool = False
    """Whether the vectors of requests are turned by a matrix."""
    cosine: float | None = None
    """Weight of the cosine beside the list ranker; None where there is none, or vectors were not fitted."""
    ndcg5_before: float | None = None
    """NDCG@5 of the judged requests by the profile as it was; None where vectors were not fitted."""
    ndcg5: float | None = None
    """The same of each by what was fitted and chosen without it."""
    recall5_before: float | None = None
    recall5: float | None = None
    gap: float | None = None
    """How far the loss of the matrix is above its minimum at most, in nats."""
    threshold_before: float | None = None
    """None, as the next ones, where the profile never abstains, or only vectors were to be fitted."""
    threshold: float | None = None
    most_false: float | None = None
    """Share of requests like the judged ones that is refused wrongly, in the mean; None without any."""
    most_false_at_worst: float | None = None
    """The largest share it can be, with a confidence of 95 %: few requests bound it only loosely."""
    sample: str = ""
    """What the held-out requests are, if those were used."""
    caught_before: float | None = None
    """Share refused of the same texts while the tools that serve them are hidden; by the old threshold."""
    caught: float | None = None
    """The same by the new one."""


class Aim(msgspec.Struct, frozen=True):
    """Share in (0, 1) of the answerable requests that may be refused."""

    most_false: float = ALARMS
    confident: bool = False
    """Not to be exceeded with a confidence of 95 %; else in the mean."""

    @property
    def least(self) -> int:
        """Requests that it takes."""
        if self.confident:
            return least_requests(self.most_false)
        return math.ceil(1 / self.most_false - 1e-9) - 1

    def at_worst(self, requests: int) -> float:
        """The largest share that it can be, with a confidence of 95 %."""
        return self.most_false if self.confident else refused_at_most(requests, self.most_false)

    def open(self, profile: Profile) -> Profile:
        """The profile without a threshold, which answers every request."""
        return decided_alone(profile, 0.0) if self.confident else undecided(profile)

    def fitted(self, profile: Profile, answers: Sequence[Answer]) -> Profile:
        """The profile with the threshold that refuses no more of these answers."""
        fit = fit_with_confidence if self.confident else fit_to_requests
        return fit(profile, answers, self.most_false)


class Adapted(msgspec.Struct, frozen=True):
    """The report and the profile that it is about."""

    report: AdaptReport
    profile: Profile
    """It names no matrix: whoever writes it says where the matrix is."""
    matrix: RequestMatrix | None = None


def adapt_to_requests(
    judged: Judged,
    profile: str,
    plan: Plan,
    progress: Progress,
    aim: Aim = Aim(),  # noqa: B008 - frozen
    *,
    vectors: bool = True,
) -> Adapted:
    """Fits the vectors of requests and the threshold to requests whose right answers are known.

    The matrix is kept if requests that it has not seen find more of what they need by it. The threshold is
    chosen by answers of matrices that had not seen the request, too. Without `vectors` it is fitted alone.
    """
    base = load_profile(profile)
    turning = vectors and base.needs_vector
    if not (turning or can_abstain(base)):
        raise EvaluationError(f"profile {base.name!r} reads no vectors and never abstains: nothing to adapt")
    judged = _answerable(judged, plan)
    _check_enough(len(judged.queries), base, aim, turning=turning)
    at_worst = aim.at_worst(len(judged.queries)) if can_abstain(base) else 0.0
    given = base
    if turning:  # a matrix that it has may have been fitted to the same requests
        base = _unfitted(base)
    recorder = Recorder(judged.catalog, base, plan)
    basis = _Basis(judged, base, models_of(judged.catalog, base), recorder, progress, lost=base != given)
    plain = recorder.record(judged.queries, progress)
    found = basis.fitted(plain) if turning else basis.as_they_are(plain)
    if not can_abstain(base):
        return Adapted(found.report, _renamed(found.profile), found.matrix)
    return basis.with_fitted_threshold(found, plain, aim, at_worst)


def _answerable(judged: Judged, plan: Plan) -> Judged:
    """The requests with a right API that whoever asks may see; as many as the fit reads at most."""
    visible = visible_apis(judged, plan.permitted)
    queries = [query for query in judged.queries if query.relevant & visible]
    if not queries:
        raise EvaluationError(
            f"{judged.name}: whoever asks may see no right API of any request: say for whom, with --tenant "
            "and --principal"
        )
    return replace(judged, queries=select(queries, MAX_REQUESTS))


def _check_enough(requests: int, profile: Profile, aim: Aim, *, turning: bool) -> None:
    least = aim.least if can_abstain(profile) else 0
    if requests < least:
        raise EvaluationError(
            f"{requests} requests cannot tell what {100 * aim.most_false:.3g} % of them are: it takes {least}"
        )
    if not least and turning and requests < LEAST_REQUESTS:
        raise EvaluationError(_too_few(requests))


def _too_few(requests: int) -> str:
    return f"{requests} requests are too few to fit the vectors to: it takes {LEAST_REQUESTS}"


class _Turned(msgspec.Struct, frozen=True):
    """Requests as they are searched from now on, with the matrix if there is one."""

    recorded: Sequence[Recorded]
    profile: Profile
    report: AdaptReport
    matrix: RequestMatrix | None = None


class _Basis(msgspec.Struct, frozen=True):
    """Judged requests of a catalog, and the profile that is fitted to them."""

    judged: Judged
    profile: Profile
    models: Models
    recorder: Recorder
    progress: Progress
    lost: bool
    """Whether the profile was given with something that was fitted, and has it no more."""

    @property
    def named(self) -> dict[str, Any]:
        """The begin of the report."""
        return {
            "profile": self.profile.name,
            "catalog": self.judged.catalog.engine.url,
            "basis": "requests",
            "asked": len(self.judged.queries),
        }

    def as_they_are(self, plain: Sequence[Recorded]) -> _Turned:
        """The requests as the profile turns them already."""
        matrix = self.profile.request_matrix()
        left = _AS_BEFORE if matrix is not None else ""
        return _Turned(plain, self.profile, AdaptReport(**self.named, left=left), matrix)

    def fitted(self, plain: Sequence[Recorded]) -> _Turned:
        """The requests with what helps those that took no part; as they are where nothing does."""
        chosen = choose_vectors(
            plain,
            lambda matrices: self.recorder.record(self.judged.queries, self.progress, matrices),
            self.profile,
            self.models,
            self.judged.facets,
            self.progress,
        )
        if chosen is None:
            few = _too_few(takes_part(plain, self.judged.facets))
            if self.lost or not can_abstain(self.profile):
                raise EvaluationError(f"{few}, with right APIs that have vectors")
            return _Turned(plain, self.profile, AdaptReport(**self.named, left=few))
        report = AdaptReport(
            **self.named,
            turned=chosen.matrix is not None,
            cosine=_weight_of_cosine(chosen.profile),
            ndcg5_before=chosen.before[0],
            ndcg5=chosen.after[0],
            recall5_before=chosen.before[1],
            recall5=chosen.after[1],
            gap=chosen.gap,
        )
        return _Turned(chosen.recorded, chosen.profile, report, chosen.matrix)

    def with_fitted_threshold(
        self, found: _Turned, plain: Sequence[Recorded], aim: Aim, at_worst: float
    ) -> Adapted:
        """The profile with a threshold that refuses few enough of these requests."""
        verdict = _Verdict(self.profile, self.models)
        hidden = [{self.judged.facets.tool(api) for api in item.query.relevant} for item in found.recorded]
        deprived = [item.without(tools) for item, tools in zip(found.recorded, hidden, strict=True)]
        unturned = [item.without(tools) for item, tools in zip(plain, hidden, strict=True)]
        with self.progress.phase("adapt", 3 * len(deprived)) as advance:
            answers = verdict.answers(found.recorded, aim.open(found.profile), advance)
            fitted = aim.fitted(found.profile, answers)
            before = verdict.answers(unturned, self.profile, advance)
            after = verdict.answers(deprived, fitted, advance)
        told = replace(found.report, most_false=aim.most_false, most_false_at_worst=at_worst)
        report = verdict.reported(told, fitted, before, after)
        return Adapted(report, _renamed(fitted), found.matrix)


_AS_BEFORE = (
    "vectors are turned as before: what is said here holds for requests that their matrix was not fitted to"
)


def _weight_of_cosine(profile: Profile) -> float | None:
    last = ranker_last(profile)
    return None if last is None else last.cosine


def _renamed(profile: Profile) -> Profile:
    """The profile under the name of an adapted one, without the name of the old one's matrix."""
    named = profile.name.removesuffix(_ENDING)[: 100 - len(_ENDING)] + _ENDING
    return _without_matrix(replace(profile, name=named))


def _without_matrix(profile: Profile) -> Profile:
    return replace(profile, first_stage=replace(profile.first_stage, request_matrix=""))


def _unfitted(profile: Profile) -> Profile:
    """The profile without what an earlier fit of the vectors has put into it."""
    last = ranker_last(profile)
    if last is not None:
        profile = with_last(profile, replace(last, cosine=0.0, sure_scale=0.0, sure_shift=0.0))
    return _without_matrix(profile)


_ENDING = "-adapted"


def adapt_to_descriptions(catalog: Catalog, profile: str, plan: Plan, progress: Progress) -> Adapted:
    """Chooses the threshold by descriptions of the catalog's own APIs, asked while their tools are hidden."""
    base = load_profile(profile)
    if not can_abstain(base):
        raise EvaluationError(
            f"profile {base.name!r} never abstains: it has no stage that does; its vectors are fitted to "
            "judged requests, with --queries FILE"
        )
    verdict = _Verdict(base, models_of(catalog, base))
    margin = verdict.cohort_margin()
    cohort = _cohort(catalog, plan.permitted, progress)
    asked = [JudgedQuery(each.api, each.text, frozenset({each.api})) for each in cohort]
    recorded = Recorder(catalog, base, plan).record(asked, progress)
    deprived = [item.without({each.tool}) for item, each in zip(recorded, cohort, strict=True)]
    with progress.phase("adapt", 2 * len(deprived)) as advance:
        before = verdict.answers(deprived, base, advance)
        threshold = cohort_threshold([each.answerable or 0.0 for each in before], margin)
        fitted = with_threshold(base, threshold)
        after = verdict.answers(deprived, fitted, advance)
    report = AdaptReport(
        profile=base.name, catalog=catalog.engine.url, basis="descriptions", asked=len(deprived)
    )
    told = verdict.reported(report, fitted, before, after)
    return Adapted(told, _renamed(fitted), base.request_matrix())


def adapt_to_held_out(catalog: Catalog, profile: str, most_false: float = ALARMS) -> Adapted:
    """Chooses the threshold by requests of held-out catalogs of about this size, with 95 % confidence."""
    base = load_profile(profile)
    verdict = _Verdict(base, models_of(catalog, base))
    stats = catalog.engine.stats()
    if stats is None:
        raise EmptyCatalog(catalog.engine.url)
    found = held_out_requests(verdict.ranker(), stats.documents)
    least = least_requests(most_false)
    if found is None or len(found.answerable) < least:
        raise EvaluationError(
            f"{len(found.answerable) if found else 0} requests of held-out catalogs were judged by this list "
            f"ranker, and it takes {least}: adapt the profile to judged requests, with --queries FILE"
        )
    fitted = decided_alone(base, confident_threshold(found.answerable, most_false))
    report = AdaptReport(
        profile=base.name, catalog=catalog.engine.url, basis="held-out", asked=len(found.answerable),
        sample=found.of, most_false=most_false, most_false_at_worst=most_false,
    )  # fmt: skip
    return Adapted(verdict.thresholds(report, fitted), _renamed(fitted), base.request_matrix())


LEAST_DESCRIPTIONS = 20
"""Fewer descriptions say nothing about a catalog."""


def _cohort(catalog: Catalog, permitted: Filter, progress: Progress) -> list[CohortRequest]:
    """Requests out of the descriptions that whoever asks may see."""
    stats = catalog.engine.stats()
    if stats is None:
        raise EmptyCatalog(catalog.engine.url)
    with progress.phase("read", stats.documents) as advance:
        found = cohort_requests(_documents(catalog, permitted, advance))
    tools = len({request.tool for request in found})
    if len(found) < LEAST_DESCRIPTIONS or tools < 2:
        raise EvaluationError(
            f"{catalog.engine.url}: whoever asks sees {len(found)} APIs of {tools} tools with a description: "
            f"it takes {LEAST_DESCRIPTIONS} of two; adapt the profile to judged requests, with --queries FILE"
        )
    return found


def _documents(catalog: Catalog, permitted: Filter, advance: Callable[[int], None]) -> Iterator[ApiDocument]:
    for document in catalog.documents(permitted):
        advance(1)
        yield document


_HITS = 5


class _Verdict(msgspec.Struct, frozen=True):
    """What a profile that can abstain says of requests."""

    profile: Profile
    models: Models

    def cohort_margin(self) -> float:
        margin = None if self.models.ranker is None else self.models.ranker.cohort_margin
        if margin is None or not judges_lists(self.profile):
            raise EvaluationError(
                f"profile {self.profile.name!r} has no list ranker that learned from descriptions: adapt "
                "it to judged requests, with --queries FILE"
            )
        return margin

    def ranker(self) -> str:
        """Identity of the list ranker that decides."""
        if self.models.ranker is None or not judges_lists(self.profile):
            raise EvaluationError(
                f"profile {self.profile.name!r} has no list ranker that decides: adapt it to judged "
                "requests, with --queries FILE"
            )
        return self.models.ranker.identity

    def thresholds(self, report: AdaptReport, fitted: Profile) -> AdaptReport:
        """The report with both thresholds."""
        return replace(
            report, threshold_before=self._threshold(self.profile), threshold=self._threshold(fitted)
        )

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

    def reported(
        self, report: AdaptReport, fitted: Profile, before: Sequence[Answer], after: Sequence[Answer]
    ) -> AdaptReport:
        """The report with both thresholds, and what they refuse of requests that the catalog cannot serve."""
        told = self.thresholds(report, fitted)
        return replace(told, caught_before=_refused(before), caught=_refused(after))

    def _threshold(self, profile: Profile) -> float:
        """The one that decides."""
        if (judge := judge_of(profile)) is not None:
            fallback = FALLBACK if self.models.ranker is None else self.models.ranker.threshold
            return fallback if judge.threshold is None else judge.threshold
        stage = next(stage for stage in profile.stages if isinstance(stage, Abstain))
        return threshold_of(self.models, "abstain", stage.threshold, FALLBACK)


def _refused(answers: Sequence[Answer]) -> float:
    return sum(answer.abstained for answer in answers) / len(answers)
