"""What a hit needs first: the APIs that give the identifiers which the request does not bring itself.

A request speaks of concerts, not of the search that finds the artist's id. What APIs need and give stands in
their documents (`kitpick_engines.document.Thing`); here the two are put together, for the leading hits of a
list and for the plan of an answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_engines.document import ApiDocument, Effect, Thing, escape_part, tool_key
from kitpick_engines.text import split_identifier
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages.base import Count, Stage
from kitpick_rescorers.stages.brought import Brought, head, stems
from kitpick_rescorers.state import HeldIdentifier, State

_MOST_NEEDS = 8
_MOST_THINGS = 64
"""So many things of one API count: documents that others made may have any number of them."""
_GUESS = 0.3
"""Confidence of what a document only has out of its prose."""
_LEAST = 0.1
"""Confidence in [0, 1] that an API gives what is needed, below which it is not drawn in."""
_MOST_TOOLS = 200
"""Looked into in one round: functions of no tool are looked for by names that they may have."""
_ANY = ""
"""In place of the key of a tool: whichever."""
_MOST_GIVERS = 500
"""Compared for one need: an id that everything gives costs no more."""


Linked: TypeAlias = Candidate | ApiDocument
"""An API that is linked with others."""


class Complete(Stage, frozen=True, tag="complete"):
    """Draws in, for the leading hits, the best producer of what each needs and the request does not bring.

    A producer is of the same tool rather than of another, only reads, gives it most surely, is named after
    it or searches anything, needs least itself, has few words in its name that are not the hit's, shares
    most words with it, and is closest to the request, in this order. None makes or removes what lasts, and
    one of another tool must mean the same thing (`_acquainted`). It moves up
    behind the hit that needs it; what it needs itself is drawn in as well, `steps` deep. Where no candidate
    of the hit's tool gives what is needed, the stage needs all APIs of that tool; for a function of no tool,
    functions of names that are common for what gives the thing. Should come late, before `enough`.
    """

    leads: Count = 3
    """Hits at the head whose needs are met."""
    steps: Annotated[int, msgspec.Meta(ge=1, le=10)] = 2
    each: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    """APIs that are drawn in for one of them, at most."""

    def apply(self, state: State, models: Models) -> State:
        """The list with producers behind what needs them."""
        items = {item.id: item for item in state.ranked}
        links = Links([item.candidate for item in state.ranked], state.query, _LEAST, held=state.held)
        order: dict[str, None] = {}
        reasons: dict[str, str] = {}
        wanting: dict[str, None] = {}
        for lead in state.ranked[: self.leads]:
            state.deadline.check("not completed")
            order[lead.id] = None
            drawn = self._drawn(lead.candidate, links, wanting)
            for flow in drawn[: self.each]:
                if flow.giver.id not in order:
                    reasons[flow.giver.id] = flow.reason
                order[flow.giver.id] = None
        ranked = [items[each] for each in order] + [item for item in state.ranked if item.id not in order]
        after = state.with_ranked(ranked, reasons, f"{len(reasons)} drawn in for {self.leads} leading hits")
        return self._extended(after, wanting)

    def _drawn(self, lead: Linked, links: Links, wanting: dict[str, None]) -> list[Flow]:
        """Producers for a hit, nearest first; in `wanting` the tools that lack one."""
        drawn: dict[str, Flow] = {}
        level = [lead]
        for _ in range(self.steps):
            flows = [flow for taker in level for flow in links.into(taker)]
            for taker in level:
                met = {flow.need for flow in flows if flow.taker.id == taker.id and flow.settles}
                for need in links.open_needs(taker):
                    if need not in met:
                        wanting |= dict.fromkeys(_where(taker, need))
            new = [flow for flow in flows if flow.giver.id not in drawn and flow.giver.id != lead.id]
            for flow in new:
                drawn.setdefault(flow.giver.id, flow)
            level = [flow.giver for flow in new[: self.each]]
        return list(drawn.values())

    def _extended(self, state: State, wanting: Iterable[str]) -> State:
        tools = tuple(tool for tool in wanting if tool not in state.complete_tools)
        if not tools:
            return state
        wanted = tuple(dict.fromkeys((*state.need.apis_of_tools, *tools[:_MOST_TOOLS])))
        return replace(state, need=replace(state.need, apis_of_tools=wanted))


class Flow(NamedTuple):
    """A thing that goes from the answer of one API into the input of another."""

    giver: Linked
    taker: Linked
    need: Thing
    confidence: float
    """In [0, 1]."""

    @property
    def same_tool(self) -> bool:
        """Whether both are of one tool."""
        return self.giver.tool_key == self.taker.tool_key

    @property
    def settles(self) -> bool:
        """Whether no better one need be looked for."""
        return self.same_tool or self.need.role == "call"

    @property
    def reason(self) -> str:
        """Why the giver is drawn in."""
        if self.need.role == "call" and not self.need.input:
            return f"is called before {self.taker.api}"
        return f"gives {self.wanted} for {self.taker.api}"

    @property
    def wanted(self) -> str:
        """The input that it fills, or else what it is."""
        if self.need.role == "call":
            return self.need.input or "what is needed first"
        return self.need.input or f"{self.need.resource} {self.need.role}".strip()


class Links:
    """Who gives what among some APIs, for one request.

    Args:
        apis: in the order of the list.
        request: in words; what it brings itself, nobody needs to give.
        least: confidence below which nothing flows.
        held: what the conversation holds beside the request; nobody needs to give that either.
        making: whether a thing may come from an API that makes or changes it, as it does among calls that
            are chosen already; to look one up, nobody makes another.
    """

    def __init__(
        self,
        apis: Sequence[Linked],
        request: str = "",
        least: float = 0.1,
        *,
        held: Sequence[HeldIdentifier] = (),
        making: bool = False,
    ) -> None:
        self._least = least
        self._making = making
        self._bringing = Brought(request, held)
        self._words = stems(request)
        self._place = {api.id: place for place, api in enumerate(apis)}
        self._called = {(tool, api.api): api for api in reversed(apis) for tool in (api.tool_key, _ANY)}
        self._givers: defaultdict[str, list[tuple[Linked, Thing]]] = defaultdict(list)
        for api in apis:
            for thing in _things(api.gives):
                for name in {head(thing.resource), _joined(thing.resource)}:
                    self._givers[name].append((api, thing))

    def into(self, taker: Linked) -> Iterator[Flow]:
        """The best flow into each of an API's open needs."""
        for need in self.open_needs(taker):
            flows = [flow for flow in self._flows(taker, need) if flow.confidence >= self._least]
            if flows:
                yield max(flows, key=self._worth)

    def open_needs(self, taker: Linked) -> list[Thing]:
        """What an API needs and neither the request nor the conversation brings."""
        return [need for need in _things(taker.needs)[:_MOST_NEEDS] if not self._bringing.brings(need)]

    def held_inputs(self, taker: Linked) -> tuple[str, ...]:
        """Inputs of an API that what is held by name fills, once each, in order."""
        needs = _things(taker.needs)[:_MOST_NEEDS]
        return tuple(dict.fromkeys(need.input for need in needs if need.input and self._bringing.holds(need)))

    def _flows(self, taker: Linked, need: Thing) -> Iterator[Flow]:
        if need.role == "call":
            if (giver := self._named(taker, need.resource)) is not None:
                yield Flow(giver, taker, need, need.confidence)
            return
        heads = sorted({head(need.resource), _joined(need.resource)})
        found = chain.from_iterable(self._givers.get(name, ()) for name in heads)
        for giver, thing in islice(found, _MOST_GIVERS):
            same_tool = giver.tool_key == taker.tool_key
            confidence = _fit(need, thing, same_tool) * need.confidence * thing.confidence
            if giver.id == taker.id or not confidence or _asks_back(giver, need):
                continue
            if need.resource in _SESSIONS and not same_tool and not _lets_in(giver, taker):
                continue
            if self._making or (
                not _makes(giver, need) and (same_tool or _acquainted(giver, taker, need, thing))
            ):
                yield Flow(giver, taker, need, confidence)

    def _named(self, taker: Linked, name: str) -> Linked | None:
        """The API that a description means: of its own tool, of one it says, else where either has none."""
        own = self._called.get((taker.tool_key, name)) or self._called.get(_of_tool(taker, name))
        found = self._called.get((_ANY, name)) if own is None else own
        if found is None or found.id == taker.id or (found.effect is Effect.DESTRUCTIVE and not self._making):
            return None
        return found if own is not None or _stands_alone(taker) or _stands_alone(found) else None

    def _worth(self, flow: Flow) -> tuple[float, ...]:
        """See `Complete`; in the end the place in the list decides."""
        giver = flow.giver
        held = {(need.resource, need.role) for need in _things(flow.taker.needs)}
        own = sum((need.resource, need.role) not in held for need in self.open_needs(giver))
        name, wanted, taking = stems(giver.api), stems(flow.need.resource), stems(flow.taker.api)
        near = len(self._words & name) / (1 + len(name))
        named = wanted <= name or name <= _LOOKING
        about = (named, -own, -len(name - wanted - taking - _LOOKING), len(name & taking), near)
        return flow.same_tool, _harmless(giver), round(flow.confidence, 1), *about, -self._place[giver.id]


def _of_tool(taker: Linked, name: str) -> tuple[str, str]:
    """Key and name of an API of another tool of the same category, written `tool/name`."""
    tool, _, api = name.rpartition("/")
    key = f"{taker.tool_key.partition('/')[0]}/{tool}"
    return key, api.replace("%2F", "/").replace("%25", "%")


def _where(taker: Linked, need: Thing) -> tuple[str, ...]:
    """Keys of tools to look for a producer in: one's own; a function of no tool is a tool by itself."""
    if need.role == "call":
        said = (_of_tool(taker, need.resource)[0],) if "/" in need.resource else ()
        return *said, taker.tool_key, tool_key("", need.resource)
    if not _stands_alone(taker):
        return (taker.tool_key,)
    category = taker.tool_key.partition("/")[0]
    guessed = _logins(taker) if need.resource in _SESSIONS else _lookups(need)
    return tuple(tool_key(category, _in_style(name, taker.api)) for name in guessed)


def _lookups(need: Thing) -> list[str]:
    """What a function that gives a thing is commonly called: `get country code`, `search restaurants`."""
    one = (f"{verb} {need.resource}" for verb in ("get", "get current", "find", "lookup"))
    many = (f"{verb} {need.resource}s" for verb in ("search", "list", "get", "find"))
    return [f"get {need.resource} {need.role}", *one, *many]


_ENTRANCES = ("login", "user login", "account login")


def _logins(taker: Linked) -> list[str]:
    """What a function is commonly called that lets somebody into the product in another's name."""
    words = split_identifier(taker.api[:200]).lower().split()[:5]
    products = [each for each in (*words, *map(" ".join, pairwise(words))) if each not in _LOOKING | _MAKING]
    behind = (f"{product} {entrance}" for product in products for entrance in _ENTRANCES)
    before = (f"{verb} {product}" for product in products for verb in ("login to", "login"))
    accounts = (f"login to {product} account" for product in products)
    return ["login", *behind, *before, *accounts]


def _in_style(name: str, other: str) -> str:
    """Words as another name writes them: `get_city`, `get-city` or `getCity`."""
    for between in "_-":
        if between in other:
            return name.replace(" ", between)
    first, *rest = name.split()
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _harmless(api: Linked) -> int:
    """3 for reading, 2 where nothing is known, 1 for writing, 0 for destroying."""
    return {Effect.READ: 3, Effect.UNKNOWN: 2, Effect.WRITE: 1, Effect.DESTRUCTIVE: 0}[api.effect]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MAKING = _set("create add insert put make register new import update patch post set copy delete")
_LOOKING = _set("get list search find query lookup describe fetch read")
_BEGUN = _set(
    "job task upload session operation query execution export import report run request scan analysi "
    "simulation assessment batch download conversation search"
)
"""What is begun in order to be looked after, as stems."""


def _makes(giver: Linked, need: Thing) -> bool:
    """Whether the giver would make, change or remove what lasts: no way to find one that is there already."""
    if giver.effect is Effect.DESTRUCTIVE:
        return True
    words = stems(giver.api)
    lasting = _BEGUN.isdisjoint(stems(head(need.resource)))
    return giver.effect is Effect.WRITE and lasting and bool(words & _MAKING) and not words & _LOOKING


_IDENTIFIERS = _set("id arn key code")


def _asks_back(giver: Linked, need: Thing) -> bool:
    """Whether the giver asks for the thing itself. Who turns a name into an id does not: people say names."""
    asked = {own.role for own in _things(giver.needs) if own.resource == need.resource}
    return not asked <= {"name"} or bool(asked and need.role not in _IDENTIFIERS)


_SESSIONS = frozenset(("session", "token", "access token", "auth token"))
"""What only its own product takes."""
_ENTRY = _set("log login sign signin in to into user account session start auth authenticate get create new")
"""Words in names of APIs that let somebody in, which say nothing of what into."""


def _lets_in(giver: Linked, taker: Linked) -> bool:
    """Whether a session that one opens may be of the other's product: their names share what it is called."""
    product = stems(giver.api) - _ENTRY
    return not product or bool(product & stems(taker.api))


_VERSION = re.compile(r"v?\d|.*_v\d")
_LENT = frozenset(("role", "key", "kms key", "encryption key", "bucket", "iam role", "execution role"))
"""What services of one vendor use of one another, though one word names it."""
_TOOLISH = _set(
    "api apis aws amazon google cloud elastic microsoft azure service services rest web http openapi swagger "
    "data management manager admin platform system systems app application beta alpha documentation "
    "the of and for"
)
"""Words in names of tools that say nothing of which product one is."""


def _acquainted(giver: Linked, taker: Linked, need: Thing, thing: Thing) -> bool:
    """Whether an API of another tool may hold what this one means: an app's id is of use where the app is.

    So it is with functions that belong to no tool. Else both must be of one category, the giver named after
    the thing, and their tools of one product, such as its versions; or the thing has a name of two words
    (`log group`) or is one that services of a vendor lend one another (a role). A running operation is
    known to its own service alone.
    """
    if _stands_alone(taker) or _stands_alone(giver):
        return True
    category = giver.tool_key.partition("/")[0]
    if not category or category != taker.tool_key.partition("/")[0] or need.resource == "operation":
        return False
    same_role = need.role in (thing.role, "") or not thing.role or (need.role, thing.role) == ("id", "arn")
    lent = need.resource in _LENT and need.role in ("arn", "")
    special = " " in need.resource or lent or bool(_product(giver) & _product(taker))
    return same_role and special and stems(need.resource) <= stems(giver.api)


def _stands_alone(api: Linked) -> bool:
    return api.tool_key.rpartition("/")[2] == escape_part(api.api)


def _product(api: Linked) -> frozenset[str]:
    """The words of its tool's name that say which product it is, as stems."""
    return _product_of(api.tool_key.rpartition("/")[2])


@lru_cache(16_384)
def _product_of(tool: str) -> frozenset[str]:
    words = tool[:500].lower().replace("(", " ").replace(")", " ").split()
    kept = [word for word in words if not _VERSION.match(word) and word not in _TOOLISH and len(word) > 2]
    return frozenset(word.rstrip("s") for word in kept)


def _fit(need: Thing, thing: Thing, same_tool: bool) -> float:
    """How well a thing that is given is the thing that is needed, in [0, 1].

    Within a tool one of the two may say more of it than the other: `instance`, `db instance`. What was only
    guessed must be the thing itself.
    """
    role = 1.0 if need.role == thing.role else 0.5 if need.role and thing.role else 0.8
    if _joined(need.resource) == _joined(thing.resource):
        return role
    needed, given = set(need.resource.split()), set(thing.resource.split())
    alike = same_tool and thing.confidence > _GUESS and (needed <= given or given <= needed)
    return 0.5 * role if alike else 0.0


@lru_cache(16_384)
def _things(texts: tuple[str, ...]) -> tuple[Thing, ...]:
    return tuple(thing for text in texts[:_MOST_THINGS] if (thing := Thing.read(text)) is not None)


def _joined(resource: str) -> str:
    """`worker pool` → `workerpool`: paths write one word where schemas write two."""
    return resource.replace(" ", "")


class Taken(msgspec.Struct, frozen=True):
    """An input that the answer of another call fills."""

    input: str
    giver: str
    """Id of the API that gives it."""
    confidence: float
    """In [0, 1]."""


class PlannedCall(msgspec.Struct, frozen=True):
    """One call of a plan."""

    id: str
    """The document's id."""
    api: str
    takes: tuple[Taken, ...] = ()
    """Inputs that earlier calls fill."""
    holds: tuple[str, ...] = ()
    """Inputs that the conversation fills: an identifier of theirs stands in it by its name."""


def plan(apis: Sequence[Linked], held: Sequence[HeldIdentifier] = ()) -> tuple[PlannedCall, ...]:
    """APIs, best first, in an order that can be executed: who gives comes before who takes.

    What gives nothing to an earlier one keeps its place. A circle is cut where it is met again. Of what is
    held, only what is named fills an input: who may be any id is nobody's in particular.
    """
    named = [each for each in held if each.name]
    links = Links(apis, held=named, making=True)
    flows = {api.id: list(links.into(api)) for api in apis}
    ordered: dict[str, PlannedCall] = {}
    pending = [(api, False) for api in reversed(apis)]
    begun: set[str] = set()
    while pending:
        api, ready = pending.pop()
        if ready:
            earlier = [flow for flow in flows[api.id] if flow.giver.id in ordered]
            ordered[api.id] = PlannedCall(api.id, api.api, _taken(earlier), links.held_inputs(api))
        elif api.id not in begun:
            begun.add(api.id)
            pending.append((api, True))
            pending += [(flow.giver, False) for flow in reversed(flows[api.id])]
    return tuple(ordered.values())


def _taken(flows: Iterable[Flow]) -> tuple[Taken, ...]:
    """What flows, the surest of each input and giver."""
    best: dict[tuple[str, str], Taken] = {}
    for flow in flows:
        taken = Taken(flow.wanted, flow.giver.id, round(flow.confidence, 3))
        known = best.setdefault((taken.input, taken.giver), taken)
        if known.confidence < taken.confidence:
            best[taken.input, taken.giver] = taken
    return tuple(best.values())


def next_steps(held: Linked, apis: Iterable[Linked]) -> list[Flow]:
    """What can be called with the answer of an API: each of `apis` that takes a thing it gives, once.

    The surest come first, those of its own tool before others.
    """
    links = Links([held], making=True)
    found = [flow for taker in apis if taker.id != held.id for flow in links.into(taker)]
    best: dict[str, Flow] = {}
    for flow in sorted(found, key=lambda flow: (-flow.confidence, not flow.same_tool, flow.taker.id)):
        best.setdefault(flow.taker.id, flow)
    return list(best.values())
