"""What the stage `complete` adds where tools need one another: requests of several steps, and ToolLinkOS.

Steps: 500 requests over operations of AWS, Google and REST APIs whose identifiers must first be found
(`datasets/steps.jsonl`), in a catalog of all operations of the named tools. ToolLinkOS: functions of a phone
and a desktop, in three ways. *Declared*: with the dependencies that the functions themselves state, as the
published method has them (its gain: 71.7 % mAP@10). *Inputs*: with the declared ones that are of an input
alone; the others are what a phone must be able to do, such as being online. *Inferred*: from names and
descriptions. Rules were chosen on functions of half `a` by a digest of their names; `_b` is of requests for
the others.

Both with one profile, and with the same profile and `complete` at its end. The requests of several steps are
divided by a digest of their ids: rules were chosen on half `a`, half `b` was only measured.

Edges: links from an API to the one that gives what it needs, as `complete` infers them, each read and judged
(`datasets/chains/edges.jsonl`): how many of those that are still inferred are right. Within a tool 450, of
which the first 300 were looked at while the rules were mended; the other 150 (`fresh`) were drawn and judged
afterwards. `across`: links into another tool, for needs that nothing of the own tool gives, in the same way.

Ingest: processor time of reading botocore with needs and gives over that without, service by service in
turn, and the same with documents encoded and written to SQLite. Graph: bytes that needs and gives add to a
catalog of synthetic copies, per API. Battery: the default (or `--profile`) with `complete` against itself on
every set of the open battery (`--sets` for some), split `validation`, 150 requests of each unless `--limit`
says more; functions get needs and gives as ingest infers them. Vectors and logits come from the battery's
cache where it has them (`--cache`); no set is begun after `--minutes`. `abstain` is left out of both: it
changes no order, and is asked about other catalogs.

`--part NAME` (repeatable) takes only these, without it all but `battery`; `--limit N` so many requests of
each; `--profile bm25` needs no model; without one, all parts but `battery` take `hybrid`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple, cast
from unittest import mock

import numpy as np
from battery.__main__ import CACHE, LIMIT, Run, battery, parsed
from battery.toollinkos import read_toollinkos
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from shared_data import DATA, DATASETS, Listed, half_of

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.result import SearchResult
from kitpick.settings import Settings
from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument, document_id, encode_chains
from kitpick_ingest.chains import with_chains
from kitpick_ingest.declared import declared
from kitpick_ingest.progress import LineProgress
from kitpick_ingest.sources import botocore_models
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_rescorers import DEFAULT_PROFILE
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Abstain, Complete, Enough, Stage, Truncate
from kitpick_rescorers.stages.complete import Links
from kitpick_training.data.operations import full_lists
from kitpick_training.data.records import read_records
from kitpick_training.data.written import WrittenApi, read_apis

NAME = "chains"
DEPTH = 10
ALL = 10_000
"""More requests than any part has."""
USUAL = "hybrid"
"""The profile where none is named."""
PARTS = ("steps", "toollinkos", "edges", "ingest", "graph", "battery")
NEEDED = {"toollinkos": "toollinkos"}
"""Folder of research data that a part reads, where it is not that of OpenAPI."""
COPIES = 20_000
"""Documents of the part `graph`: what they add is the same for each, so more would say no more."""
LOSS = 0.5
"""Points of NDCG@5 or recall@5 that no set may lose."""
NAMES = ("recall@5", "recall@10", "complete@5", "complete@10", "main@5", "others@5", "map@10", "order")
GROUP = ("source", "provider", "service", "tool")
"""What says which tool an edge is of."""
Figures = dict[str, float]


class Request(NamedTuple):
    """A request, the operation it speaks of, and all it needs in an order that works, by id."""

    text: str
    main: str
    steps: tuple[str, ...]
    ordered: bool = True
    """Whether `steps` is an order, and not only a set."""


def main() -> None:
    """Prints a table a part and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--limit", type=int, default=0, help=f"default: all, in the part battery {LIMIT}")
    parser.add_argument(
        "--profile", default="", help=f"default: {USUAL}, in the part battery {DEFAULT_PROFILE}"
    )
    parser.add_argument("--sets", default="", help="of the part battery, with commas")
    parser.add_argument("--cache", type=Path, default=CACHE, help="of the battery: vectors and logits")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which the battery begins no set")
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile or USUAL)
    figures: Figures = {}
    for part in arguments.part or PARTS[:-1]:
        needed = arguments.data / NEEDED.get(part, "openapi")
        if not needed.is_dir():
            Console().print(f"{part} is skipped: {needed} is absent")
        elif part == "battery":
            chosen = load_profile(arguments.profile or DEFAULT_PROFILE)
            figures |= on_battery(battery_run(arguments, chosen), arguments.minutes)
        else:
            figures |= globals()[part](arguments.data, arguments.limit or ALL, profile)
    print(json.dumps(figures))


def steps(data: Path, limit: int, profile: Profile) -> Figures:
    """The requests of several steps."""
    rows = [json.loads(line) for line in (DATASETS / "steps.jsonl").read_text().splitlines()]
    named = _named_operations(rows, data)
    documents = full_lists(named.values(), data / "openapi" / "apis.jsonl.gz", NAME)
    ids = {key: api.operation.id_in(NAME) for key, api in named.items()}
    requests = [
        Request(row["request"], ids[row["main"]], tuple(ids[step] for step in row["steps"])) for row in rows
    ]
    halves = {half: [each for each, row in zip(requests, rows, strict=True) if half_of(row["id"]) == half]
              for half in "ab"}  # fmt: skip
    asked = [_some(each, limit // 2) for each in halves.values()]
    rows_before, rows_after = _both_rows(
        list(documents.values()),
        [each for half in asked for each in half],
        profile,
        "requests of several steps",
    )
    before, after = _means(rows_before), _means(rows_after)
    first = len(asked[0])
    gain = {
        half: round(_means(rows_after[part])["recall@5"] - _means(rows_before[part])["recall@5"], 2)
        for half, part in (("a", slice(0, first)), ("b", slice(first, None)))
    }
    return {
        "steps_recall5": before["recall@5"],
        "steps_recall5_gain": round(after["recall@5"] - before["recall@5"], 2),
        "steps_recall5_gain_a": gain["a"],
        "steps_recall5_gain_b": gain["b"],
        "steps_recall10_gain": round(after["recall@10"] - before["recall@10"], 2),
        "steps_order": after["order"],
    }


def _named_operations(rows: Iterable[Mapping[str, object]], data: Path) -> dict[str, WrittenApi]:
    """The operations that the requests name, by the ids of the file (see `datasets/README.md`)."""
    keys = {str(step) for row in rows for step in row["steps"]}  # type: ignore[attr-defined]
    found = {f"d:{api.id}": api for api in read_apis(DATASETS / "written")}
    if any(key.startswith("w:") for key in keys):
        found |= {f"w:{api.id}": api for api in read_apis(data / "written")}
    for record in read_records(data / "openapi" / "apis.jsonl.gz"):
        place = f"{record['provider']}|{record['service']}|{record['method']} {record['path']}"
        if (key := f"o:{place}") in keys:
            names = ("provider", "service", "tool", "api")
            found[key] = _written("openapi", *(record[name] for name in names))
    for service in sorted({key[2:].rpartition(".")[0] for key in keys if key.startswith("b:")}):
        for document in BotocoreSource([service]).read():
            if isinstance(document, ApiDocument):
                api = _written("botocore", "aws", service, document.tool, document.api)
                found[f"b:{service}.{document.api}"] = api
    return {key: found[key] for key in keys}


def _written(source: str, provider: str, service: str, tool: str, api: str) -> WrittenApi:
    return WrittenApi(0, source, "", provider, service, tool, api, "", "", "", ())


def edges(data: Path, limit: int, profile: Profile) -> Figures:
    """The judged edges that are still inferred; neither profile nor limit matters to them."""
    rows = [json.loads(line) for line in (DATASETS / "chains" / "edges.jsonl").read_text().splitlines()]
    kept = list(_inferred(rows, data))
    table = Table("judged edges", "inferred", "still inferred", "right", "of these, per cent")
    figures: Figures = {}
    for name, sample in SAMPLES:
        judged = [row for row in rows if row["sample"] in sample]
        held = [row for row in kept if row["sample"] in sample]
        right = sum(row["verdict"] == "right" for row in held)
        figures[f"edge_precision{name}"] = round(right / max(1, len(held)), 4)
        figures[f"edges{name}"] = len(held)
        row = (len(judged), len(held), right)
        table.add_row(name.strip("_") or "all", *map(str, row), f"{100 * right / max(1, len(held)):.1f}")
    Console().print(table)
    return figures


SAMPLES = (
    ("", ("first", "second")),
    ("_first", ("first",)),
    ("_fresh", ("second",)),
    ("_across", ("across",)),
    ("_across_fresh", ("across-second",)),
)
"""Names of figures, and the samples of judged edges that they are of."""


def _inferred(rows: Sequence[dict[str, str]], data: Path) -> Iterator[dict[str, str]]:
    """Those whose giver is the one that the taker's tool is found to have for the input."""
    named = {_group(row): _written(*_group(row), row["taker"]) for row in rows}
    named |= {_giving(row): _written(*_giving(row), row["giver"]) for row in rows}
    documents = full_lists(named.values(), data / "openapi" / "apis.jsonl.gz", NAME)
    tools: defaultdict[tuple[str, ...], dict[str, ApiDocument]] = defaultdict(dict)
    for operation, document in documents.items():
        tools[operation[:4]][document.api] = document
    for row in rows:
        apis, others = tools[_group(row)], tools[_giving(row)]
        known = {each.id: each for each in (*apis.values(), *others.values())}
        flows = Links(list(known.values())).into(apis[row["taker"]]) if row["taker"] in apis else ()
        giver = others.get(row["giver"])
        if any(flow.need.input == row["input"] and flow.giver is giver for flow in flows):
            yield row


def _group(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in GROUP)


def _giving(row: Mapping[str, str]) -> tuple[str, ...]:
    """The tool of the giver, the taker's where no other is named."""
    return tuple(row.get(f"giver_{name}", row[name]) for name in GROUP)


def ingest(data: Path, limit: int, profile: Profile) -> Figures:
    """Processor time of reading AWS operations with needs and gives and without, and of writing them too."""
    spent: defaultdict[tuple[str, bool], float] = defaultdict(float)
    known = botocore_models._new_loader().list_available_services("service-2")[:limit]
    for number, service in enumerate(known):
        for linking in (number % 2 == 0, number % 2 == 1):
            with mock.patch.object(botocore_models, "with_chains", with_chains if linking else _as_it_is):
                started = time.process_time()
                found = list(BotocoreSource([service]).read())
                read = time.process_time()
                _size_of([each for each in found if isinstance(each, ApiDocument)])
                spent["read", linking] += read - started
                spent["write", linking] += time.process_time() - started
    figures = {
        f"ingest_{what}_ratio": round(spent[what, True] / spent[what, False], 3) for what in ("read", "write")
    }
    Console().print(figures)
    return figures


def _as_it_is(document: ApiDocument, *_: object) -> ApiDocument:
    return document


def graph(data: Path, limit: int, profile: Profile) -> Figures:
    """Bytes that needs and gives add, per API, over copies of AWS operations under names of their own."""
    originals = [
        each for service in ("ec2", "s3", "iam", "lambda", "rds", "sqs")
        for each in BotocoreSource([service]).read() if isinstance(each, ApiDocument)
    ]  # fmt: skip
    copies = [
        replace(each, id=f"{each.id}/{number}", tool=f"{each.tool} {number}", definition="")
        for number in range(1 + COPIES // len(originals))
        for each in originals
    ][:COPIES]
    bare = [replace(each, needs=(), gives=()) for each in copies]
    figures = {
        "graph_bytes": round(float(np.mean([len(encode_chains(each)) for each in copies])), 1),
        "graph_bytes_on_disk": round((_size_of(copies) - _size_of(bare)) / len(copies), 1),
    }
    Console().print(figures)
    return figures


def _size_of(documents: Sequence[ApiDocument]) -> int:
    """Bytes of a SQLite catalog of these documents, without vectors."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "chains.db"
        with Catalog.open(f"sqlite:{place}", settings=Settings(intents=Path(folder) / "samples")) as catalog:
            _fill(catalog, documents, load_profile("bm25"))
        return place.stat().st_size


def battery_run(arguments: argparse.Namespace, profile: Profile) -> Run:
    """A run of the battery with two profiles: one without `complete`, and the same one with it."""
    chosen = ["--sets", arguments.sets] if arguments.sets else []
    given = {"--data": arguments.data, "--cache": arguments.cache, "--limit": arguments.limit or LIMIT}
    words = [str(word) for pair in given.items() for word in pair]
    run = parsed(["--profiles", "none", *words, *chosen])
    plain = without(profile, Abstain, Complete)
    with_it = replace(chained(plain), name=f"{profile.name} and complete")
    return replace(run, profiles={each.name: each for each in (plain, with_it)})


def on_battery(run: Run, minutes: float) -> Figures:
    """What each set of the battery gains or loses by the second of two profiles, set by set."""
    until = time.monotonic() + 60 * minutes
    sets: SetFigures = {}
    for name in run.sets:
        if time.monotonic() > until:
            Console().print(f"{name} is not asked: {minutes:g} minutes are over")
            continue
        found = battery(replace(run, sets=(name,)), LineProgress())
        sets = {**sets, **cast("SetFigures", found["sets"])}
    return compared(sets, *run.profiles) | {"battery_sets": len(sets)}


def without(profile: Profile, *kinds: type[Stage]) -> Profile:
    """The profile without its stages of these kinds."""
    return replace(profile, stages=tuple(each for each in profile.stages if not isinstance(each, kinds)))


def chained(profile: Profile) -> Profile:
    """The profile with `complete` where it belongs: behind all that ranks, before what cuts the list."""
    place = len(profile.stages)
    while place and isinstance(profile.stages[place - 1], Abstain | Enough | Truncate):
        place -= 1
    return replace(profile, stages=(*profile.stages[:place], Complete(), *profile.stages[place:]))


SetFigures = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]]
"""Set → `profiles` → profile → figure → mean and interval, as the battery reports them."""


def compared(sets: SetFigures, before: str, after: str) -> Figures:
    """Gains in points by set; `battery_worst` is the largest loss of a set, or the least gain."""
    table = Table("set", "NDCG@5", "with complete", "recall@5", "with complete", "loses too much")
    figures: Figures = {}
    gains: list[float] = []
    for name, of_set in sets.items():
        old, new = of_set["profiles"][before], of_set["profiles"][after]
        gain = {measure: new[measure][0] - old[measure][0] for measure in ("ndcg@5", "recall@5")}
        gains += gain.values()
        figures |= {f"battery_{name}_{measure}_gain": round(value, 2) for measure, value in gain.items()}
        cells = (each[measure][0] for measure in gain for each in (old, new))
        lost = "yes" if min(gain.values()) < -LOSS else ""
        table.add_row(name, *(f"{value:.1f}" for value in cells), lost)
    Console().print(table)
    return figures | {"battery_worst": round(min(gains, default=0.0), 2)}


def toollinkos(data: Path, limit: int, profile: Profile) -> Figures:
    """ToolLinkOS, with dependencies as its functions state them, and as they are inferred."""
    folder = data / "toollinkos"
    catalog = read_toollinkos(folder)
    ids = {name: document_id(NAME, name, name) for name in catalog.documents}
    requests = [
        Request(each.text, ids[each.relevant[0]], tuple(ids[name] for name in each.relevant), ordered=False)
        for each in catalog.requests
    ]
    asked = _some(requests, limit)
    owned = [replace(each, id=ids[name], source=NAME) for name, each in catalog.documents.items()]
    stated = dict(_stated(folder))
    of_inputs = dict(_stated(folder, "PARAMETER"))
    ways = {
        "": [replace(each, needs=stated[each.api]) for each in owned],
        "_inputs": [replace(each, needs=of_inputs[each.api]) for each in owned],
        "_inferred": [with_chains(each) for each in owned],
    }
    untouched = [half_of(each.main.rpartition("/")[2]) == "b" for each in asked]
    figures: Figures = {}
    for way, documents in ways.items():
        rows_before, rows_after = _both_rows(documents, asked, profile, f"ToolLinkOS{way.replace('_', ', ')}")
        before, after = _means(rows_before), _means(rows_after)
        without, with_it = (_means(list(compress(each, untouched))) for each in (rows_before, rows_after))
        figures |= {
            "toollinkos_map10_without": before["map@10"],
            f"toollinkos{way}_map10": round(after["map@10"] / before["map@10"], 3),
            f"toollinkos{way}_map10_b": round(with_it["map@10"] / without["map@10"], 3),
            f"toollinkos{way}_recall10": round(after["recall@10"] / 100, 4),
        }
    return figures


def _stated(folder: Path, kind: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """What each function says that it depends on, as calls of others; those of a kind, by how it begins."""
    for name in ("core_tools.jsonl.gz", "regular_tools.jsonl.gz"):
        for record in read_records(folder / name):
            stated = [each for each in record["depends_on"] if each["dependence_type"].startswith(kind)]
            yield record["name"], tuple(dict.fromkeys(thing.text for thing in declared(stated)))


def _some(requests: Sequence[Request], limit: int) -> list[Request]:
    """Spread evenly over the file."""
    step = max(1, len(requests) // limit)
    return list(requests[::step][:limit])


def _both_rows(
    documents: Sequence[ApiDocument], asked: Sequence[Request], profile: Profile, title: str
) -> tuple[list[Figures], list[Figures]]:
    """Figures of each request by the profile as it is, and with `complete` at its end."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Catalog.open(
            f"sqlite:{folder}/chains.db", settings=Settings(intents=Path(folder) / "samples")
        ) as catalog,
    ):
        _fill(catalog, documents, profile)
        complete = Complete(leads=1, steps=3, each=DEPTH) if title.startswith("ToolLinkOS") else Complete()
        both = [_measured(catalog, asked, each) for each in (profile, profile.then(complete))]
    table = Table(f"{title}: {len(asked):,} of {len(documents):,} APIs", profile.name, "and complete")
    means = [_means(rows) for rows in both]
    for name in means[0]:
        table.add_row(name, *(f"{figures[name]:.1f}" for figures in means))
    Console().print(table)
    return both[0], both[1]


def _fill(catalog: Catalog, documents: Sequence[ApiDocument], profile: Profile) -> None:
    """Ingests them; without vectors where no stage reads any."""
    if not profile.needs().isdisjoint({"dense", "vector", "sentence", "intent"}):
        catalog.ingest(Listed(NAME, documents), progress=progress())
        return
    index = catalog.engine.ensure(IndexSchema("none", 1, 1))
    with catalog.engine.writing(index) as writer:
        writer.write([IndexedDocument(each, np.ones(1, np.float32)) for each in documents])


def _measured(catalog: Catalog, asked: Sequence[Request], profile: Profile) -> list[Figures]:
    """Figures of each request, in [0, 1]."""
    return [_figures(each, catalog.search(each.text, DEPTH, profile=profile)) for each in asked]


def _means(rows: Sequence[Figures]) -> Figures:
    """Means over requests, in per cent."""
    return {
        name: round(100 * float(np.mean([row[name] for row in rows if name in row] or [0.0])), 2)
        for name in NAMES
    }


def _figures(asked: Request, result: SearchResult) -> Figures:
    found = [hit.document.id for hit in result.hits]
    needed = set(asked.steps)
    others = needed - {asked.main}
    figures = {
        "main@5": float(asked.main in found[:5]),
        "others@5": len(others & set(found[:5])) / max(1, len(others)),
        "map@10": _average_precision(found, needed),
    }
    for k in (5, 10):
        share = len(needed & set(found[:k])) / len(needed)
        figures |= {f"recall@{k}": share, f"complete@{k}": float(share == 1.0)}
    if asked.ordered and needed <= set(found):  # only an answer that has all steps can have them in order
        planned = [step.id for step in result.plan if step.id in needed]
        figures["order"] = float(planned == list(dict.fromkeys(asked.steps)))
    return figures


def _average_precision(found: Sequence[str], needed: set[str]) -> float:
    hits = [place for place, each in enumerate(found[:DEPTH], start=1) if each in needed]
    return sum(n / place for n, place in enumerate(hits, start=1)) / min(len(needed), DEPTH)


if __name__ == "__main__":
    main()
