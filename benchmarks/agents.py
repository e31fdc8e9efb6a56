"""What an agent's tool search gains by the conversation and by capabilities, and what its prompts cost.

Catalog: the 12,803 operations of `datasets/written`, profile `hybrid` unless another is named.

- `followups`: conversations whose last message needs one operation. The rules of `kitpick.conversation` were
  chosen on one half of them (by a hash of the id); the other half is reported. Beside them: the last message
  alone, all messages joined, the same with the names of all tools that were called, and requests that stand
  alone behind a conversation about something else, which the rules must not harm. `followup_recall_gain` is
  over the better of the first two.
- `capabilities`: requests that need one to four operations, as they were written and as the short
  capabilities that an agent asks a tool search for.
- `prompts`: conversations of 20 turns, made of recorded ones. Tokens that are sent, and those that a cache of
  prefixes serves, where all tools are sent, five new ones each turn, or what was found is appended once
  (`kitpick.exposure`). A turn is three requests where a search is needed, two otherwise.
- `payloads`: the requests of such conversations to Anthropic's API, where all tools are loaded, where all
  are registered deferred, and where those that were found are (`AnthropicDeferral.tools` and `tools_for`):
  their bytes, the tokens of their prompts, and how many of these a cache of prefixes serves. A deferred tool
  is no part of a prompt before a message refers to it, and stands there from then on, as Anthropic says.
- `answers`: how many bytes the MCP server's answer with five tools has, and `live`: how soon a search knows a
  tool that another server has just announced. See `live_tools.py`.

`--part NAME` (repeatable) takes only some; `--limit N` so many rows of each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from statistics import median
from typing import Any, NamedTuple

import msgspec
from live_tools import measure_answers, measure_changes
from rich.console import Console
from rich.table import Table
from shared_data import DATASETS, Listed

from kitpick.adapters.deferral import SEARCH, AnthropicDeferral
from kitpick.adapters.provider_messages import referenced_tools
from kitpick.capabilities import search_steps
from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.conversation import called_names, name_words, request_of
from kitpick.definition_tokens import DefinitionTokens
from kitpick.exposure import Exposure, Shown
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_ingest.function_names import function_name
from kitpick_rescorers.packing import TokenCounter
from kitpick_training.data.records import read_records
from kitpick_training.data.written import WrittenRequest, read_apis, read_written

DEPTH = 5
ALONE = 150
TURNS = 20
CHAINS = 5
PAYLOAD_TOOLS = 1_746
"""Tools of the catalog whose requests are weighed."""
DEFERRED = "defer_loading"
"""Key of a tool that is not loaded."""
Figures = dict[str, float]
Messages = list[dict[str, Any]]
Part = tuple[str, int]
"""Of a prompt: what it is, and its tokens."""
Registering = Callable[[list[Any]], list[dict[str, Any]]]
"""The tools that go with the messages of a request."""


class Case(msgspec.Struct, frozen=True):
    """A conversation and the ids of the operations that its last message needs."""

    id: str
    kind: str
    messages: Messages
    relevant: frozenset[str]
    also: frozenset[str]
    """Would answer as fairly: neither right nor wrong."""

    def recall(self, ranking: Sequence[str]) -> float:
        """Share of what is needed among the first five."""
        counted = [key for key in ranking if key not in self.also][:DEPTH]
        return len(self.relevant & set(counted)) / len(self.relevant)


def main() -> None:
    """Prints tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=tuple(PARTS))
    parser.add_argument("--profile", default="hybrid")
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    documents = {api.id: api.document("written") for api in read_apis(DATASETS / "written")}
    settings = Settings(profile=arguments.profile)
    parts = arguments.part or list(PARTS)
    taken = _of_large_tools(documents) if parts == ["payloads"] else documents
    place = settings.embedding_cache.parent / "evaluation" / f"written-{len(taken)}-operations.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    figures: Figures = {}
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        catalog.ingest(Listed("written", taken.values()), progress=progress())
        for part in parts:
            figures |= PARTS[part](catalog, documents, arguments.limit)
    print(json.dumps({key: round(value, 4) for key, value in figures.items()}))


def _of_large_tools(documents: Mapping[int, ApiDocument]) -> dict[int, ApiDocument]:
    """Those whose requests are weighed: what nobody is shown, nobody has to embed for that."""
    kept = _large_tools(documents, PAYLOAD_TOOLS)
    return {number: document for number, document in documents.items() if document.tool_key in kept}


def followups(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Recall of follow-ups, by the conversation and without it, on the half that chose nothing."""
    cases = [case for case in read_cases(documents) if reported(case)][:limit]
    alone = list(_behind_others(cases, documents))[: limit or ALONE]
    table = Table("searched with", "R@5 of follow-ups", "R@5 of requests that stand alone")
    means: dict[str, tuple[float, float]] = {}
    for name, ask in WAYS.items():
        own, others = _recalls(catalog, cases, ask), _recalls(catalog, alone, ask)
        means[name] = (_mean(own.values()), _mean(others.values()))
        table.add_row(name, *(f"{100 * value:.1f}" for value in means[name]))
        if name == "the conversation":
            by_kind = own
    Console().print(table)
    Console().print(_by_kind(cases, by_kind))
    return followup_figures(means)


def followup_figures(means: Mapping[str, tuple[float, float]]) -> Figures:
    """The figures, from recalls of follow-ups and of requests that stand alone, by way of searching."""
    (last, alone_last), (joined, _), (named, alone_named), (ours, alone_ours) = means.values()
    return {
        "followup_recall_last": last,
        "followup_recall_joined": joined,
        "followup_recall_joined_names": named,
        "followup_recall": ours,
        "followup_recall_gain": ours - max(last, joined),
        "gain_over_last": ours - last,
        "gain_over_joined": ours - joined,
        "gain_over_joined_names": ours - named,
        "standing_alone_loss": alone_last - alone_ours,
        "standing_alone_loss_joined_names": alone_last - alone_named,
    }


def _joined(messages: Messages) -> str:
    return "\n".join(filter(None, (message["content"] for message in messages)))


def _with_names(messages: Messages) -> str:
    return " ".join((_joined(messages), *map(name_words, sorted(called_names(messages)))))


WAYS: dict[str, Callable[[Messages], str]] = {
    "the last message": lambda messages: str(messages[-1]["content"]),
    "all messages": _joined,
    "all messages and the names of the tools": _with_names,
    "the conversation": request_of,
}


def read_cases(documents: Mapping[int, ApiDocument], file: str = "conversations.jsonl") -> list[Case]:
    """The conversations in the form of chat completions, with the calls that brought the results.

    Those on which rules may be chosen are left out, where a file marks them.
    """
    return [
        Case(
            row["id"],
            row["kind"],
            list(_chat(row["messages"], documents)),
            frozenset(documents[api].id for api in row["relevant"]),
            frozenset(documents[api].id for api in row["also"])
            - {documents[api].id for api in row["relevant"]},
        )
        for row in read_records(DATASETS / file)
        if row.get("half") != "chosen"
    ]


def reported(case: Case) -> bool:
    """Whether a conversation is of the half that chose nothing."""
    return hashlib.blake2b(case.id.encode(), digest_size=1).digest()[0] % 2 == 1


def _chat(messages: Messages, documents: Mapping[int, ApiDocument]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if message["role"] != "tool":
            yield message
            continue
        function = {"name": function_name(documents[message["tool"]]), "arguments": "{}"}
        call = {"id": "1", "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": "1", "content": message["content"]}


def _behind_others(cases: Sequence[Case], documents: Mapping[int, ApiDocument]) -> Iterator[Case]:
    """Requests written by themselves, each behind a conversation about something else."""
    ids = {api.operation: documents[api.id].id for api in read_apis(DATASETS / "written")}
    generator = random.Random(1)
    requests = list(read_written(DATASETS / "written"))
    for request in generator.sample(requests, ALONE):
        before = generator.choice(cases)
        messages = [*before.messages[:-1], {"role": "user", "content": request.text}]
        right = frozenset(ids[api.operation] for api in request.relevant)
        also = frozenset(ids[api.operation] for api in request.also) - right
        yield Case(request.id, "alone", messages, right, also)


def _recalls(catalog: Catalog, cases: Sequence[Case], ask: Callable[[Messages], str]) -> dict[str, float]:
    return {case.id: case.recall(_ids(catalog, ask(case.messages))) for case in cases}


def _ids(catalog: Catalog, request: str) -> list[str]:
    """Deep enough that operations left out of the count do not shorten the list."""
    return [hit.document.id for hit in catalog.search(request, 3 * DEPTH).hits]


def _by_kind(cases: Sequence[Case], recalls: Mapping[str, float]) -> Table:
    table = Table("kind", "conversations", "R@5 by the conversation")
    kinds: defaultdict[str, list[float]] = defaultdict(list)
    for case in cases:
        kinds[case.kind].append(recalls[case.id])
    for kind, values in sorted(kinds.items()):
        table.add_row(kind, str(len(values)), f"{100 * _mean(values):.1f}")
    return table


def capabilities(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Recall by the request as it was written, and by one short capability a step."""
    rows = read_capabilities(documents)[:limit]
    raw, steps = [], []
    for text, case, wanted in rows:
        raw.append(case.recall(_ids(catalog, text)))
        found = search_steps(lambda text: catalog.search(text, 3 * DEPTH), wanted)
        steps.append(case.recall([hit.document.id for hit in found.joint]))
    table = Table("searched with", f"R@5 of {len(rows)} requests")
    table.add_row("the request", f"{100 * _mean(raw):.1f}")
    table.add_row("its capabilities", f"{100 * _mean(steps):.1f}")
    Console().print(table)
    return {"capability_recall": _mean(steps), "capability_gain": _mean(steps) - _mean(raw)}


def read_capabilities(documents: Mapping[int, ApiDocument]) -> list[tuple[str, Case, list[str]]]:
    """Requests as they came, what they need, and their capabilities."""
    ids = {api.operation: documents[api.id].id for api in read_apis(DATASETS / "written")}
    requests = list(read_written(DATASETS / "written"))
    rows = [row for row in read_records(DATASETS / "capabilities.jsonl") if row["id"].startswith("d:")]
    asked = [(requests[int(row["id"][2:]) - 1], row["steps"]) for row in rows]
    return [(request.text, _case(request, ids), steps) for request, steps in asked]


def prompts(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Tokens of whole conversations, and what a prefix cache serves of them."""
    tokens = DefinitionTokens()
    everything = ("all tools", tokens.of(list(documents.values())))
    sent: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for conversation in _chains(read_cases(documents), min(limit or CHAINS, CHAINS)):
        for name, requests in _sent(catalog, conversation, everything, tokens).items():
            for total, cached in _counted(requests):
                sent[name][0] += total
                sent[name][1] += cached
    table = Table(f"of {TURNS} turns", "tokens a conversation", "of them from the cache")
    for name, (total, cached) in sent.items():
        table.add_row(name, f"{total / (limit or CHAINS):,.0f}", f"{100 * cached / total:.1f} %")
    Console().print(table)
    ours, whole, anew = sent["appended once"], sent["all tools"], sent["five anew"]
    return {
        "cached_share": ours[1] / ours[0],
        "tokens_vs_all": ours[0] / whole[0],
        "cached_share_anew": anew[1] / anew[0],
    }


def payloads(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Bytes and tokens of the requests of conversations, by which tools are registered in them."""
    narrowed = Filter(tools=_large_tools(documents, PAYLOAD_TOOLS))
    deferral = AnthropicDeferral(catalog, _answer, filter=narrowed)
    loaded = [{key: value for key, value in tool.items() if key != DEFERRED} for tool in deferral.tools]
    ways: dict[str, Registering] = {
        "all loaded": lambda _: loaded,
        "all deferred": lambda _: deferral.tools,
        "found alone": deferral.tools_for,
    }
    conversations = [
        [list(messages) for messages in _anthropic_turns(deferral, conversation)]
        for conversation in _chains(read_cases(documents), min(limit or CHAINS, CHAINS))
    ]
    found = {name: weigh(conversations, way, DefinitionTokens().counter) for name, way in ways.items()}
    _print_payloads(f"{len(deferral.names):,} tools, {TURNS} turns", found, len(conversations))
    ours, deferred = found["found alone"], found["all deferred"]
    return {
        "request_bytes_p50": median(ours.sizes),
        "request_bytes_max": max(ours.sizes),
        "request_bytes_all_p50": median(deferred.sizes),
        "payload_tokens_vs_loaded": ours.tokens / found["all loaded"].tokens,
        "payload_tokens_vs_all": ours.tokens / deferred.tokens,
        "payload_cached_share": ours.cached / ours.tokens,
        "payload_cached_share_all": deferred.cached / deferred.tokens,
    }


def _print_payloads(title: str, found: Mapping[str, Weighed], conversations: int) -> None:
    table = Table(title, "bytes of a request, median", "largest", "tokens a conversation", "from the cache")
    for name, way in found.items():
        tokens, cached = f"{way.tokens / conversations:,.0f}", f"{100 * way.cached / way.tokens:.1f} %"
        table.add_row(name, f"{median(way.sizes):,.0f}", f"{max(way.sizes):,}", tokens, cached)
    Console().print(table)


class Weighed(NamedTuple):
    """The requests of conversations: bytes of each, tokens of all prompts, and those served from a cache."""

    sizes: list[int]
    tokens: int
    cached: int


def weigh(
    conversations: Sequence[Sequence[list[Any]]], registered: Registering, counter: TokenCounter
) -> Weighed:
    """Weighs conversations, each a list of requests, each of these the messages that are sent.

    Args:
        conversations: of requests, in their order.
        registered: the tools that go with the messages of a request.
        counter: of tokens.
    """
    sizes, counted = list[int](), list[tuple[int, int]]()
    weight_of = _ToolWeights(counter)
    for requests in conversations:
        prompts: list[list[Part]] = []
        for messages in requests:
            tools = registered(messages)
            sizes.append(sum(map(weight_of.bytes, tools)) + len(json.dumps(messages).encode()))
            prompts.append(_prompt(tools, messages, weight_of))
        counted += _counted(prompts)
    return Weighed(sizes, sum(total for total, _ in counted), sum(cached for _, cached in counted))


class _ToolWeights:
    """Bytes and tokens of tools, each measured once."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._bytes: dict[tuple[str, bool], int] = {}
        self._tokens: dict[str, int] = {}

    def bytes(self, tool: Mapping[str, Any]) -> int:
        """Bytes of a tool in a request, with what stands between it and the next."""
        key = tool["name"], DEFERRED in tool
        if key not in self._bytes:
            self._bytes[key] = len(json.dumps(tool).encode()) + len(", ")
        return self._bytes[key]

    def part(self, tool: Mapping[str, Any]) -> Part:
        """A tool as a part of a prompt."""
        name = tool["name"]
        if name not in self._tokens:
            said = {key: value for key, value in tool.items() if key != DEFERRED}
            self._tokens[name] = self.counter.count(json.dumps(said))
        return f"tool {name}", self._tokens[name]


def _prompt(tools: Sequence[Mapping[str, Any]], messages: Sequence[Any], weights: _ToolWeights) -> list[Part]:
    """What the model reads: loaded tools, then messages, each with the tools that it refers to first."""
    registered = {tool["name"]: tool for tool in tools}
    prompt = [weights.part(tool) for tool in tools if DEFERRED not in tool]
    shown = {name for name, _ in prompt}
    for place, message in enumerate(messages):
        prompt.append((f"message {place}", weights.counter.count(json.dumps(message))))
        for name in referenced_tools(messages[max(place - 1, 0) : place + 1], SEARCH):
            part = weights.part(registered[name])  # one that is not registered makes the API refuse
            if part[0] not in shown:
                shown.add(part[0])
                prompt.append(part)
    return prompt


def _large_tools(documents: Mapping[int, ApiDocument], most: int) -> frozenset[str]:
    """Tool keys that have about so many operations together, the same in every run."""
    kept: set[str] = set()
    count = 0
    for document in documents.values():
        if count >= most and document.tool_key not in kept:
            continue
        kept.add(document.tool_key)
        count += 1
    return frozenset(kept)


def _anthropic_turns(deferral: AnthropicDeferral, conversation: Messages) -> Iterator[list[Any]]:
    """The messages of every request, where the model searches for what the user said last and calls it."""
    messages: list[Any] = []
    for place, message in enumerate(conversation):
        text = str(message.get("content") or "")
        if message["role"] == "assistant" and text:
            messages.append({"role": "assistant", "content": text})
        if message["role"] != "user":
            continue
        messages.append({"role": "user", "content": text})
        yield messages
        search = {
            "type": "tool_use",
            "id": f"s{place}",
            "name": SEARCH,
            "input": {"capabilities": [text[:200]]},
        }
        messages.append({"role": "assistant", "content": [search]})
        messages.append({"role": "user", "content": deferral.answers(messages)})
        yield messages


def _answer(document: ApiDocument, arguments: Mapping[str, Any]) -> str:
    return f"{document.api}: done"


def answers(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Bytes of an answer of the MCP server."""
    return measure_answers(Listed("written", documents.values()), catalog.settings, limit)


def live(catalog: Catalog, documents: Mapping[int, ApiDocument], limit: int | None) -> Figures:
    """Milliseconds from a server's notice to the search that knows."""
    return measure_changes(Listed("written", documents.values()), catalog.settings, limit)


def _chains(cases: Sequence[Case], count: int) -> Iterator[Messages]:
    """Conversations one after another, until the user has said something `TURNS` times."""
    shuffled = list(cases)
    random.Random(2).shuffle(shuffled)
    remaining = iter(shuffled)
    for _ in range(count):
        messages: Messages = []
        while sum(message["role"] == "user" for message in messages) < TURNS:
            answer = {"role": "assistant", "content": "Done."}
            messages += [*next(remaining).messages, answer]
        yield messages


def _sent(
    catalog: Catalog, conversation: Messages, everything: Part, tokens: DefinitionTokens
) -> dict[str, list[list[Part]]]:
    """By way of showing tools: every request as its parts, each with a name and its tokens."""
    exposure = Exposure()
    sent: dict[str, list[list[Part]]] = {"all tools": [], "five anew": [], "appended once": []}
    said: list[Part] = []
    appended: list[Part] = []
    for place, message in enumerate(conversation):
        part = f"message {place}", tokens.counter.count(json.dumps(message))
        said, appended = [*said, part], [*appended, part]
        if message["role"] == "user":
            hits = catalog.search(conversation[: place + 1], DEPTH).hits
            found = [hit.document for hit in hits]
            anew = [(document.id, tokens.of([document])) for document in found]
            if found and found[0] not in exposure.shown:
                sent["appended once"].append(appended)
                shown = exposure.show(found)
                appended = _after(appended, shown, exposure, tokens)
        if message["role"] in ("user", "tool"):
            sent["all tools"].append([everything, *said])
            sent["five anew"].append([*anew, *said])
            sent["appended once"].append(appended)
    return sent


def _after(appended: list[Part], shown: Shown, exposure: Exposure, tokens: DefinitionTokens) -> list[Part]:
    """The prompt after a search: with what was found at its end, or, at a boundary, made anew."""
    if shown.boundary:
        kept = [part for part in appended if part[0].startswith("message ")]
        return [*((document.id, tokens.of([document])) for document in exposure.shown), *kept]
    return [*appended, *((document.id, tokens.of([document])) for document in shown.appended)]


def _counted(requests: Sequence[Sequence[Part]]) -> Iterator[tuple[int, int]]:
    """Tokens of each request, and those of them that the one before begins with too."""
    before: Sequence[Part] = ()
    for request in requests:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, request, strict=False))
        yield sum(size for _, size in request), sum(size for (_, size), _ in same)
        before = request


def _case(request: WrittenRequest, ids: Mapping[Any, str]) -> Case:
    right = frozenset(ids[api.operation] for api in request.relevant)
    also = frozenset(ids[api.operation] for api in request.also) - right
    return Case(request.id, request.style, [], right, also)


def _mean(values: Any) -> float:  # noqa: ANN401 - any collection of numbers
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


PARTS: dict[str, Callable[[Catalog, Mapping[int, ApiDocument], int | None], Figures]] = {
    "followups": followups,
    "capabilities": capabilities,
    "prompts": prompts,
    "payloads": payloads,
    "answers": answers,
    "live": live,
}


if __name__ == "__main__":
    main()
