"""Two tenants and two keys: what one of them sends to reach what is the other's, each with what it must get.

The catalog has APIs that all see, and the vault and the cellar of tenant `acme`. The hostile key is of tenant
`other`. The word `SECRET` stands in what only acme sees: an answer that holds it is a leak.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from serving.process import Served, serving

from hostile.cases import BUSY, DONE, Case
from hostile.tokens import write_issuers
from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_ingest.opening import open_source

SECRET = "zqxsecret"
NOT_FOUND, INVALID = frozenset({404}), frozenset({422})
_SEARCH, _FEEDBACK, _RANK = "/v1/tools/search", "/v1/tools/feedback", "/v1/rescore"
_TOOLS = {
    "open": ("open_door", "close_window", "ring_bell"),
    "acme": ("open_vault", f"open_{SECRET}_cellar"),
}
CONTROLS = (
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x00",
    "\r\n",
    "\x08" * 9,
    "\u202e",
    "\u2066",
    "\ufeff",
    "\x9b31m",
    "\x7f",
)
SPELLINGS = [
    f"{before}ann{behind}"
    for before, behind in itertools.product(
        ("", " ", "\t", "\u200b", "\u0410"), ("", " ", "\u0301", "/", "\x00")
    )
]


@contextmanager
def two_tenants(folder: Path, deadline: float) -> Iterator[tuple[Served, dict[str, str]]]:
    """A service over the catalog of both, and the ids that the cases are made of."""
    catalog = f"sqlite:{folder / 'catalog.db'}"
    ids = _ingested(catalog, folder)
    keys = folder / "keys.toml"
    keys.write_text(
        write_issuers(folder)
        + "".join(
            f"[[keys]]\nname = '{name}'\ntenant = '{name}'\n"
            f"sha256 = '{hashlib.sha256(name.encode()).hexdigest()}'\n"
            for name in ("acme", "other")
        )
    )
    os.environ |= {"KITPICK_CATALOG": catalog, "KITPICK_EMBEDDING_CACHE": str(folder / "embeddings.db")}
    settings = (f"deadline_seconds={deadline}", "log_level=error")
    with serving(settings, ("--tools", "--keys", str(keys))) as served:
        ids |= {f"answer of {name}": _answer(served.url, name) for name in ("acme", "other")}
        yield served, ids


def identity_cases(ids: dict[str, str]) -> Iterator[Case]:
    """Every case, sent with the key of tenant `other`."""
    yield from _ids_of_others(ids)
    yield from _claims(ids)
    yield from _names(ids)
    yield from _lengths()
    yield from _keys()


def _ids_of_others(ids: dict[str, str]) -> Iterator[Case]:
    """Feedback about each answer on each API: only its own answers, words, and visible APIs count."""
    about = {
        "own answer": (ids["answer of other"], INVALID),
        "answer of acme": (ids["answer of acme"], NOT_FOUND),
        "guessed answer": (f"answer-{'0' * 24}", NOT_FOUND),
        "words": ("open the door", INVALID),
    }
    apis = {
        "hidden": ids["vault"],
        "nearly hidden": ids["vault"][:-1],
        "nobody's": "no/such/api",
        "empty": "",
        "half a character": "\ud800",
        "long": "x" * 50_000,
    }
    for (name, (answer, right)), (kind, api) in itertools.product(about.items(), apis.items()):
        for verdict in ("chosen", "failed", "notNeeded"):
            mixed = {"chosen": [ids["door"]], verdict: [*([ids["door"]] if verdict == "chosen" else []), api]}
            yield _case(f"feedback on {name}: {verdict} {kind}", _FEEDBACK, right, answer=answer, **mixed)


def _claims(ids: dict[str, str]) -> Iterator[Case]:
    """Identities as fields of a body, and narrowing to what is another's."""
    good: dict[str, dict[str, Any]] = {
        _SEARCH: {"query": "open the vault"},
        _FEEDBACK: {"answer": "open the door", "chosen": [ids["door"]]},
    }
    for path, call in good.items():
        for field in ("tenant", "principals", "caller", "key", "filter", "permitted"):
            yield _case(f"{path}: claims {field}", path, INVALID, **call, **{field: "acme"})
    tool = ids["vault"].rpartition("/")[0]
    for field, value in {"tools": tool, "categories": tool.partition("/")[0]}.items():
        for k in (1, 5, 100):
            yield _case(
                f"search narrowed to {field} of acme, k {k}",
                _SEARCH,
                DONE,
                query="open",
                k=k,
                **{field: [value]},
            )
    for wanted in (ids["vault"], "open_vault", f"`{ids['vault']}`", "vault", "cellar"):
        for shape in (
            {"query": wanted},
            {"capabilities": [wanted]},
            {"messages": [{"role": "user", "content": wanted}]},
        ):
            yield _case(f"search for {wanted[:20]} by {next(iter(shape))}", _SEARCH, DONE, **shape)


def _names(ids: dict[str, str]) -> Iterator[Case]:
    """Clients are free text, and so are requests: spellings, and what a terminal obeys."""
    call = {"answer": "open the door", "chosen": [ids["door"]]}
    for number, name in enumerate(SPELLINGS):
        yield _case(f"client spelling {number}", _FEEDBACK, DONE, **call, client=name)
    for number, sign in enumerate(CONTROLS):
        yield _case(f"control {number} in a client", _FEEDBACK, DONE, **call, client=f"a{sign}b")
        yield _case(f"control {number} in a request", _SEARCH, DONE, query=f"open {sign} the door")
        yield _case(f"control {number} in an id", _FEEDBACK, INVALID, answer="open", chosen=[f"a{sign}b"])


def _lengths() -> Iterator[Case]:
    """Texts at and beyond every bound at which something is cut or refused."""
    texts = {
        "words": "open the door ",
        "one word": "x",
        "emoji": "🚪",
        "CJK": "開",
        "marks": "a\u0301",
        "lines": "a\n",
    }
    for name, text in texts.items():
        for length in (63, 126, 255, 2_001, 19_999, 20_000, 20_001, 400_000):
            cut = (text * (length // len(text) + 1))[:length]
            right = INVALID if length > 20_000 else DONE | BUSY
            yield _case(f"search of {length} characters: {name}", _SEARCH, right, query=cut)


def _keys() -> Iterator[Case]:
    """Keys in headers of another case, twice, cut, or of another scheme."""
    body = json.dumps({"query": "open the door"}).encode()
    for name in ("authorization", "Authorization", "AUTHORIZATION", "aUtHoRiZaTiOn"):
        for value, right in {
            "Bearer other": DONE,
            "bearer other": DONE | {401},
            "Bearer othe": {401},
            "Bearer other acme": {401},
            "Bearer": {401},
            "Basic b3RoZXI6": {401},
            "other": {401},
        }.items():
            yield Case(f"{name}: {value}", _SEARCH, body, frozenset(right), {name: value})


def _case(group: str, path: str, right: frozenset[int], **fields: object) -> Case:
    return Case(
        f"tenants: {group}", path, json.dumps(fields).encode(), right, {"authorization": "Bearer other"}
    )


def _ingested(catalog: str, folder: Path) -> dict[str, str]:
    with Catalog.open(catalog) as opened:
        for tenant, names in _TOOLS.items():
            file = folder / f"{tenant}.json"
            file.write_text(json.dumps([_function(name) for name in names]))
            opened.ingest(open_source(f"functions:{file}", tenant=tenant if tenant == "acme" else ""))
        seen = {document.api: document.id for document in opened.documents(Filter(tenant="acme"))}
    return {"vault": seen["open_vault"], "door": seen["open_door"]}


def _function(name: str) -> dict[str, Any]:
    said = SECRET if "vault" in name else "in the house"
    return {"name": name, "description": f"{name.replace('_', ' ')}: {said}", "parameters": {}}


def _answer(url: str, key: str) -> str:
    headers = {"authorization": f"Bearer {key}"}
    found = httpx2.post(url + _SEARCH, json={"query": "ring the bell"}, headers=headers, timeout=60)
    return str(found.json()["answer"])
