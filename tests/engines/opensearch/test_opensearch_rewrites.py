"""Updates by somebody else, on a real OpenSearch node."""

from __future__ import annotations

import pytest
from rewrites import RewriteContract

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow]


class TestOpenSearchRewrites(RewriteContract):
    """Everything is inherited; `make_engine` is in conftest.py."""
