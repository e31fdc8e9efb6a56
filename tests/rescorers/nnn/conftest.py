"""Problems and oracles for the solvers."""

from __future__ import annotations

from nnn_problems import oracle, small_problem, unit_rows

__all__ = ["oracle", "small_problem", "unit_rows"]
