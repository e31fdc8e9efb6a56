"""Problems that are hard on purpose, and oracles that share no code with the solvers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from kitpick_rescorers.nnn import NnnProblem, Solution

Instance = tuple[NDArray[np.float32], NDArray[np.float64], float | NDArray[np.float64], float]


def _rows(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    rows = rng.standard_normal((n, d))
    kind = rng.integers(9)
    half = n // 2
    if kind == 1:  # all in one narrow cone, like texts of one catalog
        rows += 3 * rng.standard_normal(d)
    elif kind == 2:  # exact duplicates
        rows[rng.integers(n, size=half)] = rows[rng.integers(n, size=half)]
    elif kind == 3:  # nearly collinear, down to what float32 can tell apart
        noise = 1e-5 * 10.0 ** -rng.integers(0, 4)
        rows[n - half :] = rows[rng.integers(n, size=half)] + noise * rng.standard_normal((half, d))
    elif kind == 4:
        rows[rng.integers(n, size=n // 3 + 1)] = 0
    elif kind == 5:  # opposite rows
        rows[:half] = -rows[n - half :][:half]
    elif kind == 6:
        rows = np.abs(rows)
    elif kind == 7:  # ties everywhere
        rows = rng.integers(-1, 2, size=(n, d)).astype(float)
    elif kind == 8:  # sums of others: dependent without being equal
        rows[n - half :] = rows[rng.integers(n, size=half)] + rows[rng.integers(n, size=half)]
    return rows


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(norms == 0, 1, norms)


def _penalties(
    rng: np.random.Generator, correlations: NDArray[np.float64]
) -> tuple[float | NDArray[np.float64], float]:
    l2 = float(rng.choice([0, 0, 1e-6, 0.01, 0.1, 1, 3]))
    if rng.random() < 0.15:  # per row, below 0 where the problem allows it
        return rng.uniform(0 if l2 == 0 else -0.2, 0.5, len(correlations)), l2
    if rng.random() < 0.2:  # exactly where a row is about to join
        return float(abs(rng.choice(correlations))), l2
    return float(rng.choice([0, 1e-6, 0.01, 0.05, 0.1, 0.3, 0.9])), l2


def adversarial(seed: int) -> Instance:
    """Documents, query, l1, l2: of any shape, degenerate in every way that was thought of."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40)) if rng.random() < 0.85 else int(rng.integers(130, 400))
    d = int(rng.integers(1, 24))
    rows = _rows(rng, n, d)
    documents = (_unit(rows) if rng.random() < 0.9 else rows).astype(np.float32)
    query = documents[rng.integers(n, size=3)].sum(0) if rng.random() < 0.3 else rng.standard_normal(d)
    query = (_unit(query) if rng.random() < 0.9 else query).astype(np.float64)
    return (documents, query, *_penalties(rng, documents @ query))


def dense(solution: Solution, rows: int) -> NDArray[np.float64]:
    """The whole vector z (n,)."""
    z = np.zeros(rows)
    z[solution.support] = solution.coefficients
    return z


def objective(instance: Instance, z: NDArray[np.float64]) -> float:
    """P(z), term by term."""
    documents, query, l1, l2 = instance
    residual = query - documents.astype(np.float64).T @ z
    return float(0.5 * residual @ residual + np.sum(l1 * z) + 0.5 * l2 * z @ z)


def largest_violation(instance: Instance, z: NDArray[np.float64]) -> float:
    """From the gradient in float64, over every row."""
    documents, query, l1, l2 = instance
    rows = documents.astype(np.float64)
    descent = rows @ (query - rows.T @ z) - l1 - l2 * z
    return float(np.where(z > 0, np.abs(descent), np.maximum(descent, 0)).max())


def reach(*solutions: Solution) -> float:
    """How far the residuals of these answers to one problem may be from each other, by what they prove.

    ½‖r − r*‖² ≤ P(z) − P*, which is below the gap and, by convexity, below the largest violation (1e-6 here)
    times Σ|z − z*|.
    """
    weights = 1e-6 * sum(float(solution.coefficients.sum()) for solution in solutions)
    return 1e-9 + sum(float(np.sqrt(2 * min(s.certificate.gap, 2 * weights))) for s in solutions)


def best_of_all_supports(instance: Instance) -> float:
    """Min P by trying every subset of rows: for tiny n."""
    documents, query, l1, l2 = instance
    rows = documents.astype(np.float64)
    n = len(rows)
    penalties = np.broadcast_to(l1, n)
    best = objective(instance, np.zeros(n))
    for size in range(1, n + 1):
        for subset in map(list, itertools.combinations(range(n), size)):
            gram = rows[subset] @ rows[subset].T + l2 * np.eye(size)
            part = np.linalg.lstsq(gram, rows[subset] @ query - penalties[subset], rcond=1e-9)[0]
            if (part >= 0).all():
                z = np.zeros(n)
                z[subset] = part
                best = min(best, objective(instance, z))
    return best


@pytest.fixture(scope="session")
def oracle() -> type[Oracle]:
    """The functions above, under one name."""
    return Oracle


class Oracle:
    """Test modules are imported without a package, so helpers travel as a fixture."""

    adversarial = staticmethod(adversarial)
    dense = staticmethod(dense)
    objective = staticmethod(objective)
    largest_violation = staticmethod(largest_violation)
    best_of_all_supports = staticmethod(best_of_all_supports)
    reach = staticmethod(reach)


@pytest.fixture(scope="session")
def unit_rows() -> Callable[..., NDArray[np.float32]]:
    """Random unit rows (n, d) around a common direction, as texts of one catalog are."""

    def make(n: int, d: int, seed: int = 0, cone: float = 1.0) -> NDArray[np.float32]:
        rng = np.random.default_rng(seed)
        return _unit(rng.standard_normal((n, d)) + cone * rng.standard_normal(d)).astype(np.float32)

    return make


@pytest.fixture
def small_problem(unit_rows: Callable[..., NDArray[np.float32]]) -> NnnProblem:
    """Sixty rows in twenty dimensions with a support of several."""
    rows = unit_rows(60, 20)
    return NnnProblem(rows, rows[3] + rows[40] + rows[7], l1=0.1, l2=0.05)
