"""How often two of five hits say the same: MCP servers of a registry are published many times.

Catalog: all servers of some categories of Toucan's registry (`--labels`, default eight with 173 servers),
asked the requests of `datasets/written-mcp.jsonl` for them. A copy has name and description of a hit before
it, a near one is what `kitpick lint` calls a near-duplicate; both in another tool. `recall@5_united` is what
the first five hits hold once copies and near ones give their places to what follows.

`--profile NAME` and `--limit N` requests.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.health.duplicates import WordWeights, distinguishable, say_the_same
from kitpick_training.data.operations import copies, read_toucan
from kitpick_training.data.records import read_records

ROOT = Path(__file__).resolve().parents[1]
TOUCAN = ROOT.parent / "shared" / "data" / "toucan" / "servers.jsonl.gz"
LABELS = (
    "Weather,Health & Fitness,Travel & Maps,Time & Calendar,"
    "Project Management,News & Media,Gaming,Social Media"
)
Vectors = Mapping[str, NDArray[np.float32]]


class Registry:
    """Documents of a registry, as a source."""

    def __init__(self, documents: Sequence[ApiDocument]) -> None:
        self.name = "mcp"
        self._documents = documents

    def read(self) -> Iterator[ApiDocument]:
        """All of them."""
        yield from self._documents


def doubles(
    hits: Sequence[ApiDocument], same: Mapping[str, frozenset[str]], weights: WordWeights, vectors: Vectors
) -> dict[int, str]:
    """Positions of hits that say what a hit of another tool before them says: its "copy", or "near" it."""
    words = weights.vectors(hits)
    found: dict[int, str] = {}
    for later, one in enumerate(hits):
        for before, other in enumerate(hits[:later]):
            if one.tool_key == other.tool_key or later in found:
                continue
            alike = say_the_same(words[later] @ words[before], vectors[one.id] @ vectors[other.id])
            if one.id in same.get(other.id, frozenset()):
                found[later] = "copy"
            elif alike and not distinguishable(one, other):
                found[later] = "near"
    return found


def asked(servers: set[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Requests for these servers: the text, the server, the names of its tools that it needs."""
    for row in read_records(ROOT / "datasets" / "written-mcp.jsonl"):
        if row["server"] in servers:
            yield row["request"], row["server"], frozenset(row["relevant"])


def main() -> None:
    """Prints the figures as one line of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", default=LABELS)
    parser.add_argument("--profile", default="kitpick")
    parser.add_argument("--limit", type=int, default=1_000)
    arguments = parser.parse_args()
    labels = arguments.labels.split(",")
    documents = [each for each in read_toucan(TOUCAN, "mcp") if each.category in labels]
    requests = list(asked({each.tool for each in documents}))[: arguments.limit]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(catalog=f"sqlite:{folder}/registry.db")
        with Catalog.open(settings=settings) as catalog:
            catalog.ingest(Registry(documents), progress=progress())
            print(json.dumps({"apis": len(documents)} | figures(catalog, requests, arguments.profile)))


def figures(
    catalog: Catalog, requests: Sequence[tuple[str, str, frozenset[str]]], profile: str
) -> dict[str, float]:
    """Shares of requests with doubles among five hits, and recall before and after they are united."""
    index, _ = catalog.live()
    items = list(catalog.engine.documents(index))
    vectors = {item.document.id: np.asarray(item.vector, np.float32) for item in items}
    same, weights = copies(item.document for item in items), WordWeights(item.document for item in items)
    seen: Counter[str] = Counter()
    recalls = []
    for text, server, needed in requests:
        hits = [hit.document for hit in catalog.search(text, 10, profile=profile).hits]
        found = doubles(hits[:5], same, weights, vectors)
        seen.update({*found.values(), "any"} if found else ())
        seen["places"] += len(found)
        united = [hit for place, hit in enumerate(hits) if place not in found][:5]
        recalls.append(
            [
                len({hit.api for hit in some if hit.tool == server} & needed) / len(needed)
                for some in (hits[:5], [*hits[:5], *united])  # a hit answers for those that it stands for
            ]
        )
    before, after = np.mean(recalls, axis=0).tolist()
    shares = {f"with_{name}": seen[name] / len(requests) for name in ("copy", "near", "any")}
    return shares | {"places": seen["places"], "recall@5": before, "recall@5_united": after}


if __name__ == "__main__":
    main()
