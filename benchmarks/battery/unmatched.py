"""When a sentence matches nothing: cosines with the nearest API, where its tool is there and where it is not.

    PYTHONPATH=benchmarks python -m battery.unmatched --data ../shared/data

The threshold in the encoder's manifest is chosen here: at most a twentieth of sentences with a verb of asking
may be named although their tool is in the catalog. A catalog without the tool still has similar ones, so few
of these are caught; sentences of another world are, the more the smaller the catalog.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from shared_data import DATA, DATASETS

from battery.__main__ import CACHE
from battery.sets import BatteryRequest, BatterySet, DataFolders, read_set
from battery.systems import LoadedModels, open_set
from kitpick_engines.contract import Engine, Filter
from kitpick_engines.sentences import sentences_of
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.progress import LineProgress
from kitpick_models.encoders import Encoder
from kitpick_models.runtime import load_encoder
from kitpick_rescorers.features import wanted_effects

ASKING = ("written", "written-mcp", "bfcl", "metatool")
ASKED = ("toollens", "metatool", "toollinkos", "toolbench", "written")
REQUESTS = 300
SEED = 3
_NEAR = 400
"""So many APIs lie nearer than the first one of another tool, at most."""


class Parts(msgspec.Struct, frozen=True):
    """Sentences with a verb of asking, each with its request; a request of one sentence is one."""

    requests: list[BatteryRequest]
    vectors: NDArray[np.float32]
    """Float32 (sentences, d)."""


def main() -> int:
    """Prints a line for each pair of a catalog and requests, and last a JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=CACHE)
    given = parser.parse_args()
    folders = DataFolders(given.data, (given.data / "written", DATASETS / "written"))
    encoder = load_encoder()
    least = encoder.unmatched_below
    if least is None:
        print("error: the encoder's manifest has no threshold `unmatched`", file=sys.stderr)
        return 1
    sets = {name: read_set(name, folders, "validation") for name in {*ASKING, *ASKED}}
    parts = {name: parts_of(sets[name].sample(REQUESTS, SEED), encoder) for name in ASKING}
    cache = EmbeddingCache(given.cache / "vectors.db")
    wrong: dict[str, float] = {}
    caught: dict[str, float] = {}
    for name in sorted(sets):
        models = LoadedModels("shipped", encoder, None, None)
        with open_set(sets[name], models, given.cache, cache, LineProgress()) as engine:
            if name in ASKING:
                own, hidden = own_cosines(sets[name], parts[name], engine)
                wrong[name] = float((own < least).mean())
                caught[f"{name}, its tool hidden"] = float((hidden < least).mean())
            for other in set(ASKING) - {name} if name in ASKED else ():
                cosines = np.array([_nearest(engine, vector, 1)[0][0] for vector in parts[other].vectors])
                caught[f"{name} asked {other}"] = float((cosines < least).mean())
    cache.close()
    for what, share in sorted(caught.items()):
        print(f"{what:40} named {share:.2f}")
    print(json.dumps({"threshold": least, "named_wrongly": wrong, "named_rightly": caught}))
    return 0


def parts_of(of: BatterySet, encoder: Encoder) -> Parts:
    """The sentences of a set's requests that ask for something."""
    found = [
        (request, text)
        for request in of.requests
        for text in sentences_of(request.text) or (request.text,)
        if wanted_effects(text)
    ]
    return Parts([request for request, _ in found], encoder.encode([text for _, text in found]))


def own_cosines(of: BatterySet, parts: Parts, engine: Engine) -> tuple[NDArray[np.float64], ...]:
    """Cosines with the nearest API of the own catalog, and of the same without the tools that do the job."""
    tools = {document.id: document.tool_key for document in of.documents}
    pairs = list(_own_pairs(parts, tools, engine))
    return tuple(np.array(column) for column in zip(*pairs, strict=True))


def _own_pairs(parts: Parts, tools: dict[str, str], engine: Engine) -> Iterator[tuple[float, float]]:
    for request, vector in zip(parts.requests, parts.vectors, strict=True):
        near = _nearest(engine, vector, _NEAR)
        doing = {tools[id_] for id_ in request.relevant | request.also}
        yield near[0][0], next((cosine for cosine, tool in near if tool not in doing), -1.0)


def _nearest(engine: Engine, vector: NDArray[np.float32], count: int) -> Sequence[tuple[float, str]]:
    """Cosine and tool of the nearest APIs, nearest first."""
    found = engine.neighbours(vector, count, Filter())
    return sorted(((float(each.vector @ vector), each.tool_key) for each in found), reverse=True)


if __name__ == "__main__":
    sys.exit(main())
