"""Deadlines and callers that leave reach into the loops of every stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_foundation.deadline import Deadline, DeadlineExceeded
from kitpick_rescorers.models import Models
from kitpick_rescorers.nnn import NnnProblem, solve_active_set
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Decode, Diversify, Fuse
from kitpick_rescorers.stages.hierarchy import components

HARD = {"l1": 0.0, "l2": 1.0, "candidates": 1_000}
"""Everything is chosen: a single decode of these takes many seconds, by the path minutes."""


@pytest.fixture(scope="module")
def request_of_thousand() -> RescoreRequest:
    rng = np.random.default_rng(0)
    vectors = np.abs(rng.normal(size=(1_000, 384))).astype(np.float32)
    candidates = [
        Candidate(
            str(n), "c", f"t{n % 7}", "a", f"text {n}", vectors[n], Place(n + 1, 0.0), Place(n + 1, 0.0)
        )
        for n in range(1_000)
    ]
    return RescoreRequest("q", candidates, vectors.mean(axis=0), k=1_000)


class Looks(Deadline):
    """Passes when stages have looked at it so many times: how fast the machine is does not matter."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.looks = 0

    def check(self, work: str) -> None:
        self.looks += 1
        if self.looks > self.most:
            raise DeadlineExceeded(f"{work}: the deadline passed")


class Left(Looks):
    """The caller leaves while a stage works."""

    def check(self, work: str) -> None:
        self.looks += 1
        if self.looks > self.most:
            self.cancel()
        Deadline.check(self, work)


def passed() -> Deadline:
    deadline = Deadline()
    deadline.cancel()
    return deadline


def test_decoding_ends_with_its_deadline(request_of_thousand: RescoreRequest) -> None:
    stages = (Decode(**HARD),) * 49
    deadline = Looks(5)
    found = rescore(request_of_thousand, Profile("hard", stages), Models(), deadline=deadline)
    assert deadline.looks <= 5 + 2 * len(stages), "each stage looks once more, at most twice"
    assert len(found.degraded) == len(stages)
    assert all("the deadline passed" in item.reason for item in found.degraded)
    assert [hit.id for hit in found.results] == [str(n) for n in range(1_000)], "the order stands"


def test_a_caller_that_leaves_stops_the_solver(request_of_thousand: RescoreRequest) -> None:
    deadline = Left(5)
    found = rescore(request_of_thousand, Profile("hard", (Decode(**HARD),)), Models(), deadline=deadline)
    assert deadline.looks == 6
    assert "the caller left" in found.degraded[0].reason


def test_a_deadline_that_does_not_pass_changes_no_digit(request_of_thousand: RescoreRequest) -> None:
    profile = Profile("easy", (Fuse(), Decode(l1=0.9), Diversify()))
    alone = rescore(request_of_thousand, profile, Models())
    timed = rescore(request_of_thousand, profile, Models(), deadline=Deadline(600))
    assert [(hit.id, hit.score) for hit in alone.results] == [(hit.id, hit.score) for hit in timed.results]


@pytest.mark.parametrize("stage", [Fuse(), Decode(), Diversify()])
def test_no_stage_begins_after_the_deadline(request_of_thousand: RescoreRequest, stage: Any) -> None:
    found = rescore(request_of_thousand, Profile("one", (stage,)), Models(), deadline=passed())
    assert [(item.stage, item.reason) for item in found.degraded] == [
        (stage.name, "not run: the caller left")
    ]


def problem_of(rows: int, seed: int = 0) -> NnnProblem:
    """One that chooses all of its rows, a few a round."""
    rng = np.random.default_rng(seed)
    documents = np.abs(rng.normal(size=(rows, 64))).astype(np.float32)
    return NnnProblem(documents, documents.mean(axis=0).astype(np.float64), 0.0, 1.0)


def test_the_solver_looks_at_the_deadline_inside_of_a_pool() -> None:
    """Others have to have their turn also while it is in one pool: a thousand rows take it seconds."""
    deadline = Looks(10_000)
    solution = solve_active_set(problem_of(200), deadline=deadline)
    assert deadline.looks > solution.certificate.rounds // 16 > 2


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rows", [5, 200, 600])
def test_looking_changes_no_digit_of_the_solution(rows: int, seed: int) -> None:
    problem = problem_of(rows, seed)
    alone, looked = solve_active_set(problem), solve_active_set(problem, deadline=Looks(10_000))
    assert looked.support.tobytes() == alone.support.tobytes()
    assert looked.coefficients.tobytes() == alone.coefficients.tobytes()
    assert looked.residual.tobytes() == alone.residual.tobytes()
    assert looked.certificate == alone.certificate


def test_solvers_end_at_a_deadline_that_has_passed() -> None:
    with pytest.raises(DeadlineExceeded):
        solve_active_set(problem_of(20), deadline=passed())


def test_every_loop_of_a_stage_looks_at_the_deadline() -> None:
    vectors = np.eye(3)
    with pytest.raises(DeadlineExceeded):
        components(vectors > 0, passed())
