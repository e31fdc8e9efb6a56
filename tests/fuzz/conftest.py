"""Makes the child's readers importable: their sound files are what is mutated."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
