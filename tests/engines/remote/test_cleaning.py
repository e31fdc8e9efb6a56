"""What no search needs any more is removed, or it is said why not. With real servers: `sessions`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitpick_engines.contract import IndexSchema
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.server import SearchServer
from kitpick_engines.remote.state import IndexState
from kitpick_engines.remote.writer import clean

STATE = IndexState(IndexSchema("m", 4, 1), generation=3)
ABORTED = msgspec.structs.replace(STATE, aborted=(2,))


class StubbornCluster:
    """Finds as many versions as are asked for, and refuses to change any."""

    def send(self, method: str, path: str, body: bytes | None, kind: str, timeout: float) -> tuple[int, Any]:
        if path.partition("?")[0].endswith("_bulk"):
            refused = {"status": 403, "error": {"type": "security_exception", "reason": "may not delete"}}
            heads = [line for line in (body or b"").splitlines() if b'"_id"' in line]
            return 200, {"errors": True, "items": [{"delete": refused}] * len(heads)}
        asked = msgspec.json.decode(body) if body else {}
        hit = {"_source": {}, "_seq_no": 1, "_primary_term": 1}
        return 200, {"hits": {"hits": [{"_id": str(n), **hit} for n in range(asked.get("size", 0))]}}

    def close(self) -> None: ...


@pytest.mark.parametrize("state", [STATE, ABORTED])
def test_a_server_that_refuses_all_of_it_is_not_asked_for_ever(state: IndexState) -> None:
    with pytest.raises(EngineUnavailable, match="apis-1: 403: may not delete"):
        clean(SearchServer(StubbornCluster(), "here", 1, 0), "apis-1", state, lambda: None)


class LargeCluster:
    """Holds so many versions that no search needs any more."""

    def __init__(self, held: int) -> None:
        self.held = held

    def send(self, method: str, path: str, body: bytes | None, kind: str, timeout: float) -> tuple[int, Any]:
        if path.partition("?")[0].endswith("_bulk"):
            heads = [line for line in (body or b"").splitlines() if b'"_id"' in line]
            self.held -= len(heads)
            return 200, {"errors": False, "items": [{"delete": {"status": 200}}] * len(heads)}
        asked = msgspec.json.decode(body).get("size", 0) if body else 0
        return 200, {"hits": {"hits": [{"_id": str(n)} for n in range(min(asked, self.held))]}}

    def close(self) -> None: ...


def test_the_lease_is_renewed_while_much_is_removed() -> None:
    """Minutes for a catalog that was rebuilt: another writer would take this one for dead."""
    cluster, left = LargeCluster(5_000), []
    clean(SearchServer(cluster, "here", 1, 0), "apis-1", STATE, lambda: left.append(cluster.held))
    assert left == [5_000, 4_000, 3_000, 2_000, 1_000, 0]
