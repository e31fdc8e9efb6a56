"""What the default refuses of requests for MCP servers that took part in nothing; makes `held_out.json`.

    scripts/bench refusals record FILE --servers 8,222     asks the requests; a second run goes on
    scripts/bench refusals record FILE --sets music,functions,models,metatool,toollens
    scripts/bench refusals record FILE --far 8             what no server of a catalog does
    scripts/bench refusals table FILE                      what thresholds refuse and catch
    scripts/bench refusals write FILE                      kitpick/adaptation/held_out.json

Requests are one answerable of each server of `datasets/written-mcp.jsonl` and one of
`graded/near-misses-mcp.jsonl`. Servers are drawn into catalogs of so many. Sets of the battery (split
`validation`, `test` for those that hold out requests) are asked with the right tools there and hidden. Far
requests are those for servers of another catalog (class `elsewhere`; some of them may be served here all the
same) and `nothing_to_do.txt` (class `nothing`), each asked of three catalogs. Every request is asked with 16
pairs read and with 12.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from battery.__main__ import CACHE
from battery.sets import BatteryRequest, BatterySet, DataFolders, read_set
from battery.stores import LogitFile
from battery.systems import LoadedModels, SetSystem, open_set
from msgspec.structs import replace
from shared_data import DATA, DATASETS, ROOT

from kitpick.result import UNLIKELY
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import auc, confident_threshold, most_refused, threshold_for
from kitpick_ingest.chains import with_chains
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.progress import NullProgress
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Abstain, CrossEncode, Learned, Stage
from kitpick_training.calibration import calibration_error
from kitpick_training.data.operations import read_toucan

HELD_OUT = ROOT / "kitpick" / "adaptation" / "held_out.json"
READ = (16, 12)
DEFAULT = "12"
KNOWN_BELOW = 0.02
"""Threshold of `abstain` in front of the list ranker, as the default had it until 2026-11-29."""
NOTHING = ROOT / "benchmarks" / "nothing_to_do.txt"
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
    parser.add_argument("--far", default="", help="servers a catalog")
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
        for kind, asked in [
            *servers_of(given.servers),
            *sets_of(given.sets, given.limit),
            *far_of(given.far),
        ]:
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
    """The profile with so many pairs read, and nothing below the list ranker's threshold.

    What the cross-encoder rules out is known below `KNOWN_BELOW`, whatever the profile makes of it.
    """
    stages: list[Stage] = []
    for stage in profile.stages:
        if isinstance(stage, CrossEncode):
            stages.append(replace(stage, candidates=pairs))
        elif isinstance(stage, Learned):
            stages += [Abstain(threshold=KNOWN_BELOW), replace(stage, threshold=0.0)]
        elif not isinstance(stage, Abstain):
            stages.append(stage)
    return replace(profile, stages=tuple(stages))


def overruling(profile: Profile) -> Profile:
    """The profile with the list ranker's word in place of an `abstain` before it."""
    stages = (replace(each, overrules=True) if isinstance(each, Learned) else each for each in profile.stages)
    return replace(profile, stages=tuple(stages))


def said(
    system: SetSystem,
    asked: RescoreRequest,
    profile: Profile,
    request: BatteryRequest,
    hidden: Set[str] = frozenset(),
) -> Row:
    """The verdict on a list, the first five, and the surest by the list ranker alone."""
    answer = system.ranked(asked, profile, hidden)
    alone = system.ranked(asked, overruling(profile), hidden) if answer.abstained else answer
    hits = [hit for hit in answer.results if hit.id not in request.also][:5]
    return {
        "p": float(not answer.abstained) if answer.answerable is None else answer.answerable,
        "out": answer.abstained,
        "conf": max((hit.probability or 0.0 for hit in answer.results), default=0.0),
        "best": max((hit.probability or 0.0 for hit in alone.results), default=0.0),
        "hits": [[hit.probability or 0.0, int(hit.id in request.relevant)] for hit in hits],
    }


def servers_of(sizes: str) -> Iterator[tuple[str, BatterySet]]:
    """Catalogs of so many servers, every server in one of each size."""
    documents: defaultdict[str, list[ApiDocument]] = defaultdict(list)
    for document in read_toucan(DATA / "toucan" / "servers.jsonl.gz", "mcp"):
        documents[document.tool].append(document)
    asked = _asked()
    near = first_of_each(DATASETS / "graded" / "near-misses-mcp.jsonl", "n")
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


def far_of(sizes: str) -> Iterator[tuple[str, BatterySet]]:
    """The same catalogs, asked for what another one serves, and for what none does."""
    catalogs = [each for _, each in servers_of(sizes)]
    nothing = NOTHING.read_text("utf-8").splitlines()
    for number, here in enumerate(catalogs):
        other = catalogs[(number + 1) % len(catalogs)]
        tools = {each.tool for each in here.documents}
        elsewhere = [
            BatteryRequest(f"e{each.id}", each.text, frozenset())
            for each in other.requests
            if each.relevant and not tools & twins_of(each.id)
        ]
        drawn = [
            BatteryRequest(f"f{place}-{number}", text, frozenset())
            for place, text in enumerate(nothing)
            if (number - place) % len(catalogs) in {0, 9, 18}
        ]
        yield "elsewhere", replace(here, requests=tuple(elsewhere))
        yield "nothing", replace(here, requests=tuple(drawn))


def twins_of(id_: str) -> set[str]:
    """Servers that offer what the one of a request offers."""
    return {*next(line["twins"] for known, line in _asked().values() if known == id_)}


@cache
def _asked() -> dict[str, tuple[str, Row]]:
    return first_of_each(DATASETS / "written-mcp.jsonl", "w")


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
    folders = DataFolders(DATA, (DATA / "written", DATASETS / "written"))
    for name in filter(None, names.split(",")):
        split = "test" if name in {"metatool", "bfcl", "sealtools"} else "validation"
        yield name, read_set(name, folders, split).sample(limit, 7)


def table(rows: Iterable[Row]) -> None:
    """A line for each class and number of pairs."""
    by_class: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_class[row["class"]].append(row)
    usual = load_list_ranker().threshold
    bound = confident_threshold([row["a"][DEFAULT]["p"] for row in mcp_of(by_class["mcp8"])], 0.05)
    mean = threshold_for([row["a"][DEFAULT]["p"] for row in mcp_of(by_class["mcp8"])], 0.05)
    print(f"thresholds: of the ranker {usual:.4f}, confident {bound:.4f}, in the mean {mean:.4f}")
    for name, found in by_class.items():
        for read in map(str, READ):
            good = [row["a"][read] for row in found if row["kind"] == "answerable"]
            if not good:  # of far requests: beside the answerable ones of the same catalogs
                good = [row["a"][read] for row in mcp_of(by_class["mcp8"])]
            bad = [row["a"][read] for row in found if row["kind"] == "near"]
            bad += [row["hidden"][read] for row in found if "hidden" in row]
            print(line_of(f"{name}, {read} read", good, bad, (usual, bound, mean)))


def line_of(name: str, good: Sequence[Row], bad: Sequence[Row], thresholds: Sequence[float]) -> str:
    """Requests; refused and caught by both stages and by the ranker alone; called unlikely; area; errors."""
    cells = [name, f"{len(good)}/{len(bad)}", rates(good, bad, thresholds[0], ruled=True)]
    cells += [rates(good, bad, each, ruled=False) for each in thresholds]
    cells.append(" ".join(f"{unlikely(each):.2f}" for each in (good, bad) if each))
    if bad:
        with_rule = auc([seen(each) for each in good], [seen(each) for each in bad])
        cells.append(f"{auc([each['p'] for each in good], [each['p'] for each in bad]):.3f}, {with_rule:.3f}")
    pairs = [(sure, bool(right)) for each in good for sure, right in each["hits"]]
    first = [(each["hits"][0][0], bool(each["hits"][0][1])) for each in good if each["hits"]]
    shares = f"{np.mean([sure for sure, _ in first]):.2f} {np.mean([right for _, right in first]):.2f}"
    return " | ".join([*cells, shares, f"{calibration_error(pairs):.3f}, {calibration_error(first):.3f}"])


def unlikely(said_: Sequence[Row]) -> float:
    """Share of answers whose surest hit is hardly ever right, or that the list ranker refuses."""
    usual = load_list_ranker().threshold
    return float(np.mean([each.get("best", each["conf"]) < UNLIKELY or each["p"] < usual for each in said_]))


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
    ids = {id_ for id_, _ in first_of_each(DATASETS / "written-mcp.jsonl", "w").values()}
    return [row for row in rows if row["id"] in ids and row["kind"] == "answerable"]


def write(rows: Sequence[Row]) -> None:
    """The answerable requests of servers as the product reads them."""
    read = next(each.candidates for each in load_profile("kitpick").stages if isinstance(each, CrossEncode))
    assert str(read) == DEFAULT
    found = []
    for name in sorted({row["class"] for row in rows if row["class"].startswith("mcp")}):
        own = mcp_of(row for row in rows if row["class"] == name)
        apis = int(np.median([row["apis"] for row in own]))
        said_ = sorted(pair_of(row["a"][DEFAULT]) for row in own)
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
