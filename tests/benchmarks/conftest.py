"""Makes `benchmarks/` importable, after everything else: one of its files has the name of another package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
