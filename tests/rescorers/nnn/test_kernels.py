"""Compiled by numba or run by numpy, the inner loops give the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SOLVE = """
import json, numpy as np
from kitpick_rescorers.nnn import NnnProblem, solve_active_set
from kitpick_rescorers.nnn.kernels import COMPILED
rng = np.random.default_rng(0)
answers = []
for size in (30, 300):
    for l2 in (0.0, 0.1, 3.0):
        rows = rng.standard_normal((size, 24)) + rng.standard_normal(24)
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        rows[size // 2] = rows[1]
        solution = solve_active_set(NnnProblem(rows, rows[:4].sum(0).astype(float), 0.05, l2))
        assert solution.certificate.exact
        answers.append([solution.support.tolist(), solution.coefficients.tolist()])
print(json.dumps([COMPILED, answers]))
"""


@pytest.mark.needs("numba")
def test_both_speeds_agree() -> None:
    outputs = []
    for disabled in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", SOLVE],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            check=True,
        )
        outputs.append(json.loads(run.stdout))
    (compiled, fast), (interpreted, slow) = outputs
    assert (compiled, interpreted) == (True, False)
    for (rows, weights), (same_rows, same_weights) in zip(fast, slow, strict=True):
        assert rows == same_rows
        np.testing.assert_allclose(weights, same_weights, atol=1e-9)
