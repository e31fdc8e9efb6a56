"""Problems and oracles for the solvers that NNN decoding is compared with."""

from __future__ import annotations

from nnn_problems import oracle, small_problem, unit_rows

__all__ = ["oracle", "small_problem", "unit_rows"]
