"""Exact NNN decoding against the dense scan, FISTA and other people's solvers, on real vectors.

Vectors of the shipped encoder; requests of ToolBench dev. Catalogs: the 4,331 APIs of ToolBench; the same and
as many operations of AWS as make 19,000; and these grown to 100,000, where each further row is a unit mixture
of a real row, one of its neighbours and noise. All sides in one run, with the same threads, turn by turn.

Two pairs of penalties: l1 = l2 = 0.1, where supports are large and no bound helps (keys without a suffix),
and those of the `nnn` profile, 0.3 and 1.0 (keys with `_profile`). Other solvers have to reach the same
largest KKT violation, 1e-6, measured by the same code: their own tolerance is tightened until that holds, and
only the last call counts. FISTA is the paper's, `fista_restart` has adaptive restart; what gives up at 30,000
steps makes its ratio a lower bound. Compilation is not timed.
Whole-corpus solves use eight-bit codes from 10,000 rows on. NUMBA_DISABLE_JIT=1 times
the numpy path.

`--only scan|batch|candidates|columns|others` (repeatable), `--requests N`, `--slow N` (requests that slow
solvers get), `--data FOLDER`, `--clock cpu`: processor time of all threads instead of wall time, for machines
that others use too; best with OPENBLAS_NUM_THREADS=1, whose idle threads spin.
"""
# needs: compare  # noqa: ERA001

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shared_data import DATA

from kitpick_evaluation.datasets.published import open_dataset
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_rescorers.nnn import Corpus, NnnProblem, Solution, solve_active_set
from kitpick_rescorers.nnn.kernels import COMPILED
from nnn.batch import solve_batch
from nnn.codes import Codes
from nnn.columns import solve_by_columns
from nnn.fista import lipschitz
from nnn.fista import solve_fista as fista
from nnn.vectors import Vectors, encoded, grown, texts_of

TOLERANCE = 1e-6
FISTA_CAP = 30_000
BATCH = 64
PENALTIES = {"": (0.1, 0.1), "_profile": (0.3, 1.0)}
Seconds = NDArray[np.float64]
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PARTS = ("scan", "batch", "candidates", "columns", "others")


def main() -> None:
    """Prints one table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--requests", type=int, default=563)
    parser.add_argument("--slow", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    arguments = parser.parse_args()
    Bench.clock = staticmethod(CLOCKS[arguments.clock])
    parts = arguments.only or PARTS
    dataset = open_dataset("toolbench", arguments.data)
    rows = encoded("toolbench-apis", texts_of(dataset.source))
    queries = encoded("toolbench-dev", [query.text for query in dataset.queries])[: arguments.requests]
    catalogs = {"4k": rows}
    if {"scan", "batch"} & set(parts):
        aws = encoded("aws-apis", texts_of(BotocoreSource())[: 19_000 - len(rows)])
        catalogs["19k"] = np.concatenate([rows, aws])
        catalogs["100k"] = grown(catalogs["19k"], 100_000)
    bench = Bench()
    for suffix, penalties in PENALTIES.items():
        for key, catalog in catalogs.items():
            corpus = prepared(catalog)
            if "scan" in parts:
                bench.against_scan(key + suffix, corpus, queries[:: 1 if key == "4k" else 2], penalties)
            if "batch" in parts:
                bench.batches(key + suffix, corpus, queries, penalties)
        for size in (50, 200) if "candidates" in parts else ():
            bench.candidates(f"{size}{suffix}", rows, queries, penalties, size)
        if "columns" in parts:
            bench.columns(suffix, rows, queries, penalties)
    if "others" in parts:
        some = queries[:: max(1, len(queries) // arguments.slow)][: arguments.slow]
        bench.against_others(rows, some, PENALTIES[""])
    Console().print(bench.table)
    print(json.dumps({key: float(f"{value:.4g}") for key, value in bench.figures.items()}))


def prepared(rows: Vectors) -> Corpus:
    """As the documentation recommends for its size."""
    return Corpus(rows, Codes) if len(rows) > 10_000 else Corpus(rows)


class Bench:
    """One run, and what it has found."""

    clock: ClassVar[Callable[[], float]] = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self.table = Table("what", "rows", "median ms", "p99 ms", "of a scan", "support", "checked")
        self.figures: dict[str, float] = {"compiled": float(COMPILED)}

    def against_scan(
        self, key: str, corpus: Corpus, queries: Vectors, penalties: tuple[float, float]
    ) -> None:
        """Whole-corpus solves beside the matrix–vector product that dense retrieval costs, turn by turn."""
        problems = [NnnProblem(corpus, query, *penalties) for query in queries]
        solutions = [solve_active_set(problem) for problem in problems[:20]]
        if not all(solution.certificate.exact for solution in solutions):
            raise SystemExit("a certificate does not hold")
        scan = lambda p: corpus.documents @ p.query.astype(np.float32)  # noqa: E731 - beside what it is timed with
        pairs = [(seconds(scan, problem), seconds(solve_active_set, problem)) for problem in problems]
        scans, solves = np.array(pairs).T
        self.report("dense scan", f"scan_{key}", corpus.rows, scans)
        self.report("exact, whole corpus", f"per_query_{key}", corpus.rows, solves, scans, solutions)
        self.figures[f"vs_scan_{key}"] = float(np.median(solves) / np.median(scans))

    def batches(self, key: str, corpus: Corpus, queries: Vectors, penalties: tuple[float, float]) -> None:
        """Batches beside the one matrix product, turn by turn; times are per batch."""
        parts = [queries[i : i + BATCH] for i in range(0, len(queries) - BATCH + 1, BATCH)]
        for solution in solve_batch(corpus, parts[0], *penalties):
            if not solution.certificate.exact:
                raise SystemExit("a certificate does not hold")
        pairs = [
            (
                seconds(lambda part: part @ corpus.documents.T, part),
                seconds(solve_batch, corpus, part, *penalties),
            )
            for part in parts
        ]
        products, solves = np.array(pairs).T
        self.report("matrix product, 64", f"product_{key}", corpus.rows, products)
        self.report("exact, 64 together", f"per_batch_{key}", corpus.rows, solves, products)
        self.figures[f"vs_scan_batch_{key}"] = float(np.median(solves) / np.median(products))
        if key.startswith("100k"):  # the largest, where the corpus and not the answers sets the price
            self.figures["vs_scan_batch" + key.removeprefix("100k")] = self.figures[f"vs_scan_batch_{key}"]

    def candidates(
        self, key: str, rows: Vectors, queries: Vectors, penalties: tuple[float, float], size: int
    ) -> None:
        """The nearest rows of each query as a fresh matrix: validation, set-up and solve."""
        nearest = [np.ascontiguousarray(rows[np.argsort(-(rows @ query))[:size]]) for query in queries]

        def decode(matrix: Vectors, query: Vectors) -> Solution:
            return solve_active_set(NnnProblem(matrix, query, *penalties))

        decode(nearest[0], queries[0])
        times = np.array([seconds(decode, *pair) for pair in zip(nearest, queries, strict=True)])
        self.report("exact, candidates", f"per_query_{key}", size, times)

    def columns(self, suffix: str, rows: Vectors, queries: Vectors, penalties: tuple[float, float]) -> None:
        """Three rounds of 64 neighbours of an exact search, against the optimum over all rows."""

        def search(vector: Vectors, k: int) -> list[tuple[int, Vectors]]:
            return [(int(row), rows[row]) for row in np.argpartition(-(rows @ vector), k)[:k]]

        corpus = Corpus(rows)
        generated = [solve_by_columns(search, query, *penalties) for query in queries]
        whole = [solve_active_set(NnnProblem(corpus, query, *penalties)) for query in queries]
        same = [set(g.support) == set(w.support.tolist()) for g, w in zip(generated, whole, strict=True)]
        self.figures[f"columns_equal{suffix}"] = float(np.mean(same))
        self.figures[f"columns_proved{suffix}"] = float(np.mean([g.complete for g in generated]))

    def against_others(self, rows: Vectors, queries: Vectors, penalties: tuple[float, float]) -> None:
        """Other solvers on the same few requests as the exact one."""
        corpus = prepared(rows)
        lipschitz(corpus)  # not charged to FISTA: the paper precomputes it too
        problems = [NnnProblem(corpus, query, *penalties) for query in queries]
        exact = np.array([np.median([seconds(solve_active_set, p) for _ in range(9)]) for p in problems])
        self.report("exact, same requests", "exact", len(rows), exact)
        ratios = {}
        for name, solve in (OTHERS if COMPILED else {"fista": OTHERS["fista"]}).items():
            solve(problems[0])  # compiles, allocates
            times = np.array([solve(problem) for problem in problems])
            self.report(name, name, len(rows), times)
            ratios[name] = self.figures[f"vs_{name}"] = float(np.median(times / exact))
        libraries = [ratio for name, ratio in ratios.items() if not name.startswith("fista")]
        if libraries:
            self.figures["vs_best_library"] = min(libraries)

    def report(
        self,
        name: str,
        key: str,
        rows: int,
        times: Seconds,
        scans: Seconds | None = None,
        solutions: Sequence[Solution] = (),
    ) -> None:
        """One line of the table, and the median and 99th percentile in microseconds."""
        median, tail = np.median(times), np.quantile(times, 0.99)
        self.figures |= {f"us_{key}": float(median * 1e6), f"us_p99_{key}": float(tail * 1e6)}
        cells = ["", "", ""]
        if scans is not None:
            cells[0] = f"{median / np.median(scans):.2f}"
        if solutions:
            cells[1] = f"{np.mean([len(solution.support) for solution in solutions]):.1f}"
            cells[2] = f"{np.mean([solution.certificate.checked_rows for solution in solutions]):.0f}"
        self.table.add_row(name, f"{rows:,}", f"{median * 1e3:.3f}", f"{tail * 1e3:.3f}", *cells)


def seconds(call: Callable[..., object], *given: object) -> float:
    """Time of one call."""
    begin = Bench.clock()
    call(*given)
    return Bench.clock() - begin


def tightened(fit: Callable[[float], NDArray[np.float64]], problem: NnnProblem) -> float:
    """Time of the first fit, with ever tighter tolerances, whose violation is small enough."""
    dictionary = problem.corpus.documents.T.astype(np.float64)
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        begin = Bench.clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what has not converged: that is measured here
            z = fit(tolerance)
        spent = Bench.clock() - begin
        descent = dictionary.T @ (problem.query - dictionary @ z) - problem.l1 - problem.l2 * z
        if np.where(z > 0, np.abs(descent), descent).max() <= TOLERANCE:
            return spent
    return spent


def _split(problem: NnnProblem) -> tuple[NDArray[np.float64], dict[str, float]]:
    """The design matrix (d, n), column by column, and the penalties as libraries divide them."""
    total = float(problem.l1) + problem.l2
    design = np.asfortranarray(problem.corpus.documents.T.astype(np.float64))
    return design, {"alpha": total / len(problem.query), "l1_ratio": float(problem.l1) / total}


def by_scikit_learn(problem: NnnProblem) -> float:
    """Coordinate descent."""
    from sklearn.linear_model import ElasticNet

    design, split = _split(problem)

    def fit(tolerance: float) -> NDArray[np.float64]:
        model = ElasticNet(positive=True, fit_intercept=False, tol=tolerance, max_iter=20_000, **split)
        coefficients: NDArray[np.float64] = model.fit(design, problem.query).coef_
        return coefficients

    return tightened(fit, problem)


def by_celer(problem: NnnProblem) -> float:
    """Working sets with dual extrapolation."""
    from celer import ElasticNet

    design, split = _split(problem)

    def fit(tolerance: float) -> NDArray[np.float64]:
        model = ElasticNet(positive=True, fit_intercept=False, tol=tolerance, **split)
        coefficients: NDArray[np.float64] = model.fit(design, problem.query).coef_
        return coefficients

    return tightened(fit, problem)


def by_skglm(problem: NnnProblem) -> float:
    """Working sets with Anderson acceleration."""
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Quadratic
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import AndersonCD

    design, split = _split(problem)

    def fit(tolerance: float) -> NDArray[np.float64]:
        solver = AndersonCD(tol=tolerance, fit_intercept=False)
        model = GeneralizedLinearEstimator(Quadratic(), L1_plus_L2(**split, positive=True), solver)
        coefficients: NDArray[np.float64] = model.fit(design, problem.query).coef_
        return coefficients

    return tightened(fit, problem)


def by_scipy(problem: NnnProblem) -> float:
    """NNLS on [Dᵀ; √l2 I] z ≈ [q; −l1/√l2], which has the same normal equations; building it is not timed."""
    from scipy.optimize import nnls

    n, root = problem.corpus.rows, float(np.sqrt(problem.l2))
    system = np.vstack([problem.corpus.documents.T.astype(np.float64), root * np.eye(n)])
    right = np.concatenate([problem.query, np.full(n, -float(problem.l1) / root)])
    return seconds(nnls, system, right)


OTHERS: dict[str, Callable[[NnnProblem], float]] = {
    "scikit_learn": by_scikit_learn,
    "celer": by_celer,
    "skglm": by_skglm,
    "scipy_nnls": by_scipy,
    "fista_restart": lambda p: seconds(lambda: fista(p, max_iterations=FISTA_CAP)),
    "fista": lambda p: seconds(lambda: fista(p, restart=False, max_iterations=FISTA_CAP)),
}
"""Seconds that each takes for one problem."""


if __name__ == "__main__":
    main()
