"""Training data for a learned fusion: one row for each request and candidate, in an `.npz` file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from battery.sets import BatteryRequest, BatterySet
from battery.systems import LoadedModels, SetSystem
from kitpick_evaluation.errors import EvaluationError
from kitpick_rescorers.features import FEATURES, candidate_features
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import run_stage
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.stages.learned import Learned, near_candidates
from kitpick_rescorers.state import State
from kitpick_training.list_ranker import COHORT_STYLE

RIGHT, WRONG, NEITHER = 1, 0, -1
STRANGERS = 40
"""Requests of every other catalog that a set is also asked, at most."""
STRANGE = 0.4
"""Cosine with the nearest API below which nothing here is taken to serve a request of another catalog."""


class FeatureRows:
    """Collects the features that the last stage `learned` of a profile reads, and writes them as arrays.

    Of rows: `features` float32 (rows, features); `label` 1, 0, or −1 where the candidate is neither right nor
    wrong; `request` number of the request; `candidate` id as bytes. Of requests: `request_id`, `set`, `split`
    (`none` where the set is never to be trained on), `style`, `wanted` (how many APIs, found or not; 0 where
    the request was asked of a catalog without the tools that do the job; style `cohort`: a description of an
    API of the catalog, asked so), `documents` (name of the catalog
    that was asked: some are asked by several sets). `names`: of the features. `models`: identities of the
    encoder and of the cross-encoder.
    """

    def __init__(self, profile: Profile, sets: Sequence[BatterySet] = ()) -> None:
        self._profile = profile
        self._sets = sets
        self._features: list[NDArray[np.float32]] = []
        self._labels: list[NDArray[np.int8]] = []
        self._candidates: list[bytes] = []
        self._requests: list[tuple[str, str, str, str, int, str]] = []
        self._models = ("", "")

    def add(self, system: SetSystem, request: BatteryRequest, asked: RescoreRequest) -> None:
        """Adds the candidates of one request, and again those without the tools that do the job.

        Args:
            system: the set's catalog.
            request: with its labels.
            asked: with its candidates.
        """
        scorer = system.models.scorer
        self._models = system.models.encoder.identity, "" if scorer is None else scorer.identity
        self._add(system.set, request, state_before(self._profile, asked, system.models))
        self._add_deprived(system, request, asked)

    def add_cohort(self, system: SetSystem, request: BatteryRequest, asked: RescoreRequest) -> None:
        """Adds the candidates of a request of the cohort, without those of the tool that is meant."""
        self._add_deprived(system, replace(request, style=COHORT_STYLE), asked)

    def strangers(self, battery_set: BatterySet) -> list[BatteryRequest]:
        """The first requests of the other catalogs, as requests that need nothing of this one."""
        others = {each.catalog: each for each in self._sets if each.catalog != battery_set.catalog}
        return [
            replace(request, relevant=frozenset(), also=frozenset())
            for other in others.values()
            for request in other.requests[:STRANGERS]
        ]

    def add_stranger(self, system: SetSystem, request: BatteryRequest, asked: RescoreRequest) -> None:
        """Adds the candidates of a request of another world; none where this catalog has the like."""
        if nearest(asked) < STRANGE:
            self._add(system.set, request, state_before(self._profile, asked, system.models))

    def _add_deprived(self, system: SetSystem, request: BatteryRequest, asked: RescoreRequest) -> None:
        """Adds the candidates without the tools that do the job."""
        hidden = system.doing(request)
        left = [candidate for candidate in asked.candidates if candidate.tool_key not in hidden]
        if not left:
            return  # a small catalog may have nothing else
        deprived = replace(request, relevant=frozenset(), also=frozenset())
        seen = replace(asked, candidates=left)
        self._add(system.set, deprived, state_before(self._profile, seen, system.models))

    def _add(self, battery_set: BatterySet, request: BatteryRequest, state: State) -> None:
        ids = [item.id for item in state.ranked]
        self._features.append(candidate_features(state))
        self._labels.append(np.array([label_of(request, id_) for id_ in ids], np.int8))
        self._candidates += [id_.encode("utf-8", "replace") for id_ in ids]
        split = battery_set.split or "none"
        wanted = len(request.relevant)
        self._requests.append(
            (request.id, battery_set.name, split, request.style, wanted, battery_set.catalog)
        )

    def write(self, path: Path) -> int:
        """Writes the file; the number of rows."""
        sizes = [len(labels) for labels in self._labels]
        columns = list(zip(*self._requests, strict=True)) if self._requests else [()] * 6
        arrays: dict[str, NDArray[Any]] = {
            "features": np.concatenate(self._features or [np.zeros((0, len(FEATURES)), np.float32)]),
            "label": np.concatenate(self._labels or [np.zeros(0, np.int8)]),
            "request": np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            "candidate": np.array(self._candidates, dtype=np.bytes_),
            "names": np.array(list(FEATURES)),
            "models": np.array(self._models),
        }
        arrays |= dict(
            zip(
                ("request_id", "set", "split", "style", "wanted", "documents"),
                map(np.array, columns),
                strict=True,
            )
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        return sum(sizes)


def state_before(profile: Profile, asked: RescoreRequest, models: LoadedModels) -> State:
    """The near candidates of a request as the last stage `learned` of a profile sees them.

    Raises:
        EvaluationError: the profile has no such stage.
    """
    places = [place for place, stage in enumerate(profile.stages) if isinstance(stage, Learned)]
    if not places:
        raise EvaluationError(f"profile {profile.name}: features are those of a stage `learned`, it has none")
    state = opening_state(asked)
    running = Models(scorer=models.scorer, query_kind=models.query_kind, ranker=models.ranker)
    for stage in profile.stages[: places[-1]]:
        state = run_stage(stage, state, running)
    return replace(state, ranked=near_candidates(state))


def nearest(asked: RescoreRequest) -> float:
    """The largest cosine of a candidate with the request, in [−1, 1]."""
    if asked.vector is None:
        return 1.0
    return max((float(each.vector @ asked.vector) for each in asked.candidates), default=-1.0)


def label_of(request: BatteryRequest, document_id: str) -> int:
    """`RIGHT`, `WRONG` or `NEITHER`."""
    if document_id in request.relevant:
        return RIGHT
    return NEITHER if document_id in request.also else WRONG
