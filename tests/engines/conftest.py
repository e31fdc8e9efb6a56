"""Makes the contract suite and its helpers importable: the tests are no package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "remote"))
pytest.register_assert_rewrite(
    "asking", "contract_writing", "contract_rankings", "contract_visibility", "sessions", "parts"
)
