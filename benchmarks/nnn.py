"""Exact NNN decoding against FISTA, scikit-learn and the dense scan, on real ToolBench vectors.

4,331 × 384 vectors of the shipped encoder, the 563 requests of ToolBench dev; all sides in one run, with the
same threads, interleaved. Every side has to reach the same largest KKT violation, 1e-6, measured by the same
code. FISTA is timed on a few requests only: it takes seconds each. `vs_fista` is the paper's FISTA,
`vs_fista_restart` has adaptive restart; a side that gives up at 30,000 steps makes its ratio a lower bound.
The 19,000 and 100,000 row corpora are grown: each further row is a unit mixture of a real row, one of its
neighbours, and noise.

`--data FOLDER`, `--requests N`, `--fista N` (requests that FISTA gets), `--l1`, `--l2`, `--clock cpu`
(process time, with OPENBLAS_NUM_THREADS=1: for a machine that is busy with other things).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import ElasticNet

from toolrank_engines.document import ApiDocument
from toolrank_engines.text import retrieval_text
from toolrank_evaluation.dataset import Dataset
from toolrank_evaluation.datasets.opening import open_dataset
from toolrank_models.runtime import load_encoder
from toolrank_rescorers.nnn import Corpus, Problem, Solution, solve_active_set, solve_fista
from toolrank_rescorers.nnn.compiled import COMPILED

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
CACHE = ROOT / "var" / "bench"
TOLERANCE = 1e-6
FISTA_CAP = 30_000
Vectors = NDArray[np.float32]
Seconds = NDArray[np.float64]

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    """Prints one table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--requests", type=int, default=563)
    parser.add_argument("--fista", type=int, default=5)
    parser.add_argument("--l1", type=float, default=0.1)
    parser.add_argument("--l2", type=float, default=0.1)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    arguments = parser.parse_args()
    dataset = open_dataset("toolbench", arguments.data)
    rows = encoded("toolbench-apis", [retrieval_text(document) for document in documents(dataset)])
    queries = encoded("toolbench-dev", [query.text for query in dataset.queries])[: arguments.requests]
    bench = Bench(arguments.l1, arguments.l2, CLOCKS[arguments.clock])
    bench.against_scan("4k", rows, queries)
    bench.against_scan("19k", grown(rows, 19_000), queries[::2])
    bench.against_scan("100k", grown(rows, 100_000), queries[::2])
    bench.candidates(50, rows, queries)
    bench.candidates(200, rows, queries)
    bench.against_others(rows, queries[:: max(1, len(queries) // arguments.fista)][: arguments.fista])
    Console().print(bench.table)
    print(json.dumps({key: float(f"{value:.4g}") for key, value in bench.figures.items()}))


def documents(dataset: Dataset) -> list[ApiDocument]:
    """Every document of a judged dataset."""
    return [item for item in dataset.source.read() if isinstance(item, ApiDocument)]


def encoded(name: str, texts: Sequence[str]) -> Vectors:
    """Unit vectors (n, d) of the texts by the shipped encoder, kept under `var/bench`."""
    encoder = load_encoder()
    digest = hashlib.blake2b("\0".join([encoder.manifest.identity, *texts]).encode(), digest_size=6)
    path = CACHE / f"{name}-{digest.hexdigest()}.npy"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, encoder.encode(texts))
    vectors: Vectors = np.load(path)
    return vectors


def grown(rows: Vectors, size: int, seed: int = 0) -> Vectors:
    """The rows, and mixtures of each with a near one and noise until there are `size`."""
    rng = np.random.default_rng(seed)
    extra = size - len(rows)
    first = rng.integers(len(rows), size=extra)
    near = np.argpartition(-(rows @ rows.T), 11, axis=1)[:, :11]
    second = near[first, rng.integers(11, size=extra)]
    share = rng.uniform(0.5, 1.0, size=(extra, 1))
    noise = rng.standard_normal((extra, rows.shape[1])) * (0.5 / np.sqrt(rows.shape[1]))
    mixed = share * rows[first] + (1 - share) * rows[second] + noise
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.ascontiguousarray(np.concatenate([rows, mixed]), dtype=np.float32)


class Bench:
    """One run: its penalties and clock, and what it has found."""

    def __init__(self, l1: float, l2: float, clock: Callable[[], float]) -> None:
        self.penalties, self.clock = (l1, l2), clock
        self.table = Table("what", "rows", "median ms", "p99 ms", "of a scan", "support", "checked")
        self.figures: dict[str, float] = {"l1": l1, "l2": l2, "compiled": float(COMPILED)}

    def seconds(self, call: Callable[..., object], *given: object) -> float:
        """Time of one call."""
        begin = self.clock()
        call(*given)
        return self.clock() - begin

    def against_scan(self, key: str, rows: Vectors, queries: Vectors) -> None:
        """Whole-corpus solves beside the matrix–vector product that dense retrieval costs, turn by turn."""
        corpus = Corpus(rows).with_sketch()
        problems = [Problem(corpus, query, *self.penalties) for query in queries]
        solutions = [solve_active_set(problem) for problem in problems[:20]]
        if not all(solution.certificate.exact for solution in solutions):
            raise SystemExit("a certificate does not hold")
        pairs = [
            (self.seconds(np.matmul, rows, p.query.astype(np.float32)), self.seconds(solve_active_set, p))
            for p in problems
        ]
        scans, solves = np.array(pairs).T
        self.report("dense scan", f"scan_{key}", len(rows), scans)
        self.report("exact, whole corpus", f"per_query_{key}", len(rows), solves, scans, solutions)
        self.figures[f"vs_scan_{key}"] = float(np.median(solves) / np.median(scans))

    def candidates(self, size: int, rows: Vectors, queries: Vectors) -> None:
        """The nearest rows of each query as a fresh matrix: validation, set-up and solve."""
        nearest = [np.ascontiguousarray(rows[np.argsort(-(rows @ query))[:size]]) for query in queries]

        def decode(matrix: Vectors, query: Vectors) -> Solution:
            return solve_active_set(Problem(matrix, query, *self.penalties))

        times = np.array([self.seconds(decode, *pair) for pair in zip(nearest, queries, strict=True)])
        self.report("exact, candidates", f"per_query_{size}", size, times)

    def against_others(self, rows: Vectors, queries: Vectors) -> None:
        """FISTA with and without restart, and scikit-learn, on the same few requests as the exact solver."""
        corpus = Corpus(rows).with_sketch()
        _ = corpus.lipschitz  # not charged to FISTA: the paper precomputes it too
        problems = [Problem(corpus, query, *self.penalties) for query in queries]
        exact = np.array([np.median([self.seconds(solve_active_set, p) for _ in range(9)]) for p in problems])
        others: dict[str, Callable[[Problem], object]] = {
            "fista": lambda p: solve_fista(p, restart=False, max_iterations=FISTA_CAP),
            "fista_restart": lambda p: solve_fista(p, max_iterations=FISTA_CAP),
            "best_library": scikit_learn,
        }
        for name, solve in others.items():
            times = np.array([self.seconds(solve, problem) for problem in problems])
            self.report(name, name, len(rows), times)
            self.figures[f"vs_{name}"] = float(np.median(times / exact))

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
            cells[1] = f"{np.mean([len(solution.support) for solution in solutions]):.1f}"
            cells[2] = f"{np.mean([solution.certificate.checked_rows for solution in solutions]):.0f}"
        self.table.add_row(name, f"{rows:,}", f"{median * 1e3:.3f}", f"{tail * 1e3:.3f}", *cells)


def scikit_learn(problem: Problem) -> None:
    """Coordinate descent to a violation of 1e-6: its own tolerance is tightened until that holds."""
    l1, l2 = float(np.max(problem.l1)), problem.l2
    dictionary = problem.corpus.documents.T.astype(np.float64)
    setting = {"alpha": (l1 + l2) / len(problem.query), "l1_ratio": l1 / (l1 + l2), "max_iter": 20_000}
    for tolerance in (1e-5, 1e-7, 1e-9, 1e-11):
        model = ElasticNet(positive=True, fit_intercept=False, tol=tolerance, **setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            z = model.fit(dictionary, problem.query).coef_
        descent = dictionary.T @ (problem.query - dictionary @ z) - l1 - l2 * z
        if np.where(z > 0, np.abs(descent), descent).max() <= TOLERANCE:
            return


if __name__ == "__main__":
    main()
