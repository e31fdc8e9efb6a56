"""Requests labelled by whether one tool is enough: several APIs of one tool are one tool."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kitpick_training.data.readers import read_openapi, read_taskbench
from kitpick_training.data.records import LabelledCatalog, LabelledRequest
from kitpick_training.data.split import HOLDOUT, Split, split_of
from kitpick_training.data.styles import (
    enumerating_request,
    in_tool,
    narrative_request,
    roughened,
    short_request,
)
from kitpick_training.data.tool_sets import read_bfcl, read_metatool, read_sealtools


class KindExample(msgspec.Struct, frozen=True):
    """A request, whether it needs several tools, and what it must share a split with."""

    text: str
    multi: bool
    source: str
    group: str


_ASKS_IF_SINGLE, _ASKS_IF_MULTI = (0.35, 0.40, 0.25), (0.0, 0.6, 0.4)
"""Shares of synthetic requests with one, two and three clauses."""
_SAME_CATEGORY = 0.5
"""Share of those for several tools whose tools are of one category."""
_TOOL_NAMED = 0.3
_STYLES = {narrative_request: 0.5, enumerating_request: 0.3, short_request: 0.2}


class ClauseBook:
    """The clauses of one split, found by tool and by category."""

    def __init__(self, catalog: LabelledCatalog, split: Split, holdout: float = HOLDOUT) -> None:
        self.by_tool: dict[str, list[LabelledRequest]] = defaultdict(list)
        tools: dict[str, set[str]] = defaultdict(set)
        for request in catalog.requests:
            document = catalog.documents[request.relevant[0]]
            if split_of(catalog.groups[document.id], holdout) == split:
                self.by_tool[document.tool_key].append(request)
                tools[document.category].add(document.tool_key)
        self.names = {d.tool_key: d.tool for d in catalog.documents.values()}
        self.categories = [sorted(keys) for _, keys in sorted(tools.items()) if len(keys) > 2]
        self.tools = sorted(self.by_tool)

    def of_one_tool(self, asks: int, rng: random.Random) -> tuple[list[str], str]:
        """Clauses of one tool (fewer where it has fewer), and the tool's key."""
        key = rng.choice(self.tools)
        pool = self.by_tool[key]
        return [request.text for request in rng.sample(pool, min(asks, len(pool)))], key

    def of_several_tools(self, asks: int, same_category: bool, rng: random.Random) -> tuple[list[str], str]:
        """One clause of each of `asks` tools, and the key of the first.

        Tools of one category where a category has three; otherwise any.
        """
        shelf = rng.choice(self.categories) if same_category and self.categories else self.tools
        keys = rng.sample(shelf, asks)
        return [rng.choice(self.by_tool[key]).text for key in keys], keys[0]


def joined_requests(book: ClauseBook, count: int, rng: random.Random) -> Iterator[KindExample]:
    """`count` synthetic requests, half of them for several tools; both halves are worded alike."""
    for number in range(count):
        multi = number % 2 == 1
        asks = 1 + rng.choices((0, 1, 2), _ASKS_IF_MULTI if multi else _ASKS_IF_SINGLE)[0]
        if multi:
            clauses, key = book.of_several_tools(asks, rng.random() < _SAME_CATEGORY, rng)
        else:
            clauses, key = book.of_one_tool(asks, rng)
        if rng.random() < _TOOL_NAMED:
            clauses[0] = in_tool(clauses[0], book.names[key], rng)
        rng.shuffle(clauses)
        style = rng.choices(list(_STYLES), list(_STYLES.values()))[0]
        yield KindExample(roughened(style(clauses, rng), rng), multi, "openapi", key)


def written_requests(data: Path) -> Iterator[KindExample]:
    """Requests of TaskBench, MetaTool, Seal-Tools and BFCL with the kind that their labels say.

    BFCL's functions know no tools, so only its requests with one right function are used.

    Raises:
        EvaluationError: data is missing or broken.
    """
    for text, multi in read_taskbench(data / "taskbench" / "requests.jsonl.gz"):
        yield KindExample(text, multi, "taskbench", text)
    for catalog in (read_metatool(data / "metatool"), read_sealtools(data / "sealtools")):
        for request in catalog.requests:
            tools = {catalog.documents[i].tool_key for i in request.relevant}
            yield KindExample(request.text, len(tools) > 1, catalog.name, request.text)
    for request in read_bfcl(data / "bfcl").requests:
        if len(request.relevant) == 1:
            yield KindExample(request.text, False, "bfcl", request.text)


def query_kind_examples(
    data: Path, split: Split, seed: int, joined: int, most_written: int
) -> list[KindExample]:
    """Examples of one split: written ones, balanced within each source, and synthetic ones.

    Args:
        data: folder with one folder per data set.
        split: which part.
        seed: of the draw.
        joined: synthetic requests.
        most_written: at most this many of each source and kind.

    Raises:
        EvaluationError: data is missing or broken.
    """
    rng = random.Random(f"query-kind/{split}/{seed}")
    book = ClauseBook(read_openapi(data / "openapi" / "apis.jsonl.gz"), split)
    examples = list(joined_requests(book, joined, rng))
    shelves: dict[tuple[str, bool], list[KindExample]] = defaultdict(list)
    for example in written_requests(data):
        if split_of(example.group) == split:
            shelves[example.source, example.multi].append(example)
    for shelf in shelves.values():
        examples += _at_most(shelf, most_written, rng)
    rng.shuffle(examples)
    return examples


def _at_most(shelf: Sequence[KindExample], most: int, rng: random.Random) -> list[KindExample]:
    return list(shelf) if len(shelf) <= most else rng.sample(list(shelf), most)
