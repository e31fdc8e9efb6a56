"""An adoption that is interrupted can be repeated. With real servers: `restores`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitpick_engines.remote.adoption import Adoption, carry_out
from kitpick_engines.remote.server import RequestRefused, SearchServer
from kitpick_engines.remote.state import CatalogState, StateStore

BEFORE = CatalogState(name="tools")
PLAN = Adoption("drill", "tools", "drill-apis-1", {}, BEFORE, CatalogState(name="drill"), ("tools",), (), ())


class HalfwayCluster:
    """Answers with a state, and refuses changes of some path."""

    def __init__(self, refused: str = "") -> None:
        self.refused = refused
        self.changes: list[str] = []

    def send(self, method: str, path: str, body: bytes | None, kind: str, timeout: float) -> tuple[int, Any]:
        if method == "GET":
            source = {"format": 1, "state": msgspec.to_builtins(BEFORE)}
            return 200, {"found": True, "_source": source, "_seq_no": 1, "_primary_term": 1}
        if path == self.refused:
            return 400, {"error": {"type": "refused", "reason": "not now"}, "status": 400}
        self.changes.append(path.partition("?")[0])
        return 200, {}

    def close(self) -> None: ...


def test_the_state_is_bound_once_nothing_else_is_left_to_do() -> None:
    cluster = HalfwayCluster()
    server = SearchServer(cluster, "here", 1, 0)
    assert carry_out(server, StateStore(server, "drill"), PLAN) == PLAN.after
    assert cluster.changes == ["/_aliases", "/drill-state/_doc/catalog"]


def test_where_the_former_name_cannot_be_taken_off_the_next_attempt_plans_it_again() -> None:
    cluster = HalfwayCluster("/_aliases")
    server = SearchServer(cluster, "here", 1, 0)
    with pytest.raises(RequestRefused):
        carry_out(server, StateStore(server, "drill"), PLAN)
    assert cluster.changes == [], "the state is still that of the former catalog"
