"""The contract suite lies in helpers, whose assertions say as much as those of tests."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "asking", "contract_writing", "contract_rankings", "contract_visibility", "sessions"
)
