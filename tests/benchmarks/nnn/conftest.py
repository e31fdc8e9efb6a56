"""Problems and oracles for the solvers that NNN decoding is compared with."""

from __future__ import annotations

import sys
from pathlib import Path

from nnn_problems import oracle, small_problem, unit_rows

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

__all__ = ["oracle", "small_problem", "unit_rows"]
