"""The sets of the battery: a catalog, and its requests, divided into those for tuning and those held out.

Where data is also trained on, a set holds the requests of one split by `kitpick_training.data.split`.
ToolBench, ToolLens and ToolLinkOS are never trained on: they are the same in every split, and nothing is to
be chosen on them. Four natural sets are there to choose on, and in no other split.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from battery.natural import read_archive, read_functions, read_music
from battery.toollinkos import read_toollinkos
from kitpick_engines.document import ApiDocument, document_id
from kitpick_evaluation.dataset import Dataset
from kitpick_evaluation.datasets.published import beir, toolbench
from kitpick_evaluation.errors import EvaluationError, InvalidDataset
from kitpick_ingest.chains import with_chains
from kitpick_training.data.kits import read_kits
from kitpick_training.data.operations import copies, full_lists, read_toucan, versions
from kitpick_training.data.readers import KITS
from kitpick_training.data.records import LabelledCatalog, read_records
from kitpick_training.data.split import Split, split_of, split_of_request, take_split
from kitpick_training.data.tool_sets import read_bfcl, read_metatool, read_sealtools
from kitpick_training.data.whole import known_tool
from kitpick_training.data.written import MCP, WrittenApi, WrittenRequest, read_written


class UnknownSet(EvaluationError):
    """A set that the battery does not have."""


class BatteryRequest(msgspec.Struct, frozen=True):
    """A request with the ids of the APIs that it needs, all of them in the catalog of its set."""

    id: str
    text: str
    relevant: frozenset[str]
    also: frozenset[str] = frozenset()
    """Would answer as fairly: neither right nor wrong, so they are taken out of every ranking."""
    style: str = ""
    """`A` to `F` of the written requests, otherwise empty."""
    steps: tuple[str, ...] = ()
    """Short capabilities that are asked in place of the text, one a step; none where the text is asked."""
    grades: Mapping[str, int] = {}
    """What readers say of APIs that were found, 0 to 2, by id: see `battery/judged.py`."""


class BatterySet(msgspec.Struct, frozen=True):
    """One catalog with its requests."""

    name: str
    split: Split | None
    """None where the set is of no split: it is never trained on."""
    documents: tuple[ApiDocument, ...]
    requests: tuple[BatteryRequest, ...]
    documents_of: str = ""
    """The set that has the same documents, where this one only asks other requests."""

    @property
    def catalog(self) -> str:
        """Name of the documents: equal for sets of the same ones."""
        return self.documents_of or self.name

    @property
    def has_hierarchy(self) -> bool:
        """Whether its tools have several APIs each: at least two on average, and there are several tools."""
        tools = {document.tool_key for document in self.documents}
        return len(tools) > 1 and len(self.documents) >= 2 * len(tools)

    def sample(self, limit: int, seed: int) -> BatterySet:
        """The set with at most so many of its requests, by a hash: a larger sample holds a smaller one."""
        by_draw = sorted(self.requests, key=lambda request: draw(seed, request.id))
        return replace(self, requests=tuple(by_draw[:limit]))


class DataFolders(msgspec.Struct, frozen=True):
    """Folders of the data."""

    shared: Path
    """Folders `toolbench`, `toollens`, `sealtools`, `bfcl`, `metatool`, `openapi`, `toucan`, `toollinkos`."""
    written: tuple[Path, ...]
    """Folders of written requests."""


def read_set(name: str, folders: DataFolders, split: Split) -> BatterySet:
    """A set of the battery, complete and checked.

    Raises:
        UnknownSet: none of `SETS`.
        EvaluationError: its files are missing, broken, or do not fit together.
    """
    readers = SETS | CHOOSING_SETS | CAPABILITY_SETS
    if name not in readers:
        raise UnknownSet(f"{name!r} is no set of the battery; they are {', '.join(readers)}")
    if name in CHOOSING_SETS and split != "validation":
        raise UnknownSet(f"{name!r} is for choosing: ask it in the split validation, without --final")
    found = readers[name](folders, split)
    known = {document.id for document in found.documents}
    if len(known) != len(found.documents):
        raise InvalidDataset(f"{name}: {len(found.documents) - len(known)} documents have the id of another")
    for request in found.requests:
        if not request.relevant or not request.relevant <= known or request.relevant & request.also:
            raise InvalidDataset(f"{name}: request {request.id!r} needs nothing, or what the catalog lacks")
    if not found.requests:
        raise InvalidDataset(f"{name}: no request in the split {split}")
    return _linked(found)


SMALL = (4, 10, 25, 60)
"""APIs of small catalogs, about."""
_OF_A_TOOL = 6
_ASKED_OF_ONE = 2


def small_catalogs(whole: BatterySet, requests: int, seed: int) -> Iterator[BatterySet]:
    """Small catalogs out of a large one, each with what two of its requests need; `SMALL` APIs in turn.

    A stranger begins with ten tools, and a server has forty: what is near in a list of these is far in one of
    thousands.
    """
    rng = random.Random(f"{whole.name}/{seed}")
    tools: defaultdict[str, list[ApiDocument]] = defaultdict(list)
    for document in whole.documents:
        tools[document.tool_key].append(document)
    asked = whole.requests[:requests]
    for number in range(0, len(asked), _ASKED_OF_ONE):
        size = SMALL[number // _ASKED_OF_ONE % len(SMALL)]
        group = asked[number : number + _ASKED_OF_ONE]
        held = _drawn(tools, frozenset().union(*(each.relevant for each in group)), size, rng)
        ids = {document.id for document in held}
        yield replace(
            whole,
            documents=held,
            requests=tuple(replace(each, also=each.also & ids) for each in group),
            documents_of=whole.catalog,
        )


def _drawn(
    tools: Mapping[str, Sequence[ApiDocument]], needed: frozenset[str], size: int, rng: random.Random
) -> tuple[ApiDocument, ...]:
    """The APIs that are needed, some of the same tools, and some of others, until there are so many."""
    doing = sorted(tool for tool, apis in tools.items() if any(each.id in needed for each in apis))
    others = rng.sample(sorted(tools), min(len(tools), size))
    held: dict[str, ApiDocument] = {}
    for tool in dict.fromkeys([*doing, *others]):
        apis = tools[tool]
        kept = rng.sample(range(len(apis)), min(len(apis), _OF_A_TOOL))
        for place, document in enumerate(apis):
            if document.id in needed or (place in kept and len(held) < size):
                held[document.id] = document
    return tuple(held.values())


def _linked(found: BatterySet) -> BatterySet:
    """The set with what its APIs need and give, as ingest infers it where a reader says nothing."""
    if any(document.needs or document.gives for document in found.documents):
        return found
    return replace(found, documents=tuple(map(with_chains, found.documents)))


def _of_dataset(dataset: Dataset) -> BatterySet:
    documents = [item for item in dataset.source.read() if isinstance(item, ApiDocument)]
    requests = [BatteryRequest(query.id, query.text, query.relevant) for query in dataset.queries]
    return BatterySet(dataset.name, None, tuple(documents), tuple(requests))


def _of_catalog(
    catalog: LabelledCatalog, split: Split | None, alike: Mapping[str, frozenset[str]]
) -> BatterySet:
    """All documents of a catalog, and the requests of a split, with ids that begin with the catalog's name.

    A request is of the split `train` where training may take it: where all that it needs is.
    """
    ids = {id_: document_id(catalog.name, id_) for id_ in catalog.documents}
    documents = tuple(replace(document, id=ids[id_]) for id_, document in catalog.documents.items())
    requests = []
    for number, request in enumerate(catalog.requests, start=1):
        groups = {catalog.groups[id_] for id_ in request.relevant}
        if split is None or split_of_request(groups) == split:
            right = frozenset(ids[id_] for id_ in request.relevant)
            also = frozenset(ids[id_] for id_ in _alike(request.relevant, alike))
            requests.append(BatteryRequest(f"{catalog.name}-{number}", request.text, right, also))
    return BatterySet(catalog.name, split, documents, tuple(requests))


def _same_name(documents: Mapping[str, ApiDocument]) -> Mapping[str, frozenset[str]]:
    """Functions of the same name: BFCL has most functions several times, with different descriptions."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for id_, document in documents.items():
        named[document.api.lower()].add(id_)
    return {id_: frozenset(named[document.api.lower()]) - {id_} for id_, document in documents.items()}


def _chosen_on(folders: DataFolders) -> Path:
    return folders.shared / "validation"


def _bfcl(folders: DataFolders, split: Split) -> BatterySet:
    catalog = read_bfcl(folders.shared / "bfcl")
    return _of_catalog(catalog, split, _same_name(catalog.documents))


def _written(folders: DataFolders, split: Split) -> BatterySet:
    """Requests of APIs and cloud services of one split, over all operations of these providers' tools."""
    asked = [request for request in _all_written(folders) if not any(map(_is_mcp, request.relevant))]
    chosen = [request for request in asked if {split_of(group) for group in _groups(request)} == {split}]
    apis = [api for request in asked for api in (*request.relevant, *request.also)]
    own = [api for api in apis if not _is_mcp(api) and split_of(api.operation.group) == split]
    by_operation = full_lists(own, folders.shared / "openapi" / "apis.jsonl.gz", "written")
    documents = tuple(sorted(by_operation.values(), key=lambda document: document.id))
    ids = {operation: document.id for operation, document in by_operation.items()}
    alike = versions(by_operation)
    requests = tuple(
        _written_request(request, lambda api: ids.get(api.operation), alike) for request in chosen
    )
    return BatterySet("written", split, documents, requests)


def _written_mcp(folders: DataFolders, split: Split) -> BatterySet:
    """Requests of servers of one split, over all tools of all servers."""
    documents = read_toucan(folders.shared / "toucan" / "servers.jsonl.gz", "written-mcp")
    alike = copies(documents)
    chosen = [
        request
        for request in _all_written(folders)
        if all(map(_is_mcp, request.relevant)) and {split_of(g) for g in _groups(request)} == {split}
    ]
    known = known_tool(documents)
    requests = tuple(_written_request(request, known, alike) for request in chosen)
    return BatterySet("written-mcp", split, documents, requests)


def _written_joined(folders: DataFolders, split: Split) -> BatterySet:
    """Requests that ask two or three things of one tool: those of `written`, joined, each once."""
    whole = _written(folders, split)
    asked: defaultdict[str, list[BatteryRequest]] = defaultdict(list)
    for tool, request in _of_one_tool(whole):
        asked[tool].append(request)
    joined: list[BatteryRequest] = []
    for of_tool in asked.values():
        while len(of_tool) > 1:
            count = 2 + len(joined) % 2
            taken, of_tool[:] = of_tool[:count], of_tool[count:]
            joined.append(_joined(taken))
    return replace(whole, name="written-joined", requests=tuple(joined), documents_of=whole.name)


def _mixed(whole: BatterySet) -> BatterySet:
    """Requests that ask two things of two tools: those of a set, joined, each once."""
    waiting: list[tuple[str, BatteryRequest]] = []
    joined: list[BatteryRequest] = []
    for tool, request in _of_one_tool(whole):
        place = next((n for n, (other, _) in enumerate(waiting) if other != tool), None)
        if place is None:
            waiting.append((tool, request))
        else:
            joined.append(_joined([waiting.pop(place)[1], request]))
    name = f"{whole.name}-mixed"
    return replace(whole, name=name, requests=tuple(joined), documents_of=whole.name)


def _of_one_tool(whole: BatterySet) -> list[tuple[str, BatteryRequest]]:
    """The requests that need one tool, with its key, in an order drawn once for all."""
    tools = {document.id: document.tool_key for document in whole.documents}
    drawn = sorted(whole.requests, key=lambda request: draw(0, request.id))
    needed = [(sorted({tools[id_] for id_ in request.relevant}), request) for request in drawn]
    return [(of[0], request) for of, request in needed if len(of) == 1]


def _joined(requests: Sequence[BatteryRequest]) -> BatteryRequest:
    right = frozenset[str]().union(*(request.relevant for request in requests))
    also = frozenset[str]().union(*(request.also for request in requests))
    texts = [
        request.text if request.text.endswith((".", "!", "?")) else f"{request.text}." for request in requests
    ]
    return BatteryRequest("+".join(request.id for request in requests), " ".join(texts), right, also - right)


def _with_capabilities(whole: BatterySet, folders: DataFolders, *, asked: bool) -> BatterySet:
    """Of a set of written requests those that capabilities were written for; these are asked where wanted."""
    rows = read_records(folders.written[1].parent / "capabilities.jsonl")
    steps = {_CAPABILITY_IDS.sub(_as_written, row["id"]): tuple(row["steps"]) for row in rows}
    kept = [request for request in whole.requests if request.id in steps]
    if asked:
        kept = [replace(request, steps=steps[request.id]) for request in kept]
    name = f"{whole.name}-{'capabilities' if asked else 'requests'}"
    return replace(whole, name=name, requests=tuple(kept), documents_of=whole.name)


_CAPABILITY_IDS = re.compile("^([wd]):")


def _as_written(found: re.Match[str]) -> str:
    """`w:` is the first folder of written requests, `d:` the second."""
    return f"{'1' if found[1] == 'w' else '2'}/written-"


def _all_written(folders: DataFolders) -> list[WrittenRequest]:
    """Written requests of all folders, each with its own id."""
    return [
        replace(request, id=f"{number}/{request.id}")
        for number, folder in enumerate(folders.written, start=1)
        for request in read_written(folder)
    ]


def _written_request(
    request: WrittenRequest,
    known: Callable[[WrittenApi], str | None],
    alike: Mapping[str, frozenset[str]],
) -> BatteryRequest:
    relevant = [id_ for api in request.relevant if (id_ := known(api)) is not None]
    if len(relevant) < len(request.relevant):
        raise InvalidDataset(f"request {request.id!r} needs what its catalog lacks")
    also = frozenset(id_ for api in request.also if (id_ := known(api)) is not None)
    right = frozenset(relevant)
    return BatteryRequest(
        request.id, request.text, right, (also | _alike(right, alike)) - right, request.style
    )


def _alike(relevant: Iterable[str], alike: Mapping[str, frozenset[str]]) -> frozenset[str]:
    right = frozenset(relevant)
    return frozenset().union(*(alike.get(id_, frozenset()) for id_ in right)) - right


def _groups(request: WrittenRequest) -> set[str]:
    return {api.operation.group for api in request.relevant}


def _is_mcp(api: WrittenApi) -> bool:
    return api.source == MCP


def draw(seed: int, key: str) -> bytes:
    """A number by which keys stand in an order that says nothing of them, the same for the same seed."""
    return hashlib.blake2b(f"{seed}/{key}".encode("utf-8", "replace"), digest_size=8).digest()


SETS: dict[str, Callable[[DataFolders, Split], BatterySet]] = {
    "toolbench": lambda folders, _: _of_dataset(toolbench(folders.shared / "toolbench")),
    "toollens": lambda folders, _: _of_dataset(beir(folders.shared / "toollens", "toollens")),
    "sealtools": lambda folders, split: _of_catalog(read_sealtools(folders.shared / "sealtools"), split, {}),
    "bfcl": _bfcl,
    "metatool": lambda folders, split: _of_catalog(read_metatool(folders.shared / "metatool"), split, {}),
    "written": _written,
    "written-mcp": _written_mcp,
    "written-joined": _written_joined,
    "written-mixed": lambda folders, split: _mixed(_written(folders, split)),
    "written-mcp-mixed": lambda folders, split: _mixed(_written_mcp(folders, split)),
    "kits": lambda _, split: _of_catalog(take_split(read_kits(KITS), split), split, {}),
    "toollinkos": lambda folders, _: _of_catalog(read_toollinkos(folders.shared / "toollinkos"), None, {}),
}
"""Name → reader. Held out are providers, servers, catalogs (`kits`); for the others tools and fields."""
CHOOSING_SETS: dict[str, Callable[[DataFolders, Split], BatterySet]] = {
    "music": lambda folders, split: _of_catalog(read_music(_chosen_on(folders)), None, {}),
    "functions": lambda folders, split: _of_catalog(read_functions(_chosen_on(folders)), None, {}),
    "models": lambda folders, split: _of_catalog(
        read_archive(_chosen_on(folders), "models", "gorilla-huggingface.tgz"), None, {}
    ),
    "steps": lambda folders, split: _of_catalog(
        read_archive(_chosen_on(folders), "steps", "toolink.tgz"), None, {}
    ),
}
"""Natural requests that were never trained on; models and profiles are chosen on them, so no figure is."""
Kind = Literal["natural", "composed", "synthetic"]
KINDS: dict[str, Kind] = {
    "written-joined": "composed",
    "written-mixed": "composed",
    "written-mcp-mixed": "composed",
    "sealtools": "synthetic",
    "toollinkos": "synthetic",
}
"""What requests of a set are: joined out of several, or made by a program; all others are natural."""


def kind_of(name: str) -> Kind:
    """Whether the requests of a set are natural, composed of several, or made by a program."""
    return KINDS.get(name, "natural")


CAPABILITY_SETS: dict[str, Callable[[DataFolders, Split], BatterySet]] = {
    "written-requests": lambda folders, split: _with_capabilities(
        _written(folders, split), folders, asked=False
    ),
    "written-capabilities": lambda folders, split: _with_capabilities(
        _written(folders, split), folders, asked=True
    ),
    "written-mcp-requests": lambda folders, split: _with_capabilities(
        _written_mcp(folders, split), folders, asked=False
    ),
    "written-mcp-capabilities": lambda folders, split: _with_capabilities(
        _written_mcp(folders, split), folders, asked=True
    ),
}
"""The same requests as they came, and by their capabilities. Only asked for by name: no headline has them."""
