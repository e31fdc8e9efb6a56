"""HTTP paths of the service that search a catalog for tools, and take feedback on them.

`POST /v1/tools/search` and `POST /v1/tools/feedback`, with the keys, limits and deadlines of the service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import anyio
import msgspec
from msgspec.structs import replace
from starlette.routing import Route

from kitpick.capabilities import Capabilities, Steps, search_steps
from kitpick.conversation import NothingAsked, done_before, request_of
from kitpick.feedback import NotShown, Outcome, UnknownResult
from kitpick.held_identifiers import held_identifiers
from kitpick.known_ids import UnknownIds
from kitpick.result import SearchResult, ToolSearchProvider
from kitpick.served import ServedCatalog, endpoint, guarded_routes, require_keys
from kitpick_engines.contract import Filter
from kitpick_engines.document import Effect
from kitpick_foundation.visible import is_blank
from kitpick_ingest.definitions import DefinitionFormat
from kitpick_rescorers.intents.answers import JOINT
from kitpick_rescorers.request import Spoken
from kitpick_rescorers.search import SearchHit
from kitpick_rescorers.stages import Enough
from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.errors import Invalid, NotFound
from kitpick_service.ticket import Ticket

PATH = "/v1/tools"
MAX_REQUEST = 20_000
"""Characters of a request in words."""
_COPIES = 3
"""What a definition takes in an answer that holds it: as it was published, decoded, and encoded."""
Ids = Annotated[list[str], msgspec.Meta(max_length=100)]


class ToolSearchCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of `query`, `messages` and `capabilities`, and what is wanted of the answer."""

    query: Annotated[str, msgspec.Meta(max_length=MAX_REQUEST)] = ""
    messages: list[dict[str, Any]] | None = None
    """A conversation as OpenAI, Anthropic or MCP sampling write it."""
    capabilities: Capabilities | None = None
    k: Annotated[int, msgspec.Meta(ge=1, le=100)] | Literal["auto"] = 5
    budget: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] | None = None
    profile: str | None = None
    definitions: DefinitionFormat | None = None
    """Whole definitions in this format as well."""
    references: ToolSearchProvider | None = None
    """What the tool search of this provider is answered with as well."""
    categories: Ids = []
    tools: Ids = []
    effects: Annotated[list[Effect], msgspec.Meta(max_length=4)] = []
    deprecated: Literal["include", "exclude", "only"] = "include"


class FoundTool(msgspec.Struct, frozen=True, rename="camel"):
    """A tool that was found."""

    id: str
    name: str
    tool: str
    category: str
    description: str
    effect: Effect
    needs: tuple[str, ...]
    """Required inputs."""
    probability: float | None
    reasons: tuple[str, ...]
    steps: tuple[int, ...]
    """Numbers, from 1, of the capabilities that it serves."""


class SearchReply(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The tools for a request, every one once, the best of each capability first."""

    answer: str
    """Names this answer in `POST /v1/tools/feedback`; empty where it could not be kept."""
    hits: tuple[FoundTool, ...]
    nothing_fits: str = ""
    """Why nothing here is likely to do it; `hits` are the nearest then."""
    unmatched: tuple[str, ...] = ()
    """Capabilities that nothing fits, and sentences of the others that nothing resembles."""
    degraded: tuple[str, ...] = ()
    definitions: tuple[dict[str, Any], ...] | None = None
    references: tuple[dict[str, Any], ...] | None = None


class FeedbackCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of tools that an answer named."""

    answer: Annotated[str, msgspec.Meta(max_length=MAX_REQUEST)]
    """Its id, or what was wanted, in words."""
    chosen: Ids = []
    failed: Ids = []
    not_needed: Ids = msgspec.field(default_factory=list, name="notNeeded")
    client: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """User of whoever holds the key: two different ones have to agree."""


class FeedbackReply(msgspec.Struct, frozen=True):
    """How many verdicts were stored."""

    remembered: int


class ToolsApi:
    """Answers over one catalog with the models of the service. Safe to use from several threads.

    What cannot be answered as asked raises `Invalid`, `InvalidRequest` or `NotFound`; a catalog that cannot
    be searched or written `CatalogProblem`; models without time `Overloaded`, `DeadlinePassed`, `Cancelled`.
    """

    def __init__(self, service: Service, catalog: str | None, permitted: Filter) -> None:
        """Opens the catalog; `permitted` is the caller of a service without keys.

        Raises:
            UnknownEngine, EngineUnavailable: it cannot be opened.
            OpenToOthers: reachable from other machines, without keys.
        """
        require_keys(service, "--tools")
        self._service = service
        self._served = ServedCatalog(service, catalog, permitted)
        self._learning = self._served.catalog.learning

    def search(self, call: ToolSearchCall, ticket: Ticket) -> SearchReply:
        """Finds tools."""
        wanted = _wanted(call)
        caller = self._served.permitted(ticket)
        with self._served.problems():
            steps = search_steps(lambda text: self._found(text, call, caller, ticket), wanted)
        if ticket.refusal is not None:
            raise ticket.refusal
        found = _reply(steps, call)
        return replace(found, degraded=tuple(map(self._served.places.hidden, found.degraded)))

    def feedback(self, call: FeedbackCall, ticket: Ticket) -> FeedbackReply:
        """Takes what became of tools."""
        _require_said(call)
        key = ticket.bearer.name if self._service.settings.keys else ""
        key = key.replace("%", "%25").replace("/", "%2F")  # what a caller says never makes it another key
        client = "/".join(part for part in (key, call.client) if part)
        outcome = Outcome(call.chosen, call.failed, call.not_needed)
        with self._served.problems():
            try:
                stored = self._learning.take(call.answer, outcome, client, self._served.permitted(ticket))
            except UnknownResult as error:
                raise NotFound(str(error)) from error
            except (NotShown, UnknownIds) as error:
                raise Invalid(str(error)) from error
        return FeedbackReply(stored)

    def close(self) -> None:
        """Releases the catalog."""
        self._served.catalog.close()

    def _found(self, text: str, call: ToolSearchCall, caller: Filter, ticket: Ticket) -> SearchResult:
        profile = self._service.profile(call.profile)
        k = call.k
        if k == "auto":
            enough = Enough()
            profile, k = profile.then(enough), enough.most
        narrowed = replace(
            caller,
            categories=frozenset(call.categories),
            tools=frozenset(call.tools),
            effects=frozenset(call.effects),
            deprecated=call.deprecated,
        )
        messages = call.messages or ()
        spoken = Spoken(held_identifiers(messages), done_before(messages) if messages else ())
        outcome = self._served.way(ticket).run(text, profile, k, narrowed, call.budget, spoken)
        copies = 1 if call.definitions is None and call.references is None else _COPIES
        held = sum(len(hit.document.definition) for hit in outcome.hits)
        ticket.reserve(copies * held, "definitions of what was found: ask for fewer hits")
        return self._learning.named(text, caller, SearchResult.of(profile.name, outcome))


def tools_routes(api: ToolsApi, service: Service, threads: anyio.CapacityLimiter) -> Sequence[Route]:
    """Routes of the two paths."""
    return guarded_routes(service, tools_endpoints(api), threads)


def tools_endpoints(api: ToolsApi) -> tuple[Endpoint, ...]:
    """What the two paths are asked with, and who answers."""
    return (
        endpoint(f"{PATH}/search", "Finds tools of the catalog", (ToolSearchCall, SearchReply), api.search),
        endpoint(
            f"{PATH}/feedback", "Takes what became of tools", (FeedbackCall, FeedbackReply), api.feedback
        ),
    )


def _wanted(call: ToolSearchCall) -> list[str]:
    """The requests that a call consists of; refuses none, and several forms."""
    given = call.messages, call.capabilities
    if is_blank(call.query) and given == (None, None):
        raise Invalid(
            "the request is empty: say in words what needs to be done, as `query`, or give `messages` or "
            "`capabilities`"
        )
    if sum((not is_blank(call.query), call.messages is not None, call.capabilities is not None)) != 1:
        raise Invalid("name one of `query`, `messages` and `capabilities`")
    if call.capabilities is not None:
        return list(call.capabilities)
    try:
        return [request_of(call.messages) if call.messages is not None else call.query]
    except NothingAsked as error:
        raise Invalid(str(error)) from error


def _require_said(call: FeedbackCall) -> None:
    """Refuses feedback about no answer, or about no tool."""
    if is_blank(call.answer):
        raise Invalid("`answer` is empty: give the id of an answer, or say in words what needed to be done")
    if not (call.chosen or call.failed or call.not_needed):
        raise Invalid("say what became of which tool: its id in `chosen`, `failed` or `notNeeded`")


def _reply(steps: Steps, call: ToolSearchCall) -> SearchReply:
    results = [step.result for step in steps.steps]
    single = len(results) == 1
    hits = results[0].hits if single else steps.joint
    because = results[0].abstained_because if single and results[0].abstained else ""
    joint = replace(results[0], hits=hits, slimmed=frozenset().union(*(one.slimmed for one in results)))
    return SearchReply(
        answer=JOINT.join(one.id for one in results if one.id),
        hits=tuple(_tool(hit, steps) for hit in hits),
        nothing_fits=because,
        unmatched=() if because else steps.unmatched,
        degraded=tuple(dict.fromkeys(f"{d.stage}: {d.reason}" for one in results for d in one.degraded)),
        definitions=None if call.definitions is None else tuple(joint.definitions(call.definitions)),
        references=None if call.references is None else tuple(joint.references(call.references)),
    )


def _tool(hit: SearchHit, steps: Steps) -> FoundTool:
    document = hit.document
    return FoundTool(
        id=document.id,
        name=document.api,
        tool=document.tool,
        category=document.category,
        description=document.description,
        effect=document.effect,
        needs=tuple(each.name for each in document.parameters if each.required),
        probability=hit.probability,
        reasons=tuple(hit.reasons),
        steps=tuple(
            place
            for place, step in enumerate(steps.steps, start=1)
            if any(other.id == hit.id for other in step.hits)
        ),
    )
