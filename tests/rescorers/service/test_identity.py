"""A key binds whatever a call says about who asks, at every door of the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import msgspec
import pytest
from starlette.routing import Route

from kitpick.tools_api import ToolsApi, tools_endpoints, tools_routes
from kitpick.ui.adapt_desk import AdaptDesk
from kitpick.ui.desk import Desk
from kitpick.ui.routes import page_endpoints, page_routes
from kitpick_engines.contract import Filter
from kitpick_service.app import ENDPOINTS, application
from kitpick_service.core import Service
from kitpick_service.dialects.search import _permitted
from kitpick_service.errors import InvalidKeyFile
from kitpick_service.keys import NOBODY, ApiKey, parse_keys
from kitpick_service.protocol import SearchCall
from kitpick_service.settings import ServiceSettings

ACME = ApiKey("acme", "0" * 64, tenant="acme", principals=("staff", "boss"))
STAFF = ApiKey("staff", "0" * 64, principals=("staff",))
PLAIN = ApiKey("plain", "0" * 64)
NODE = ApiKey("node", "0" * 64, speaks_for_others=True)
BOUND = {("/v1/search", "tenant"), ("/v1/search", "principals"), ("/v1/tools/feedback", "client")}
"""Parameters that carry an identity, each with a test of what binds it: here, or in `test_tools_api`."""
UNREAD = {("/v1/embeddings", "user")}
"""A client may send it, and nobody reads it: what a text has for a vector is the same for everybody."""
_IDENTITIES = {
    *("tenant", "tenants", "principals", "principal", "client", "caller", "owner", "allowed", "permitted"),
    *("user", "user_id", "userId", "groups", "roles", "as", "on_behalf_of", "actor", "account", "subject"),
}


def claimed(tenant: str = "", *principals: str) -> Any:
    body = {
        "query": "q",
        "index": "i",
        "committed": {"match_all": {}},
        "tenant": tenant,
        "principals": principals,
    }
    return msgspec.convert(body, SearchCall)


@pytest.mark.parametrize(
    ("key", "call", "seen"),
    [
        (ACME, claimed("acme", "staff"), Filter("acme", frozenset({"staff"}))),
        (ACME, claimed("acme", "staff", "boss"), Filter("acme", frozenset({"staff", "boss"}))),
        (ACME, claimed(), Filter()),
        (ACME, claimed("globex", "staff"), Filter("", frozenset({"staff"}))),
        (ACME, claimed("acme", "root"), Filter("acme")),
        (STAFF, claimed("acme", "staff", "boss"), Filter("", frozenset({"staff"}))),
        (PLAIN, claimed("acme", "staff"), Filter()),
        (PLAIN, claimed(), Filter()),
        (NODE, claimed("acme", "staff"), Filter("acme", frozenset({"staff"}))),
        (NOBODY, claimed("acme", "staff"), Filter("acme", frozenset({"staff"}))),
    ],
)
def test_a_call_sees_no_more_than_its_key(key: ApiKey, call: Any, seen: Filter) -> None:
    permitted, degraded = _permitted(call, key)
    assert permitted == seen
    asked = Filter(call.tenant, frozenset(call.principals))
    said = [each.reason for each in degraded]
    assert bool(said) is (permitted != asked), "what is held back is said"
    assert all("left out" in each and "speaks_for_others = true" in each for each in said)


def test_an_entry_speaks_for_itself_or_for_others() -> None:
    plain = f'[[keys]]\nname = "k"\nsha256 = "{"0" * 64}"\n'
    (key,) = parse_keys(plain, "keys.toml").values()
    assert not key.speaks_for_others
    (key,) = parse_keys(plain + "speaks_for_others = true\n", "keys.toml").values()
    assert key.speaks_for_others
    for more in ('tenant = "acme"', 'principals = ["staff"]'):
        with pytest.raises(InvalidKeyFile, match="not both"):
            parse_keys(f"{plain}speaks_for_others = true\n{more}\n", "keys.toml")


def _desk() -> Desk:
    """A desk that answers nothing: only what it is asked with is looked at."""
    desk = object.__new__(Desk)
    desk.adaptations = object.__new__(AdaptDesk)
    return desk


def doors() -> set[tuple[str, Any]]:
    """What every door is asked with: of the service, the tools, the page and the MCP server."""
    pytest.importorskip("mcp")
    from kitpick.mcp import tools as mcp_tools

    nobody = object.__new__(ToolsApi)
    limiter = anyio.CapacityLimiter(1)
    listed = [*ENDPOINTS, *tools_endpoints(nobody), *page_endpoints(_desk())]
    arguments = {
        f"mcp {name}": kind
        for name, kind in vars(mcp_tools).items()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and name.endswith("Arguments")
    }
    assert len(arguments) >= 6, "every tool of the MCP server has such a type"
    paths = {each.path for each in listed}
    service = Service(ServiceSettings(warm_up_seconds=0))
    try:
        application_paths = {route.path for route in application(service).routes if isinstance(route, Route)}
        routed = {route.path for route in tools_routes(nobody, service, limiter)}
        routed |= {route.path for route in page_routes(_desk(), service, limiter)}
    finally:
        service.close()
    unasked = {"/metrics", "/openapi.json", "/docs", "/"}
    files = {path for path in routed if path.startswith("/ui") and not path.startswith("/ui/api/")}
    assert application_paths | routed <= paths | unasked | files, "a route that takes no call of a known type"
    return {(each.path, each.request) for each in listed if each.request is not None} | {*arguments.items()}


def fields_of(kind: Any) -> Iterator[str]:
    """Names of all fields of a type, of those within it, and of every member of a union."""
    seen: set[Any] = set()
    waiting = [msgspec.inspect.type_info(kind)]
    while waiting:
        info = waiting.pop()
        key = getattr(info, "cls", None)
        if key in seen and key is not None:
            continue
        seen.add(key)
        for field in getattr(info, "fields", ()):
            yield field.encode_name
            waiting.append(field.type)
        for name in ("item_type", "value_type", "key_type", "type"):
            inner = getattr(info, name, None)
            waiting += [inner] if isinstance(inner, msgspec.inspect.Type) else []
        waiting += getattr(info, "types", ()) + getattr(info, "item_types", ())


class Within(msgspec.Struct, tag="within"):
    tenant: str


class Around(msgspec.Struct, tag="around"):
    many: list[dict[str, Within]] | None = None


class Beside(msgspec.Struct, tag="beside"):
    pair: tuple[int, Within] | None = None


def test_fields_within_and_of_every_member_of_a_union_are_found() -> None:
    assert set(fields_of(Around)) == {"many", "tenant"}
    assert set(fields_of(Beside)) == {"pair", "tenant"}
    assert set(fields_of(Around | Beside)) == {"many", "pair", "tenant"}


def test_no_door_takes_an_identity_that_nothing_binds() -> None:
    asked = doors()
    assert {"/v1/search", "/v1/tools/feedback", "/ui/api/explain", "mcp FeedbackArguments"} <= {
        door for door, _ in asked
    }
    found = {(door, name) for door, kind in asked for name in fields_of(kind) if name in _IDENTITIES}
    assert found == BOUND | UNREAD, "bind what is new to the key, and test that"
