"""The Elasticsearch engine does what every engine must, on a real node."""

from __future__ import annotations

import pytest
from contract_suite import EngineContract
from leaks import LeakContract

pytestmark = [pytest.mark.needs("elasticsearch"), pytest.mark.slow]


class TestElasticsearch(EngineContract, LeakContract):
    """Everything is inherited; `make_engine` is in conftest.py."""
