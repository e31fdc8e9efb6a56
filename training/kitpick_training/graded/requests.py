"""Which requests are graded: where labels say least, and of as many providers as there are."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.data.records import read_records
from kitpick_training.data.split import Split, split_of_request
from kitpick_training.data.written import WrittenApi

RequestSort = Literal["parts", "agent", "indirect", "colloquial", "terse", "conversation", "near-miss"]
SHARES: Mapping[RequestSort, float] = {
    "parts": 0.22,
    "agent": 0.17,
    "indirect": 0.16,
    "colloquial": 0.14,
    "conversation": 0.14,
    "terse": 0.09,
    "near-miss": 0.08,
}
"""Shares of what is drawn, in [0, 1]. What a sort lacks, the others give."""
_SORT_OF_STYLE: Mapping[str, RequestSort] = {"E": "agent", "D": "indirect", "F": "colloquial"}
_TERSE_WORDS = 5


class AskedRequest(msgspec.Struct, frozen=True):
    """A request to be graded. Numbers are ids of `written/apis.jsonl.gz`."""

    id: str
    """`w-LINE` of the written requests, counted from 0; `c-ID` of a conversation; `n-LINE` of a near miss."""
    request: str
    style: str
    """`A` to `F`, `conversation` or `near-miss`."""
    relevant: tuple[int, ...]
    """Labelled as needed; empty where nothing does what is asked."""
    also: tuple[int, ...] = ()
    """Labelled as answering as fairly."""
    near: tuple[int, ...] = ()
    """Nearly do what is asked."""
    context: tuple[dict[str, Any], ...] = ()
    """Messages before the request: `role` and `content`, of a result of a tool its `name` too."""

    @property
    def sort(self) -> RequestSort | None:
        """What makes it worth grading, if anything does."""
        if self.style in ("conversation", "near-miss"):
            return "conversation" if self.style == "conversation" else "near-miss"
        if len(self.relevant) > 1:
            return "parts"
        if self.style in _SORT_OF_STYLE:
            return _SORT_OF_STYLE[self.style]
        return "terse" if len(self.request.split()) <= _TERSE_WORDS else None

    @property
    def named(self) -> tuple[int, ...]:
        """All APIs that it is labelled with."""
        return tuple(dict.fromkeys((*self.relevant, *self.also, *self.near)))


def read_asked(datasets: Path, apis: Mapping[int, WrittenApi]) -> list[AskedRequest]:
    """Written requests, near misses, and conversations of the half that no benchmark reports.

    Args:
        datasets: folder with `written/`, `conversations.jsonl` and, perhaps, `graded/near-misses.jsonl`.
        apis: operations by id.

    Raises:
        MissingData, BrokenRecord: a file is absent or broken.
        InvalidDataset: a request names an unknown operation.
    """
    found = [
        *_written(datasets / "written" / "requests.jsonl.gz"),
        *_conversations(datasets / "conversations.jsonl", apis),
        *_near_misses(datasets / "graded" / "near-misses.jsonl"),
    ]
    for asked in found:
        unknown = [number for number in asked.named if number not in apis]
        if unknown or not asked.named:
            raise InvalidDataset(f"request {asked.id}: it names the operations {unknown or 'of nothing'}")
    return found


def split_of_asked(asked: AskedRequest, apis: Mapping[int, WrittenApi]) -> Split:
    """The split of a request: the most restricted one of the providers and services that it names."""
    return split_of_request(apis[number].operation.group for number in asked.named)


def draw(
    pool: Iterable[AskedRequest], count: int, apis: Mapping[int, WrittenApi], left_out: Container[str] = ()
) -> list[AskedRequest]:
    """So many requests by `SHARES`, each of the provider with the fewest so far; none of the split `test`.

    Equal arguments give equal draws.

    Args:
        pool: all requests.
        count: how many; fewer where the pool has no more.
        apis: operations by id.
        left_out: ids of requests that are not to be drawn.
    """
    waiting: defaultdict[RequestSort, list[AskedRequest]] = defaultdict(list)
    for asked in sorted(pool, key=lambda each: _chance(each.id)):
        if asked.sort and asked.id not in left_out and split_of_asked(asked, apis) != "test":
            waiting[asked.sort].append(asked)
    drawn: list[AskedRequest] = []
    taken: Counter[RequestSort] = Counter()
    used: Counter[str] = Counter()
    while len(drawn) < count and any(waiting.values()):
        sort = min(
            (each for each in SHARES if waiting[each]), key=lambda each: (taken[each] + 1) / SHARES[each]
        )
        of = [apis[each.named[0]].operation.group for each in waiting[sort]]
        place = min(range(len(of)), key=lambda n: (used[of[n]], n))
        drawn.append(waiting[sort].pop(place))
        taken[sort] += 1
        used[of[place]] += 1
    return drawn


def _chance(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _written(path: Path) -> Iterator[AskedRequest]:
    for line, row in enumerate(read_records(path)):
        relevant = tuple(dict.fromkeys(row["relevant"]))
        also = tuple(number for number in dict.fromkeys(row["also"]) if number not in relevant)
        yield AskedRequest(f"w-{line}", row["request"], row["style"], relevant, also)


def _near_misses(path: Path) -> Iterator[AskedRequest]:
    if path.is_file():
        for line, row in enumerate(read_records(path)):
            yield AskedRequest(f"n-{line}", row["request"], "near-miss", (), (), tuple(row["near"]))


def _conversations(path: Path, apis: Mapping[int, WrittenApi]) -> Iterator[AskedRequest]:
    """Those whose ids have an even digest: benchmarks report the others."""
    for row in read_records(path):
        if hashlib.blake2b(row["id"].encode(), digest_size=1).digest()[0] % 2:
            continue
        *before, last = row["messages"]
        relevant = tuple(dict.fromkeys(row["relevant"]))
        also = tuple(number for number in dict.fromkeys(row["also"]) if number not in relevant)
        context = tuple(_message(message, apis) for message in before)
        yield AskedRequest(f"c-{row['id']}", last["content"], "conversation", relevant, also, context=context)


def _message(message: Mapping[str, Any], apis: Mapping[int, WrittenApi]) -> dict[str, Any]:
    found = {"role": message["role"], "content": message["content"]}
    return found | {"name": apis[message["tool"]].api} if "tool" in message else found


def messages_of(asked: AskedRequest) -> Sequence[dict[str, Any]]:
    """The conversation in the form of chat completions, with the calls that brought the results."""
    found: list[dict[str, Any]] = []
    for message in asked.context:
        if message["role"] == "tool":
            function = {"name": message["name"], "arguments": "{}"}
            call = {"id": "1", "type": "function", "function": function}
            found.append({"role": "assistant", "content": None, "tool_calls": [call]})
            found.append({"role": "tool", "tool_call_id": "1", "content": message["content"]})
        else:
            found.append(message)
    return [*found, {"role": "user", "content": asked.request}]
