"""Sets hold the requests of one split over the catalogs they belong to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from battery.facets import RequestFacets
from battery.sets import (
    CHOOSING_SETS,
    SETS,
    BatteryRequest,
    BatterySet,
    DataFolders,
    UnknownSet,
    kind_of,
    read_set,
)

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.data.split import Split, split_of

ROOT = Path(__file__).resolve().parents[3]


def written_lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def names_of(split: str, kind: str, count: int) -> list[str]:
    """The first names of a kind that fall into a split."""
    found = (f"{kind} {number}" for number in range(10_000))
    return [name for name in found if split_of(name) == split][:count]


TRAIN, HELD = names_of("train", "provider", 2), names_of("validation", "provider", 2)


def api(number: int, provider: str, source: str = "openapi", **changes: object) -> dict[str, Any]:
    return {
        "id": number,
        "source": source,
        "category": "c",
        "provider": provider,
        "service": "",
        "tool": f"{provider} API",
        "api": f"op{number}",
        "method": "GET",
        "path": f"/{number}",
        "description": f"Operation {number}",
        "parameters": [],
        **changes,
    }


def asking(text: str, *relevant: int, also: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"request": text, "style": "D", "relevant": relevant, "also": also, "batch": 0}


def listed(provider: str, name: str, description: str) -> dict[str, Any]:
    return {
        "category": "c",
        "provider": provider,
        "service": "",
        "tool": f"{provider} API",
        "api": name,
        "method": "GET",
        "path": f"/{name}",
        "summary": description,
        "description": "",
        "tags": [],
        "parameters": [],
        "deprecated": False,
    }


@pytest.fixture
def folders(tmp_path: Path) -> DataFolders:
    apis = [
        api(0, TRAIN[0]),
        api(1, HELD[0]),
        api(2, HELD[1]),
        api(3, HELD[0], "toucan", tool=HELD[0], api="look", description="Looks things up"),
        api(4, TRAIN[0], "toucan", tool=TRAIN[0], api="think", description="Thinks"),
    ]
    requests = [
        asking("of training", 0),
        asking("held out", 1, also=(2,)),
        asking("both", 0, 1),
        asking("of two held out", 1, 2),
        asking("of a held out server", 3),
        asking("of a server to train on", 4),
    ]
    written_lines(tmp_path / "written" / "apis.jsonl.gz", apis)
    written_lines(tmp_path / "written" / "requests.jsonl.gz", requests)
    operations = [
        listed(HELD[0], "op1", "Operation 1"),
        listed(HELD[0], "sibling", "Another one"),
        listed(HELD[1], "op2", "Operation 2"),
        listed(HELD[1], "op1", "Operation 1"),
        listed(TRAIN[0], "op0", "Operation 0"),
    ]
    written_lines(tmp_path / "openapi" / "apis.jsonl.gz", operations)
    schema = {"type": "object"}
    tool = {"name": "look", "description": "Looks things up", "inputSchema": schema}
    servers = [
        {"server": HELD[0], "label": "l", "tools": [{**tool, "description": "Other"}, tool]},
        {"server": TRAIN[0], "label": "l", "tools": [{**tool, "name": "think", "description": "Thinks"}]},
        {"server": "copy", "label": "l", "tools": [tool]},
    ]
    written_lines(tmp_path / "toucan" / "servers.jsonl.gz", servers)
    return DataFolders(tmp_path, (tmp_path / "written",))


def test_written_requests_of_a_split_are_asked_over_all_operations_of_its_providers(
    folders: DataFolders,
) -> None:
    found = read_set("written", folders, "validation")
    assert [request.text for request in found.requests] == ["held out", "of two held out"]
    assert sorted(document.api for document in found.documents) == ["op1", "op1", "op2", "sibling"]
    assert {document.tool for document in found.documents} == {f"{name} API" for name in HELD}


def test_what_would_answer_as_fairly_is_neither_right_nor_wrong(folders: DataFolders) -> None:
    first, second = read_set("written", folders, "validation").requests
    (right,) = first.relevant
    assert right.endswith("op1")
    assert HELD[0] in right
    assert {id_.rsplit("/", 1)[1] for id_ in first.also} == {"op2"}, "another provider's op1 is wrong"
    assert len(second.relevant) == 2


def test_servers_of_a_split_are_asked_over_all_servers(folders: DataFolders) -> None:
    found = read_set("written-mcp", folders, "validation")
    assert len(found.documents) == 4
    (request,) = found.requests
    described = {document.id: document for document in found.documents}
    (right,) = (described[id_] for id_ in request.relevant)
    assert (right.tool, right.description) == (HELD[0], "Looks things up"), "not the other tool of its name"
    assert [described[id_].tool for id_ in request.also] == ["copy"]


def test_requests_with_capabilities_are_asked_both_ways(folders: DataFolders, tmp_path: Path) -> None:
    own = tmp_path / "own" / "written"
    written_lines(own / "apis.jsonl.gz", [api(1, HELD[0])])
    written_lines(own / "requests.jsonl.gz", [asking("held out too", 1)])
    rows = [{"id": "w:4", "steps": ["do the first", "do the second"]}, {"id": "d:1", "steps": ["do it"]}]
    written_lines(own.parent / "capabilities.jsonl", rows)
    both = DataFolders(folders.shared, (*folders.written, own))
    as_came, asked = (
        read_set(f"written-{name}", both, "validation") for name in ("requests", "capabilities")
    )
    assert [each.text for each in as_came.requests] == ["of two held out", "held out too"]
    assert [each.steps for each in as_came.requests] == [(), ()]
    assert [each.steps for each in asked.requests] == [("do the first", "do the second"), ("do it",)]
    assert [each.relevant for each in asked.requests] == [each.relevant for each in as_came.requests]
    assert asked.catalog == as_came.catalog == "written"


def test_a_split_without_requests_is_an_error(folders: DataFolders) -> None:
    with pytest.raises(InvalidDataset, match="no request in the split test"):
        read_set("written", folders, "test")


@pytest.mark.needs("data")
def test_functions_need_and_give_what_ingest_infers() -> None:
    found = read_set("bfcl", DataFolders(ROOT.parent / "shared" / "data", ()), "validation").documents
    assert sum(bool(each.gives) for each in found) > len(found) / 4


def test_an_unknown_set_says_which_there_are(folders: DataFolders) -> None:
    with pytest.raises(UnknownSet, match="written-mcp"):
        read_set("writen", folders, "validation")


def bfcl(folder: Path) -> None:
    held, trained = names_of("validation", "function", 1), names_of("train", "function", 1)
    tools = [
        {"id": "f0", "api": held[0], "description": "One", "parameters": []},
        {"id": "f1", "api": held[0], "description": "One in other words", "parameters": []},
        {"id": "f2", "api": trained[0], "description": "Two", "parameters": []},
    ]
    queries = [
        {"id": "a", "query": "held out", "relevant": ["f0"], "offered": ["f0"]},
        {"id": "b", "query": "trained on", "relevant": ["f2"], "offered": ["f2"]},
        {"id": "c", "query": "partly held out", "relevant": ["f1", "f2"], "offered": []},
    ]
    written_lines(folder / "bfcl" / "tools.jsonl", tools)
    written_lines(folder / "bfcl" / "queries.jsonl", queries)


def test_tools_are_held_out_over_the_whole_catalog(tmp_path: Path) -> None:
    bfcl(tmp_path)
    found = read_set("bfcl", DataFolders(tmp_path, ()), "validation")
    assert len(found.documents) == 3
    assert [request.text for request in found.requests] == ["held out", "partly held out"]
    assert found.requests[0].also == {"bfcl/f1"}, "a function of the same name serves as well"
    assert [r.text for r in read_set("bfcl", DataFolders(tmp_path, ()), "train").requests] == ["trained on"]


def document(id_: str, tool: str = "t", api_name: str = "", description: str = "") -> ApiDocument:
    return ApiDocument(
        id=id_, source="s", category="", tool=tool, api=api_name or id_, description=description
    )


def test_a_larger_sample_holds_every_smaller_one() -> None:
    requests = tuple(BatteryRequest(f"r{n}", "text", frozenset({"a"})) for n in range(40))
    whole = BatterySet("s", None, (document("a"),), requests)
    samples = [{r.id for r in whole.sample(limit, seed=1).requests} for limit in (5, 12, 100)]
    assert [len(sample) for sample in samples] == [5, 12, 40]
    assert samples[0] < samples[1] < samples[2]
    assert {r.id for r in whole.sample(5, seed=2).requests} != samples[0]


def test_hierarchy_is_several_apis_a_tool() -> None:
    deep = tuple(document(f"{tool}{n}", tool) for tool in "ab" for n in range(2))
    assert BatterySet("s", None, deep, ()).has_hierarchy
    assert not BatterySet("s", None, deep[:3], ()).has_hierarchy
    assert not BatterySet("s", None, deep[:2], ()).has_hierarchy, "one tool is no hierarchy"


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("Copying the picture elsewhere", "some"),  # of one stem with the name
        ("put my old snapshots away", "some"),  # in the description
        ("put it away for good", "none"),
        ("the and with", "none"),  # stop words are no key words
        ("an it on us", "none"),
    ],
)
def test_a_key_word_is_shared_by_name_or_description(text: str, shared: str) -> None:
    wanted = document("a", api_name="copyObject", description="Keeps a snapshot")
    request = BatteryRequest("r", text, frozenset({"a"}), style="F")
    facets = RequestFacets(BatterySet("s", None, (wanted,), (request,)), lambda tool: tool == "/t").of(
        request
    )
    assert facets == {"shared": shared, "wanted": "one", "style": "F", "seen": "seen"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "documents", "requests"),
    [
        ("toolbench", 4_331, 563),
        ("toollens", 464, 1_877),
        ("sealtools", 4_076, 120),
        ("bfcl", 2_101, 205),
        ("metatool", 199, 2_457),
        ("toollinkos", 573, 1_569),
        ("written-mcp", 14_925, 682),
        ("music", 40, 56),
        ("functions", 133, 290),
        ("models", 907, 500),
        ("steps", 1_804, 497),
    ],
)
def test_the_real_sets_are_whole(shared_data: Path, name: str, documents: int, requests: int) -> None:
    folders = DataFolders(shared_data, (shared_data / "written", ROOT / "datasets" / "written"))
    found = read_set(name, folders, "validation")
    assert (len(found.documents), len(found.requests)) == (documents, requests)
    assert name in SETS | CHOOSING_SETS


@pytest.mark.parametrize("split", ["train", "test"])
def test_what_is_there_to_choose_on_is_asked_in_no_other_split(folders: DataFolders, split: Split) -> None:
    for name in CHOOSING_SETS:
        with pytest.raises(UnknownSet, match="without --final"):
            read_set(name, folders, split)


def test_sets_are_natural_but_those_that_are_joined_or_made_by_a_program() -> None:
    others = {name: kind_of(name) for name in SETS | CHOOSING_SETS if kind_of(name) != "natural"}
    assert others == {
        "sealtools": "synthetic",
        "toollinkos": "synthetic",
        "written-joined": "composed",
        "written-mixed": "composed",
        "written-mcp-mixed": "composed",
    }
