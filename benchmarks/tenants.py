"""Many tenants in one catalog against a catalog for each: bytes, files and shards, which no load changes.

Every tenant has `--apis` APIs of its own, all of different words, with vectors of 384 dimensions drawn at
random. In SQLite it counts files and bytes. `--server opensearch://HOST:PORT` does the same there, where each
catalog's index has one shard and no copy, and counts these shards and the bytes of their segments, merged
into one each; the hidden index that says which one is live is not counted. What it made there
(`bench-tenants-…`) is removed again.

`--tenants N`, `--apis N`. Prints a table and, last, one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine

SCHEMA = IndexSchema("random", 384, 1)


class Held(NamedTuple):
    """What the catalogs of one way hold."""

    parts: int
    """Files, or shards."""
    size: int
    """Bytes."""


def main() -> None:
    """Fills both ways and counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tenants", type=int, default=1_000)
    parser.add_argument("--apis", type=int, default=20)
    parser.add_argument("--server", default="")
    options = parser.parse_args()
    tenants = [list(documents(tenant, options.apis)) for tenant in range(options.tenants)]
    count = in_server if options.server else in_sqlite
    together = count(options.server, [[each for tenant in tenants for each in tenant]])
    apart = count(options.server, tenants)
    show(together, apart, "shards" if options.server else "files")


def documents(tenant: int, apis: int) -> Iterator[IndexedDocument]:
    """The APIs of one tenant."""
    random = np.random.default_rng(tenant)
    for number in range(apis):
        words = " ".join(f"word{each}" for each in random.integers(5_000, size=30))
        name = f"tenant{tenant}/tool/api{number}"
        document = ApiDocument(
            id=name, source="made", category="made", tool="tool", api=f"api{number}",
            description=words, tenant=f"tenant{tenant}",
        )  # fmt: skip
        yield IndexedDocument(document, random.standard_normal(SCHEMA.dimensions).astype(np.float32))


def in_sqlite(_: str, catalogs: Sequence[Sequence[IndexedDocument]]) -> Held:
    """Files of these catalogs, and their bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for number, items in enumerate(catalogs):
            fill(f"sqlite:{folder}/{number}.db", items)
        files = [each for each in Path(folder).rglob("*") if each.is_file()]
        return Held(len(files), sum(each.stat().st_size for each in files))


def fill(url: str, items: Sequence[IndexedDocument]) -> None:
    """A catalog of these documents."""
    with closing(open_engine(url)) as engine, engine.writing(engine.ensure(SCHEMA)) as writer:
        writer.write(items)


def in_server(server: str, catalogs: Sequence[Sequence[IndexedDocument]]) -> Held:
    """Shards of the indexes of these catalogs, and the bytes of their segments."""
    for number, items in enumerate(catalogs):
        fill(f"{server}/bench-tenants-{number}?shards=1&replicas=0", items)
    with closing(open_engine(f"{server}/bench-tenants-0")) as engine:
        assert isinstance(engine, RemoteEngine)
        ask = engine.server.call
        ask("POST", "/bench-tenants-*/_forcemerge?max_num_segments=1&flush=true")
        ask("POST", "/bench-tenants-*/_refresh")
        total = ask("GET", "/bench-tenants-*/_stats/store")
        found = Held(total["_shards"]["successful"], total["_all"]["primaries"]["store"]["size_in_bytes"])
        ask("DELETE", "/bench-tenants-*?expand_wildcards=all")
        return found


def show(together: Held, apart: Held, parts: str) -> None:
    """Both ways beside each other."""
    table = Table("way", parts, "bytes")
    table.add_row("one catalog", f"{together.parts:,}", f"{together.size:,}")
    table.add_row("a catalog for each", f"{apart.parts:,}", f"{apart.size:,}")
    Console().print(table)
    print(
        json.dumps(
            {
                f"{parts}_together": together.parts,
                f"{parts}_apart": apart.parts,
                "bytes_together": together.size,
                "bytes_apart": apart.size,
            }
        )
    )


if __name__ == "__main__":
    main()
