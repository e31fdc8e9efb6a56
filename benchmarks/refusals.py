"""What the default refuses of requests for MCP servers that took part in nothing; makes `held_out.json`.

    scripts/bench refusals record FILE --servers 8,222     asks the requests; a second run goes on
    scripts/bench refusals record FILE --sets music,functions,models,metatool,toollens
    scripts/bench refusals table FILE                      what thresholds refuse and catch
    scripts/bench refusals write FILE                      kitpick/adaptation/held_out.json

Requests are one answerable of each server of `datasets/written-mcp.jsonl` and one of
`graded/near-misses-mcp.jsonl`. Servers are drawn into catalogs of so many. Sets of the battery (split
`validation`, `test` for those that hold out requests) are asked with the right tools there and hidden. Every
request is asked with 16 pairs read and with 12.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from battery.__main__ import CACHE, DATA, ROOT
from battery.sets import BatteryRequest, BatterySet, DataFolders, read_set
from battery.stores import LogitFile
from battery.systems import LoadedModels, SetSystem, open_set
from msgspec.structs import replace

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import auc, confident_threshold, decided_alone, most_refused, threshold_for
from kitpick_evaluation.calibration import calibration_error
from kitpick_ingest.chains import with_chains
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.progress import NullProgress
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Abstain, CrossEncode, Learned
from kitpick_training.data.operations import read_toucan

HELD_OUT = ROOT / "kitpick" / "adaptation" / "held_out.json"
READ = (16, 12)
KNOWN_BELOW = 0.02
"""Threshold of `abstain` in the default: what it rules out is known."""
_DRAWS = {"w": "r", "n": "n"}
Row = dict[str, Any]


def main() -> int:
    """Runs one of the commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["record", "table", "write"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--servers", default="", help="servers a catalog")
    parser.add_argument("--sets", default="")
    parser.add_argument("--limit", type=int, default=60)
    given = parser.parse_args()
    if given.command == "record":
        record(given)
    else:
        rows = read_rows(given.file)
        table(rows) if given.command == "table" else write(rows)
    return 0


def read_rows(file: Path) -> list[Row]:
    """The lines of a recording, none if there is no file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def record(given: argparse.Namespace) -> None:
    """Asks what the file does not have yet."""
    cache, logits = EmbeddingCache(CACHE / "vectors.db"), LogitFile(CACHE / "logits.db")
    models = LoadedModels(
        "shipped", load_encoder(), load_cross_encoder(), load_query_kind(), load_list_ranker()
    )
    models = models.remembering(cache, logits)
    known = {(row["class"], row["id"]) for row in read_rows(given.file)}
    with given.file.open("a") as out:
        for kind, asked in [*servers_of(given.servers), *sets_of(given.sets, given.limit)]:
            with open_set(asked, models, CACHE, cache, NullProgress()) as engine:
                system = SetSystem(asked, engine, models)
                for request in asked.requests:
                    if (kind, request.id) not in known:
                        out.write(json.dumps({"class": kind, **row_of(system, request)}) + "\n")
                        out.flush()


def row_of(system: SetSystem, request: BatteryRequest) -> Row:
    """What is said of a request, and where its tools are not the whole catalog, with these hidden."""
    base = load_profile("kitpick")
    asked = system.asked(request.text, base.first_stage.size_for(5))
    profiles = {str(read): reading(base, read) for read in READ}
    row: Row = {
        "id": request.id,
        "apis": len(system.set.documents),
        "kind": "answerable" if request.relevant else "near",
        "a": {name: said(system, asked, profile, request) for name, profile in profiles.items()},
    }
    doing = system.doing(request)
    if doing and not request.id.startswith("w") and {each.tool_key for each in system.set.documents} - doing:
        row["hidden"] = {
            name: said(system, asked, profile, request, doing) for name, profile in profiles.items()
        }
    return row


def reading(profile: Profile, pairs: int) -> Profile:
    """The profile with so many pairs read, and nothing below the list ranker's threshold."""
    stages = (
        replace(stage, candidates=pairs)
        if isinstance(stage, CrossEncode)
        else replace(stage, threshold=0.0)
        if isinstance(stage, Learned)
        else stage
        for stage in profile.stages
    )
    return replace(profile, stages=tuple(stages))


def said(
    system: SetSystem,
    asked: RescoreRequest,
    profile: Profile,
    request: BatteryRequest,
    hidden: Set[str] = frozenset(),
) -> Row:
    """The verdict on a list, and the first five."""
    answer = system.ranked(asked, profile, hidden)
    hits = [hit for hit in answer.results if hit.id not in request.also][:5]
    return {
        "p": float(not answer.abstained) if answer.answerable is None else answer.answerable,
        "out": answer.abstained,
        "conf": max((hit.probability or 0.0 for hit in answer.results), default=0.0),
        "hits": [[hit.probability or 0.0, int(hit.id in request.relevant)] for hit in hits],
    }


def servers_of(sizes: str) -> Iterator[tuple[str, BatterySet]]:
    """Catalogs of so many servers, every server in one of each size."""
    documents: defaultdict[str, list[ApiDocument]] = defaultdict(list)
    for document in read_toucan(DATA / "toucan" / "servers.jsonl.gz", "mcp"):
        documents[document.tool].append(document)
    asked = first_of_each(ROOT / "datasets" / "written-mcp.jsonl", "w")
    near = first_of_each(ROOT / "datasets" / "graded" / "near-misses-mcp.jsonl", "n")
    order = sorted(asked, key=lambda server: digest("order", server))
    for size in filter(None, sizes.split(",")):
        count = max(1, len(order) // int(size))
        for number in range(count):
            group = order[number::count]
            requests = [answerable(*asked[server], documents, group) for server in group]
            requests += [
                BatteryRequest(id_, line["request"], frozenset())
                for id_, line in (near[server] for server in group if server in near)
                if not {*group} & {*line["twins"]}
            ]
            held = tuple(with_chains(each) for server in group for each in documents[server])
            yield f"mcp{size}", BatterySet(f"mcp{size}-{number}", None, held, tuple(requests), "mcp")


def answerable(
    id_: str, line: Row, documents: Mapping[str, Sequence[ApiDocument]], group: Sequence[str]
) -> BatteryRequest:
    """A request; what twins in the same catalog offer is neither right nor wrong."""
    ids = {document.api: document.id for document in documents[line["server"]]}
    right = frozenset(ids[name] for name in line["relevant"])
    also = {ids[name] for name in line["also"]}
    twins = {each.id for twin in line["twins"] if twin in group for each in documents[twin]}
    return BatteryRequest(id_, line["request"], right, frozenset(also | twins) - right)


def first_of_each(file: Path, letter: str) -> dict[str, tuple[str, Row]]:
    """Server → id and line of one of its requests, drawn by digest."""
    found: dict[str, tuple[str, Row]] = {}
    lines = [(f"{letter}{number}", json.loads(line)) for number, line in enumerate(file.open())]
    for id_, line in sorted(lines, key=lambda each: digest(_DRAWS[letter], each[0])):
        found.setdefault(line["server"], (id_, line))
    return found


def digest(*parts: str) -> str:
    """A draw."""
    return blake2b("/".join(parts).encode(), digest_size=8).hexdigest()


def sets_of(names: str, limit: int) -> Iterator[tuple[str, BatterySet]]:
    """Sets of the battery."""
    folders = DataFolders(DATA, (DATA / "written", ROOT / "datasets" / "written"))
    for name in filter(None, names.split(",")):
        split = "test" if name in {"metatool", "bfcl", "sealtools"} else "validation"
        yield name, read_set(name, folders, split).sample(limit, 7)


def table(rows: Iterable[Row]) -> None:
    """A line for each class and number of pairs."""
    by_class: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_class[row["class"]].append(row)
    usual = load_list_ranker().threshold
    bound = confident_threshold([row["a"]["16"]["p"] for row in mcp_of(by_class["mcp8"])], 0.05)
    mean = threshold_for([row["a"]["16"]["p"] for row in mcp_of(by_class["mcp8"])], 0.05)
    print(f"thresholds: of the ranker {usual:.4f}, confident {bound:.4f}, in the mean {mean:.4f}")
    for name, found in by_class.items():
        for read in map(str, READ):
            good = [row["a"][read] for row in found if row["kind"] == "answerable"]
            bad = [row["a"][read] for row in found if row["kind"] == "near"]
            bad += [row["hidden"][read] for row in found if "hidden" in row]
            print(line_of(f"{name}, {read} read", good, bad, (usual, bound, mean)))


def line_of(name: str, good: Sequence[Row], bad: Sequence[Row], thresholds: Sequence[float]) -> str:
    """Numbers of requests; refused and caught by the default and by the ranker alone; area; errors."""
    cells = [name, f"{len(good)}/{len(bad)}", rates(good, bad, thresholds[0], ruled=True)]
    cells += [rates(good, bad, each, ruled=False) for each in thresholds]
    if bad:
        with_rule = auc([seen(each) for each in good], [seen(each) for each in bad])
        cells.append(f"{auc([each['p'] for each in good], [each['p'] for each in bad]):.3f}, {with_rule:.3f}")
    pairs = [(sure, bool(right)) for each in good for sure, right in each["hits"]]
    first = [(each["hits"][0][0], bool(each["hits"][0][1])) for each in good if each["hits"]]
    shares = f"{np.mean([sure for sure, _ in first]):.2f} {np.mean([right for _, right in first]):.2f}"
    return " | ".join([*cells, shares, f"{calibration_error(pairs):.3f}, {calibration_error(first):.3f}"])


def seen(said_: Row) -> float:
    """The verdict with what the cross-encoder rules out at the bottom."""
    return 0.0 if said_["out"] else float(said_["p"])


def rates(good: Sequence[Row], bad: Sequence[Row], threshold: float, *, ruled: bool) -> str:
    """Shares refused of what can be answered, with the bound on it, and of what cannot."""
    refused = sum((ruled and each["out"]) or each["p"] < threshold for each in good)
    caught = sum((ruled and each["out"]) or each["p"] < threshold for each in bad) / max(len(bad), 1)
    worst = most_refused(refused, len(good))
    return f"{refused / len(good):.3f} ({worst:.3f}), {caught:.2f}" if bad else f"{refused / len(good):.3f}"


def mcp_of(rows: Iterable[Row]) -> list[Row]:
    """One answerable request of each server."""
    ids = {id_ for id_, _ in first_of_each(ROOT / "datasets" / "written-mcp.jsonl", "w").values()}
    return [row for row in rows if row["id"] in ids and row["kind"] == "answerable"]


def write(rows: Sequence[Row]) -> None:
    """The answerable requests of servers as the product reads them."""
    profile = load_profile("kitpick")
    assert next(each.threshold for each in profile.stages if isinstance(each, Abstain)) == KNOWN_BELOW
    assert decided_alone(profile, 0.0) != profile
    found = []
    for name in sorted({row["class"] for row in rows if row["class"].startswith("mcp")}):
        own = mcp_of(row for row in rows if row["class"] == name)
        apis = int(np.median([row["apis"] for row in own]))
        said_ = sorted(pair_of(row["a"]["16"]) for row in own)
        found.append({
            "ranker": load_list_ranker().identity,
            "of": f"one request each of {len(own)} MCP servers, in catalogs of about {apis:,} tools",
            "apis": apis,
            "answerable": [answerable for answerable, _ in said_],
            "best": [best for _, best in said_],
            "known_below": KNOWN_BELOW,
        })  # fmt: skip
    HELD_OUT.write_text(json.dumps(found) + "\n", "utf-8")


def pair_of(said_: Row) -> tuple[float, float]:
    """What the list ranker says, and the cross-encoder where it rules out everything."""
    return round(said_["p"], 5), round(said_["conf"], 5) if said_["out"] else 1.0


if __name__ == "__main__":
    sys.exit(main())
