"""What every engine must do. A test module subclasses `EngineContract` and gives it a `make_engine` fixture:
a function without arguments that returns a new, empty engine, different at every call, closed by the fixture.
"""

from __future__ import annotations

import pytest
from asking import MakeEngine
from contract_rankings import RankingContract
from contract_visibility import VisibilityContract
from contract_writing import WritingContract

from kitpick_engines.contract import Engine


class EngineContract(WritingContract, RankingContract, VisibilityContract):
    """Inherited by the tests of each engine."""

    @pytest.fixture
    def engine(self, make_engine: MakeEngine) -> Engine:
        return make_engine()
