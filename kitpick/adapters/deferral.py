"""Tool search of Anthropic and OpenAI, answered by a catalog: a tool is not loaded until it is found.

Both providers let the client search. The model calls the search, the client answers with references
(Anthropic) or definitions (OpenAI), and from then on the model can call what was found. What is loaded is
read from the conversation itself. So an object serves many conversations, a restart loses nothing, and what
was found stays loaded as long as the answer that found it is among the messages. Neither provider's package
is needed: messages are dictionaries, or the objects of the SDKs.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import msgspec

from kitpick.adapters.errors import CatalogTooLarge, OwnToolClash, UnknownPinnedTool
from kitpick.adapters.found_tools import FoundTools
from kitpick.adapters.model_calls import (
    CallAnswer,
    ModelCall,
    ReadyCall,
    arun_call,
    decoded_arguments,
    run_call,
)
from kitpick.adapters.provider_messages import (
    given_functions,
    plain,
    plain_conversation,
    referenced_tools,
    text_of,
    tool_uses,
    without_functions,
    without_references,
)
from kitpick.adapters.tools import CallableTool, OwnTool, Run
from kitpick.capabilities import MAX_STEPS, CapabilityArguments, arguments_schema, no_tool_fits
from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.exposure import MOST_TOKENS
from kitpick.held_identifiers import held_identifiers
from kitpick.result import Depth
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.decoding import convert_to
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.definitions import DefinitionFormat, render_definitions
from kitpick_ingest.function_names import function_names
from kitpick_ingest.namespaces import in_namespaces, namespace_name
from kitpick_rescorers.search import SearchHit
from kitpick_rescorers.state import HeldIdentifier

if TYPE_CHECKING:
    from typing_extensions import Unpack

SEARCH = "search_tools"
"""The tool that Anthropic's models search with; no tool of a catalog can have this name."""
MAX_DEFERRED = 10_000
"""Tools that Anthropic takes in one request."""
MAX_CALLS = 100
"""Calls of one turn that are answered by running something; those behind are refused."""
Namespaces = Literal["found", "all"]
"""Which functions OpenAI is given in namespaces: those that a search found, or from the first turn on every
deferred one too, so that the model knows from their descriptions what there is."""
Said = dict[str, Any]
"""A message or an item, as a dictionary."""
_UNLOADED = "not loaded any more: search again for what is needed"
_NOBODY = Filter()
_DESCRIPTION = (
    "Finds tools. Most tools are not loaded: search before you say that something cannot be done, with one "
    "short capability for each step. What is found can be called from then on."
)


class _Deferral(ABC):
    """What both providers' protocols have in common."""

    format: DefinitionFormat
    most: int | None = None
    """Tools that the provider takes in one request."""
    most_tokens = MOST_TOKENS
    """Tokens of the definitions that one answer loads; its first tool is loaded in any case."""

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        pinned: Sequence[str | OwnTool] = (),
        k: Depth = 5,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | None = None,
    ) -> None:
        """Reads the tools of a catalog once, ordered by id. To follow a change, make another object.

        Args:
            catalog: where is searched.
            run: calls an API with arguments; may be async, see `aanswers`.
            pinned: tools that are loaded from the first turn on, never deferred: ids, and tools of the agent
                itself, which are in no catalog.
            k: how many tools at most a capability finds; "auto": as many as it needs.
            filter: who asks: what they may not see is neither registered nor found nor called.
            profile: as in `Catalog.search`.

        Raises:
            EmptyCatalog: nothing was ingested yet.
            UnknownPinnedTool: one of `pinned` is not there.
            OwnToolClash: a tool of the agent itself has no name, or that of another tool.
        """
        self._catalog = catalog
        self._run = run
        self._filter = filter
        self._k = k
        self._search = partial(catalog.search, filter=filter, profile=profile)
        self._found = FoundTools(catalog, filter)
        self._tokens = DefinitionTokens()
        documents = list(catalog.documents(filter))
        self.names = dict(
            zip([document.id for document in documents], function_names(documents), strict=True)
        )
        """Id → name: it depends on nothing but the tool, so it is the same tomorrow."""
        self._ids = {name: key for key, name in self.names.items()}
        held = frozenset(key for key in pinned if isinstance(key, str))
        for key in sorted(held - self.names.keys()):
            raise UnknownPinnedTool(key)
        self._pinned = frozenset(self.names[key] for key in held)
        self._own = _by_name([tool for tool in pinned if isinstance(tool, OwnTool)], self._ids)
        self._first = [
            self._search_tool(),
            *(tool.definition for tool in self._own.values()),
            *self._definitions([document for document in documents if document.id in held]),
        ]
        self._others = {
            self.names[document.id]: document for document in documents if document.id not in held
        }
        self._tools: list[dict[str, Any]] | None = None

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Every tool that a provider may be told of, deferred ones too, in the same order in each request.

        Raises:
            CatalogTooLarge: more tools than the provider takes in one request; see `tools_for`.
        """
        if self.most is not None and len(self.names) > self.most:
            raise CatalogTooLarge(len(self.names), self.most)
        if self._tools is None:
            self._tools = [*self._first, *self._registered(list(self._others.values()))]
        return self._tools

    def tools_for(self, conversation: Sequence[Any], loaded: Iterable[str] = ()) -> list[dict[str, Any]]:
        """The `tools` of the next request that this conversation needs, and no others.

        The search, the agent's own and the pinned tools come first, then what was found, in the order in
        which it was found: the list only grows, so that caches hold. Its size depends on the conversation,
        not on the catalog.

        Args:
            conversation: messages (Anthropic) or input items (OpenAI) that are sent with it.
            loaded: as for `answers`.
        """
        said = [plain(each) for each in conversation]
        names = dict.fromkeys([*loaded, *self._loaded_by(said), *sorted(self._called_in(said))])
        found = [self._others[name] for name in names if name in self._others]
        return [*self._first, *self._registered_as_found(found)]

    def answers(
        self, conversation: Sequence[Any], loaded: Iterable[str] = (), *, client: str | None = None
    ) -> list[dict[str, Any]]:
        """Answers to the calls at the end of a conversation, in the order of the calls.

        A tool that was not loaded, or never offered, is not called: the answer says so and what to do. What
        `run` raises is said to the model. Several calls of one turn are answered together.

        Args:
            conversation: messages (Anthropic) or input items (OpenAI) up to what the model said last.
            loaded: names loaded by messages that are not in `conversation`, because the provider keeps them.
            client: in whose name calls of found tools become feedback: chosen, or failed where `run` raises;
                None gives none. See `finish` for tools that are never called.

        Raises:
            EngineError, RescorerError: the catalog cannot be searched.
            AsyncRun: what `run` gives has to be awaited.
        """
        ready = [prepare() for prepare in self._preparing(conversation, loaded)]
        answers = [
            self._told(one, run_call(one), client) if isinstance(one, ReadyCall) else one for one in ready
        ]
        return [self._sent(answer) for answer in answers]

    async def aanswers(
        self, conversation: Sequence[Any], loaded: Iterable[str] = (), *, client: str | None = None
    ) -> list[dict[str, Any]]:
        """`answers`, with calls side by side and searches in worker threads; `run` may be async."""
        preparing = self._preparing(conversation, loaded)
        answers = await asyncio.gather(*(self._aanswered(prepare, client) for prepare in preparing))
        return [self._sent(answer) for answer in answers]

    async def _aanswered(
        self, prepare: Callable[[], CallAnswer | ReadyCall], client: str | None
    ) -> CallAnswer:
        one = await asyncio.to_thread(prepare)
        if not isinstance(one, ReadyCall):
            return one
        return await asyncio.to_thread(self._told, one, await arun_call(one), client)

    def _told(self, ready: ReadyCall, answer: CallAnswer, client: str | None) -> CallAnswer:
        """The answer, of which feedback is given."""
        if isinstance(ready.tool, CallableTool):
            api, searches = ready.tool.document.id, ready.call.searches
            self._found.tell(client, api, searches, failed=answer.failed)
        return answer

    def finish(self, conversation: Sequence[Any], *, client: str) -> int:
        """Gives feedback on a conversation that is over: found tools that were never called were not needed.

        That is said only beside a tool of the same answer whose call succeeded.

        Returns:
            How many ids were remembered.
        """
        return self._found.finish(client, self._searches([plain(each) for each in conversation]))

    def shortened(self, conversation: Sequence[Any], most_tokens: int = MOST_TOKENS) -> list[Any]:
        """The conversation with fewer tools loaded, to go on with where its prompt cache is lost anyway.

        What was found longest ago goes first, until the definitions take no more than `most_tokens`. A tool
        that the conversation calls stays: a provider may want the definition of what is called. One that the
        catalog has no more goes. The answers of the searches say less then; nothing else changes.
        """
        said = [plain(each) for each in conversation]
        loaded, called = list(self._loaded_by(said)), self._called_in(said)
        latest = [self._ids[name] for name in dict.fromkeys(reversed(loaded)) if name in self._ids]
        found = {self.names[one.id]: one for one in self._catalog.engine.fetch(latest, self._filter)}
        room = most_tokens - self._tokens.of([one for name, one in found.items() if name in called])
        others = [name for name in found if name not in called]
        sizes = accumulate(self._tokens.of([found[name]]) for name in others)
        kept = {name for name, size in zip(others, sizes, strict=True) if size <= room}
        gone = set(loaded) - called - kept
        return [self._without(message, gone) for message in conversation]

    @abstractmethod
    def _loaded_by(self, said: Sequence[Said]) -> Iterator[str]:
        """Names that answers to searches loaded, the oldest first."""

    @abstractmethod
    def _called_in(self, said: Sequence[Said]) -> set[str]:
        """Names of all tools that a conversation calls."""

    @abstractmethod
    def _without(self, message: object, gone: Collection[str]) -> object:
        """A message or an item that loads none of these tools."""

    @abstractmethod
    def _search_tool(self) -> dict[str, Any]:
        """The tool that the model searches with."""

    @abstractmethod
    def _registered(self, deferred: list[ApiDocument]) -> list[dict[str, Any]]:
        """What a request says of all tools that are not loaded."""

    @abstractmethod
    def _registered_as_found(self, found: list[ApiDocument]) -> list[dict[str, Any]]:
        """What a request has to say of tools that its conversation loads."""

    @abstractmethod
    def _calls(self, said: Sequence[Said], loaded: frozenset[str]) -> list[ModelCall]:
        """Calls at the end of a conversation that are still to be answered."""

    @abstractmethod
    def _searches(self, said: Sequence[Said]) -> tuple[str, ...]:
        """Ids of all calls of the search in a conversation, the oldest first."""

    @abstractmethod
    def _sent(self, answer: CallAnswer) -> dict[str, Any]:
        """An answer in the provider's form."""

    def _preparing(
        self, conversation: Sequence[Any], loaded: Iterable[str]
    ) -> list[Callable[[], CallAnswer | ReadyCall]]:
        """For each call that is to be answered, what answers it or makes it ready to run."""
        held = held_identifiers(plain_conversation(conversation))
        calls = self._calls([plain(each) for each in conversation], frozenset(loaded))
        return [partial(self._prepared, call, held) for call in calls]

    def _prepared(self, call: ModelCall, held: Sequence[HeldIdentifier]) -> CallAnswer | ReadyCall:
        if call.refused:
            return CallAnswer(call, call.refused, failed=True, found=() if call.is_search else None)
        if call.is_search:
            return self._searched(call, held)
        if call.name in self._own and call.namespace in ("", call.name):
            return self._with_arguments(call, self._own[call.name])
        if call.name not in self._ids:
            return CallAnswer(call, f"there is no tool {call.said!r}: search for one", failed=True)
        if call.name not in call.loaded | self._pinned:
            what = f"the tool {call.name!r} is not loaded: search for what it does, then call it"
            return CallAnswer(call, what, failed=True)
        return self._ready(call)

    def _ready(self, call: ModelCall) -> CallAnswer | ReadyCall:
        """Reads the document again, with the filter: what was taken away meanwhile is not called."""
        documents = self._catalog.engine.fetch([self._ids[call.name]], self._filter)
        if not documents:
            return CallAnswer(
                call, f"the tool {call.name!r} is no longer there: search for another", failed=True
            )
        (document,) = documents
        place = namespace_name(document)
        if call.namespace not in ("", place, call.name):  # OpenAI says its own name of a function without one
            what = f"there is no tool {call.said!r}: {call.name!r} is in the namespace {place!r}"
            return CallAnswer(call, what, failed=True)
        return self._with_arguments(call, CallableTool(call.name, "", {}, False, document, self._run))

    def _with_arguments(self, call: ModelCall, tool: CallableTool | OwnTool) -> CallAnswer | ReadyCall:
        try:
            return ReadyCall(call, tool, decoded_arguments(call.arguments))
        except msgspec.MsgspecError as error:
            return CallAnswer(call, f"the arguments are no JSON object: {error}", failed=True)

    def _searched(self, call: ModelCall, held: Sequence[HeldIdentifier]) -> CallAnswer:
        try:
            wanted = convert_to(decoded_arguments(call.arguments), CapabilityArguments)
        except msgspec.MsgspecError as error:
            what = f"the search takes `capabilities`, a list of 1 to {MAX_STEPS} short texts: {error}"
            return CallAnswer(call, what, failed=True, found=())
        try:
            steps = wanted.search(partial(self._search, held=held), self._k)
        except KitpickError as error:
            return CallAnswer(call, f"the search failed: {error}", failed=True, found=())
        known = [hit for hit in steps.joint if hit.id in self.names]
        here = [hit for hit in known if self.names[hit.id] in self._pinned]
        found = self._fitting([hit for hit in known if hit not in here])
        self._found.remember(call.id, steps, {hit.id for hit in (*here, *found)})
        names = ", ".join(self.names[hit.id] for hit in here)
        return CallAnswer(call, f"loaded already: {names}" if here else no_tool_fits(steps), found=found)

    def _fitting(self, hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
        """Those whose definitions fit together, the best of each capability first."""
        room = self.most_tokens
        fitting: list[SearchHit] = []
        for hit in hits:
            size = self._tokens.of([hit.document])
            if size <= room or not fitting:
                fitting.append(hit)
                room -= size
        return tuple(fitting)

    def _definitions(self, documents: Sequence[ApiDocument]) -> list[dict[str, Any]]:
        rendered = render_definitions(documents, self.format)
        return [
            definition | {"name": self.names[document.id]}
            for document, definition in zip(documents, rendered, strict=True)
        ]


class AnthropicDeferral(_Deferral):
    """A catalog for Anthropic's Messages API: a tool that searches is answered with `tool_reference` blocks.

    `tools_for` holds the search, the agent's own and the pinned tools, then those that were found, with
    `defer_loading`; `tools` holds every other one so. `answers` gives `tool_result` blocks: the beginning of
    the user's next message, before any text.
    """

    format = "anthropic"
    most = MAX_DEFERRED

    def _search_tool(self) -> dict[str, Any]:
        return {
            "name": SEARCH,
            "description": _DESCRIPTION,
            "input_schema": arguments_schema(CapabilityArguments),
        }

    def _registered(self, deferred: list[ApiDocument]) -> list[dict[str, Any]]:
        return [definition | {"defer_loading": True} for definition in self._definitions(deferred)]

    def _registered_as_found(self, found: list[ApiDocument]) -> list[dict[str, Any]]:
        return self._registered(found)

    def _calls(self, said: Sequence[Said], loaded: frozenset[str]) -> list[ModelCall]:
        if not said or said[-1].get("role") != "assistant":
            return []
        loaded |= frozenset(self._loaded_by(said[:-1]))
        searches = self._searches(said[:-1])
        uses = {use["id"]: use for use in tool_uses(said[-1])}
        return [
            ModelCall(
                id_, use["name"], use.get("input"), loaded, use["name"] == SEARCH, searches, _refused(place)
            )
            for place, (id_, use) in enumerate(uses.items())
        ]

    def _loaded_by(self, said: Sequence[Said]) -> Iterator[str]:
        return referenced_tools(said, SEARCH)

    def _called_in(self, said: Sequence[Said]) -> set[str]:
        return {use["name"] for message in said for use in tool_uses(message)}

    def _without(self, message: object, gone: Collection[str]) -> object:
        return without_references(message, gone, _UNLOADED)

    def _searches(self, said: Sequence[Said]) -> tuple[str, ...]:
        by_model = (message for message in said if message.get("role") == "assistant")
        return tuple(use["id"] for message in by_model for use in tool_uses(message) if use["name"] == SEARCH)

    def _sent(self, answer: CallAnswer) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.call.id}
        if answer.found:  # references stand alone: no text beside them
            references = [{"type": "tool_reference", "tool_name": self.names[hit.id]} for hit in answer.found]
            return block | {"content": references}
        return block | {"content": answer.text} | ({"is_error": True} if answer.failed else {})


class _Others(TypedDict, total=False):
    """What a deferral takes for any provider."""

    pinned: Sequence[str | OwnTool]
    k: Depth
    filter: Filter
    profile: str | None


class OpenAIDeferral(_Deferral):
    """A catalog for OpenAI's Responses API: a `tool_search` that the client executes.

    `tools` holds the search, the agent's own and the pinned tools. Found tools come with the answer, a
    `tool_search_output` at the end of the input, so nothing before it changes. `answers` gives items to
    append to the input.

    With `namespaces`, functions come inside the namespace of their tool, in `tools` ordered by id. Their
    names stay the same, so a call means one API with its namespace, without it, and as `namespace.name`; a
    call in a foreign namespace is refused.
    """

    format = "responses"

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        namespaces: Namespaces | None = None,
        **others: Unpack[_Others],
    ) -> None:
        """As for Anthropic, and which functions are grouped; pinned ones stay outside of namespaces."""
        self._namespaces = namespaces
        super().__init__(catalog, run, **others)

    def _search_tool(self) -> dict[str, Any]:
        return {
            "type": "tool_search",
            "execution": "client",
            "description": _DESCRIPTION,
            "parameters": arguments_schema(CapabilityArguments),
        }

    def _registered(self, deferred: list[ApiDocument]) -> list[dict[str, Any]]:
        return self._deferred(deferred) if self._namespaces == "all" else []

    def _registered_as_found(self, found: list[ApiDocument]) -> list[dict[str, Any]]:
        return []  # definitions came with the answers

    def _deferred(self, documents: list[ApiDocument]) -> list[dict[str, Any]]:
        """Functions to be loaded by a search, in namespaces if that is wanted."""
        functions = [definition | {"defer_loading": True} for definition in self._definitions(documents)]
        return in_namespaces(documents, functions) if self._namespaces else functions

    def _calls(self, said: Sequence[Said], loaded: frozenset[str]) -> list[ModelCall]:
        answered = {text_of(item.get("call_id")) for item in said if item.get("type") in _OUTPUTS}
        pending: dict[str, ModelCall] = {}
        searches = self._searches(said)
        for item in said:
            kind, id_ = item.get("type"), text_of(item.get("call_id"))
            if kind == "tool_search_output":
                loaded |= frozenset(given_functions(item.get("tools")))
            elif kind not in _CALLS or not id_ or id_ in answered or item.get("execution") == "server":
                continue
            else:
                namespace, name = self._named(item)
                is_search, refused = kind == "tool_search_call", _refused(len(pending))
                given = item.get("arguments")
                call = ModelCall(id_, name, given, loaded, is_search, searches, refused, namespace)
                pending.setdefault(id_, call)
        return list(pending.values())

    def _loaded_by(self, said: Sequence[Said]) -> Iterator[str]:
        outputs = (item for item in said if item.get("type") == "tool_search_output")
        return (name for output in outputs for name in given_functions(output.get("tools")))

    def _called_in(self, said: Sequence[Said]) -> set[str]:
        return {self._named(item)[1] for item in said if item.get("type") == "function_call"}

    def _without(self, message: object, gone: Collection[str]) -> object:
        return without_functions(message, gone)

    def _named(self, item: dict[str, Any]) -> tuple[str, str]:
        """Namespace and name of a function that is called; a model may write both as one name."""
        namespace, name = text_of(item.get("namespace")), text_of(item.get("name"))
        if namespace or name in self._own:
            return namespace, name
        namespace, _, name = name.rpartition(".")
        return namespace, name

    def _searches(self, said: Sequence[Said]) -> tuple[str, ...]:
        found = (text_of(item.get("call_id")) for item in said if item.get("type") == "tool_search_call")
        return tuple(id_ for id_ in found if id_)

    def _sent(self, answer: CallAnswer) -> dict[str, Any]:
        if answer.found is None:
            text = f"error: {answer.text}" if answer.failed else answer.text
            return {"type": "function_call_output", "call_id": answer.call.id, "output": text}
        return {
            "type": "tool_search_output",
            "execution": "client",
            "call_id": answer.call.id,
            "status": "incomplete" if answer.failed else "completed",
            "tools": self._deferred([hit.document for hit in answer.found]),
        }


_CALLS = ("function_call", "tool_search_call")
_OUTPUTS = ("function_call_output", "tool_search_output")


def _by_name(own: Iterable[OwnTool], taken: Iterable[str]) -> dict[str, OwnTool]:
    """Tools of the agent itself by their names; refuses one that is empty or taken."""
    names = {"", SEARCH, *taken}
    found: dict[str, OwnTool] = {}
    for tool in own:
        if tool.name in names or tool.name in found:
            raise OwnToolClash(tool.name)
        found[tool.name] = tool
    return found


def _refused(place: int) -> str:
    return "" if place < MAX_CALLS else f"more than {MAX_CALLS} calls in one turn: call it again later"
