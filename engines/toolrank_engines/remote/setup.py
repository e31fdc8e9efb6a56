"""What an operator sets up once on a server: requests that are shown first, then made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from toolrank_engines.remote.address import Address
from toolrank_engines.remote.dialect import Dialect
from toolrank_engines.remote.mapping import index_settings, mapping
from toolrank_engines.remote.server import Json, Server

_PRIORITY = 200
_DEFAULT = 1


class Step(msgspec.Struct, frozen=True):
    """One request. `{{name}}` in path and body is filled in when it is made."""

    does: str
    method: str
    path: str
    body: Json
    keeps: dict[str, str] = {}
    """Values of the answer that later requests need: field of the answer by name."""
    example: bool = False
    """Shown, never made."""

    def filled(self, values: Mapping[str, str]) -> Step:
        """With the values that are known."""
        body = msgspec.json.encode(self.body).decode()
        path = self.path
        for name, value in values.items():
            inside = msgspec.json.encode(value).decode()[1:-1]
            body, path = body.replace(f"{{{{{name}}}}}", inside), path.replace(f"{{{{{name}}}}}", value)
        return msgspec.structs.replace(self, path=path, body=msgspec.json.decode(body))


def make(server: Server, steps: Sequence[Step], values: Mapping[str, str]) -> None:
    """Makes the requests in order. Most replace what a former setup left.

    Raises:
        Refused: the server refused one; those before it were made.
        EngineUnavailable: it cannot be reached, or refuses the user.
    """
    known = dict(values)
    for step in steps:
        if not step.example:
            filled = step.filled(known)
            answer = server.call(filled.method, filled.path, filled.body)
            known |= {name: str(answer[field]) for name, field in step.keeps.items()}


def index_template(address: Address, dialect: Dialect, dimensions: int) -> Step:
    """Shards, replicas and fields of every index of a catalog, for vectors of so many dimensions."""
    settings: Json = index_settings() | dialect.vector_settings()
    settings["number_of_shards"] = address.settings.shards or _DEFAULT
    chosen = address.settings.replicas
    settings["number_of_replicas"] = _DEFAULT if chosen < 0 else chosen
    body = {
        "index_patterns": [f"{address.name}-apis-*"],
        "priority": _PRIORITY,
        "template": {
            "settings": {"index": settings},
            "mappings": mapping(dialect.vector_field(dimensions)),
        },
        "_meta": {"made_by": "toolrank setup"},
    }
    does = "Decides shards, replicas and fields of every index of the catalog."
    return Step(does, "PUT", f"/_index_template/{address.name}", body)
