"""The OpenSearch engine does what every engine must, on a real node."""

from __future__ import annotations

import pytest
from contract_suite import EngineContract
from leaks import LeakContract

pytestmark = [pytest.mark.needs("opensearch"), pytest.mark.slow]


class TestOpenSearch(EngineContract, LeakContract):
    """Everything is inherited; `make_engine` is in conftest.py."""
