"""Sessions of several writers on a real Elasticsearch node."""

from __future__ import annotations

import pytest
from sessions import SessionContract, short_lease

__all__ = ["short_lease"]

pytestmark = [pytest.mark.needs("elasticsearch"), pytest.mark.slow]


class TestElasticsearchSessions(SessionContract):
    """Everything is inherited; `make_engine` is in conftest.py."""
