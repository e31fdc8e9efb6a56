"""A key binds whatever a call says about who asks, at every door of the service."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitpick.tools_api import FeedbackCall, ToolSearchCall
from kitpick_engines.contract import Filter
from kitpick_rescorers.service.app import ENDPOINTS
from kitpick_rescorers.service.dialects.search import _permitted
from kitpick_rescorers.service.errors import InvalidKeyFile
from kitpick_rescorers.service.keys import NOBODY, ApiKey, parse_keys
from kitpick_rescorers.service.protocol import SearchCall

ACME = ApiKey("acme", "0" * 64, tenant="acme", principals=("staff", "boss"))
STAFF = ApiKey("staff", "0" * 64, principals=("staff",))
PLAIN = ApiKey("plain", "0" * 64)
NODE = ApiKey("node", "0" * 64, speaks_for_others=True)
BOUND = {("/v1/search", "tenant"), ("/v1/search", "principals"), ("/v1/tools/feedback", "client")}
"""Parameters that carry an identity, each with a test of what binds it: here, or in `test_tools_api`."""
_IDENTITIES = {"tenant", "tenants", "principals", "principal", "client", "caller", "owner", "allowed"}


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


def test_no_door_takes_an_identity_that_nothing_binds() -> None:
    calls = {endpoint.path: endpoint.request for endpoint in ENDPOINTS if endpoint.request is not None}
    calls |= {"/v1/tools/search": ToolSearchCall, "/v1/tools/feedback": FeedbackCall}
    found = {
        (path, field.encode_name)
        for path, call in calls.items()
        if isinstance(call, type) and issubclass(call, msgspec.Struct)
        for field in msgspec.structs.fields(call)
        if field.encode_name in _IDENTITIES
    }
    assert found == BOUND, "bind what is new to the key, and test that"
