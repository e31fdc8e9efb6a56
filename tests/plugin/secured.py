"""A node with users: who they are, what their roles let them see, and how they ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from searching import Client
from secured_node import ADMIN, authorization

from kitpick_engines.opensearch import OpenSearchDialect
from kitpick_engines.remote.mapping import IDENTIFIER, PROSE
from kitpick_engines.remote.server import Json

AT_A_TIME = 16
BREAKER_FAILURES = 3
SETTINGS = (
    # Time enough on any machine.
    "kitpick.deadline=60s",
    f"kitpick.max_concurrent={AT_A_TIME}",
    f"kitpick.breaker.failures={BREAKER_FAILURES}",
    "kitpick.breaker.pause=5s",
    "plugins.security.audit.type=log4j",
    "plugins.security.audit.config.log4j.logger_name=audit",
)
PEOPLE = ("alice", "bob", "carol")
TENANTS = ("acme", "globex")
_THEIRS = {
    "bool": {
        "filter": [
            {"terms": {"tenant": ["nobody", "${attr.internal.tenant}"]}},
            {"terms": {"allowed": ["everybody", "${attr.internal.person}"]}},
        ]
    }
}


def _reader(*hidden: str) -> dict[str, Any]:
    permissions = {
        "index_patterns": ["rights", "guarded*", "owned*"],
        "allowed_actions": ["indices:data/read/search"],
        "dls": json.dumps(_THEIRS),
        "fls": [f"~{field}" for field in hidden],
    }
    return {"index_permissions": [permissions]}


_SHOWN = {
    "bool": {
        "filter": [{"terms": {"tenant": ["", "${attr.internal.tenant}"]}}],
        "should": [{"term": {"public": True}}, {"term": {"allowed": "${attr.internal.person}"}}],
        "minimum_should_match": 1,
    }
}
_SHOPPER: dict[str, Any] = {
    "cluster_permissions": ["indices:data/read/msearch"],
    "index_permissions": [
        {
            "index_patterns": ["shop-apis-*"],
            "allowed_actions": ["indices:data/read/search"],
            "dls": json.dumps(_SHOWN),
        },
        {
            "index_patterns": ["shop-state"],
            "allowed_actions": ["indices:data/read/search", "indices:data/read/get"],
        },
    ],
}
"""Who searches a catalog of kitpick itself: its documents as far as they are theirs, and its state."""
ROLES: dict[str, Any] = {
    "reader": _reader("secret"),
    "shopper": _SHOPPER,
    "reader_without_tools": _reader("secret", "tool_key"),
    "operator": {"cluster_permissions": ["cluster:monitor/kitpick/stats"]},
}
USERS: dict[str, dict[str, Any]] = {
    f"{person}-of-{tenant}{suffix}": {"roles": [role], "attributes": {"person": person, "tenant": tenant}}
    for person, tenant in product(PEOPLE, TENANTS)
    for suffix, role in (("", "reader"), ("-shop", "shopper"))
} | {
    "without-tools": {
        "roles": ["reader_without_tools"],
        "attributes": {"person": "alice", "tenant": "acme"},
    },
    "operator": {"roles": ["operator"]},
}


class Secured:
    """The running node."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.admin = self.named(ADMIN)

    def named(self, user: str) -> Client:
        return Client(self.url, authorization(user))

    def user(self, person: str, tenant: str) -> Client:
        return self.named(f"{person}-of-{tenant}")

    def audited(self) -> list[dict[str, Any]]:
        """What the audit log says so far: who did what, and whether they might."""
        lines = (self.folder / "stdout.log").read_text("utf-8").splitlines()
        return [json.loads(line[line.index("{") :]) for line in lines if '"audit_category"' in line]

    def at_once(
        self, users: Sequence[tuple[str, str]], search: Callable[[Client], Any]
    ) -> Iterator[list[Any]]:
        """The answers of two users each, while all of them ask at the same time."""
        with ThreadPoolExecutor(len(users)) as pool:
            answers = list(pool.map(lambda each: search(self.user(*each)), users))
        yield from (answers[at : at + 2] for at in range(0, len(users), 2))


class PlainDialect(OpenSearchDialect):
    """The dialect of a node without k-NN and without filters of words, which our own rankings do not need."""

    def vector_field(self, dimensions: int) -> Json:
        """Numbers that nobody searches."""
        return {"type": "float", "index": False}

    def vector_settings(self) -> Json:
        """Analysers that every node has, under the names of ours."""
        return {"analysis": {"analyzer": {name: {"type": "standard"} for name in (IDENTIFIER, PROSE)}}}
