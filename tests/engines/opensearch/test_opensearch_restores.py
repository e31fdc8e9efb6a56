"""Restore drills on a real OpenSearch node: under another name, in another cluster, in part."""

from __future__ import annotations

import pytest
from restores import RestoreContract

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow]


class TestOpenSearchRestores(RestoreContract):
    """Everything is inherited; `make_engine` is in conftest.py."""
