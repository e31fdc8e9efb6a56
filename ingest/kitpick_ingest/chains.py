"""What an API needs from other APIs, and what it gives them: identifiers and objects, by resource and role.

Needed are required inputs that name something which the service holds: `artist_id`, `{folder_id}`,
`InstanceIds`, `parent`. Given is what answers hold. Both are read from schemas where a description has them,
else guessed from names and prose, with less confidence. All of it is bounded, whatever a schema says: so many
fields of an answer are looked at, level by level, and each shape once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from kitpick_engines.document import ROLES, ApiDocument, Effect, Parameter, Thing
from kitpick_engines.text import split_identifier

MAX_NEEDS = 8
MAX_GIVES = 12
MAX_FIELDS = 150
"""Fields of an answer that are looked at."""
_MAX_DEPTH = 6
_MAX_INPUTS = 200
_MAX_NAME = 80

SURE, LIKELY, POSSIBLE, GUESSED = 0.9, 0.7, 0.5, 0.3
"""Confidence: said by a schema; embedded or by place; by name alone; out of prose."""

Node = TypeVar("Node")


class Field(NamedTuple):
    """An identifier in an answer, or a list of them by what they identify; and what holds it."""

    name: str
    holder: str
    """Name of the object around it, the nearest that says anything; empty at the top."""
    depth: int
    """Levels of objects around it, from 0."""


@dataclass(frozen=True)
class Shape(Generic[Node]):
    """What a description says of a value: its type's name, and its fields; none for a plain value."""

    name: str
    fields: Sequence[tuple[str, Node]]
    key: object
    """Equal for equal shapes: one that contains itself is opened once."""


def answer_fields(root: Node, shape_of: Callable[[Node], Shape[Node]]) -> Iterator[Field]:
    """Identifiers in an answer, level by level, of its first `MAX_FIELDS` fields, each shape once.

    Args:
        root: description of the answer.
        shape_of: opens a description; lists and references to their members' shape.
    """
    level: list[tuple[str, str, Shape[Node]]] = [("", "", shape_of(root))]
    seen: set[object] = set()
    looked = 0
    for depth in range(_MAX_DEPTH):
        below: list[tuple[str, str, Shape[Node]]] = []
        for name, around, shape in level:
            if shape.key in seen:
                continue
            seen.add(shape.key)
            inner = _holder(name) or _holder(shape.name) if depth else _running(shape.name)
            holder = inner or around
            for field, child in shape.fields[: MAX_FIELDS - looked]:
                looked += 1
                opened = shape_of(child)
                if opened.fields:
                    below.append((field, holder, opened))
                elif _identifies(field) or (depth == 0 and _is_plural(field)):
                    yield Field(field, holder, depth)
        level = below


@lru_cache(65_536)
def _identifies(name: str) -> bool:
    return bool(name and _split(name)[1])


@lru_cache(65_536)
def _is_plural(name: str) -> bool:
    last = _words_end(name)
    return singular(last) != last


def _running(shape: str) -> str:
    """What an answer of this type is about, whatever was called: `LongrunningOperation` → `operation`."""
    return "operation" if _words_end(shape) == "operation" else ""


def with_chains(
    document: ApiDocument,
    answer: Iterable[Field] | None = None,
    path: str = "",
    patterns: Sequence[tuple[str, str]] = (),
    linked: Iterable[str] = (),
    declared: Iterable[Thing] = (),
) -> ApiDocument:
    """The document with what it needs and gives.

    Args:
        document: with its parameters.
        answer: fields of its answer; None where nothing describes that.
        path: template of its URL, `/artists/{artist_id}/concerts`.
        patterns: resource names that inputs have, as Google writes them: pairs of input and pattern.
        linked: inputs of other operations that the description itself says this answer fills.
        declared: calls that it says must come before, see `kitpick_ingest.declared`.
    """
    subject = _subject(document.api, path)
    said = tuple(declared)
    filled = {thing.input for thing in said if thing.input}
    inferred = _needs(document, subject, path, dict(patterns), answer is None)
    needs = _merged((*said, *(thing for thing in inferred if thing.input not in filled)), MAX_NEEDS)
    held = {(need.resource, need.role) for need in needs}
    held |= {(around, "name") for _, pattern in patterns for around in _resources_of_pattern(pattern)}
    given = [*_linked(linked), *_given(document, subject, answer)]
    gives = _merged((thing for thing in given if (thing.resource, thing.role) not in held), MAX_GIVES)
    return replace(document, needs=_texts(needs), gives=_texts(gives))


def _texts(things: Iterable[Thing]) -> tuple[str, ...]:
    return tuple(thing.text for thing in things)


def _merged(things: Iterable[Thing], most: int) -> list[Thing]:
    """The surest of each resource and role, in order of confidence, then of appearance."""
    best: dict[tuple[str, str], Thing] = {}
    for thing in things:
        known = best.get(thing[:2])
        if known is None or known.confidence < thing.confidence:
            best[thing[:2]] = thing
    return sorted(best.values(), key=lambda thing: -thing.confidence)[:most]


# --- names


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IDENTIFYING = frozenset(("id", "arn", "key"))
_QUALIFIERS = _set(
    "source target destination parent current existing original default primary new my the user's all "
    "given latest active from to"
)
_OWN = _set(
    "client request correlation idempotency api callback redirect webhook return content x host header "
    "trace search query"
)
"""First words of what a caller makes up or brings: nobody asks another API for a callback URL."""
_NEEDS_ROLE = _set(
    "app page next previous start end display file first last full media project currency time account "
    "subscription tenant sort order field column attribute metric action event type value label mode"
)
"""First words that name a resource only where a role follows: a `file_id`, not a `file`."""
_PLACES = _set("region zone location organization project global")
"""Outermost resources in paths and resource names: the caller knows them."""
_LENT = frozenset(
    ("role", "kms key", "encryption key", "execution role", "service role", "bucket", "iam role")
)
"""Resources that many things refer to: the role that one of them uses need not be the role for another."""
_VALUES = _set(
    "address description configuration mode document status type size count number date time format "
    "text message content body title value cidr block tag label option settings setting specification "
    "credentials password comment note reason amount level version limit range policy criteria "
    "expression"
)
"""Last words of inputs whose values a caller makes up, where a schema describes them."""
_NOISE = _set("tag error warning status state attribute metadata label failure owner self link")
"""Holders of identifiers that lead nowhere."""
_WRAPPERS = _set(
    "item data result value content entry record response object resource list payload body output "
    "member row element edge node detail info summary embedded set"
)
"""Names of objects that say nothing about their content."""
_READS = _set(
    "get list describe search find fetch read query lookup show retrieve view browse identify detect "
    "validate resolve calculate compute determine check select generate hash"
)
_SEARCHES = _set("search find query lookup")
_MAKES = _set("create add insert put make register post new start open upload import launch run")
_NAMES_IT = _set("create insert put make new")
"""Verbs with which the identifier in a path may be chosen by the caller."""
_CALLS = _READS | _MAKES | _set("update delete set remove cancel patch batch all by and")
_WHICHEVER = _set("all list of available supported valid possible allowed")
"""First words of an output that say nothing about it: `get list of sheets`, `get available metrics`."""
_ENDS = _set("by for from of in with and to on as at using")
_OPENS_SESSION = re.compile(r"\b(?:log ?in|sign ?in|authenticate|start session)\b")
"""Names of APIs that open a session."""
_SESSION = (("session", "id"), ("token", ""), ("access token", ""), ("auth token", ""))
"""Names of inputs for what a caller holds once a session is open."""
_DAYS = _set("year month day")
"""Inputs that are parts of a date."""


@lru_cache(65_536)
def words_of(name: str) -> tuple[str, ...]:
    """`InstanceIds` → `instance`, `ids`."""
    return tuple(split_identifier(name[:_MAX_NAME]).lower().split())


@lru_cache(65_536)
def singular(word: str) -> str:
    """English plural → singular, by its ending."""
    if len(word) < 3 or word.endswith(("ss", "us", "is", "as", "news", "series", "dns", "kms")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "aliases", "statuses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def resource_of(words: Sequence[str]) -> str:
    """The name of a resource: no qualifiers, its last word in the singular; empty where nothing is left."""
    resource = collection_of(words)
    first = singular(resource.partition(" ")[0])
    return "" if first in _OWN or resource in _WRAPPERS or resource in ROLES else resource


def collection_of(words: Sequence[str]) -> str:
    """The same for a part of a path, where `lists`, `items` and `clients` are resources like others."""
    kept = list(words)
    while len(kept) > 1 and kept[0] in _QUALIFIERS:
        kept.pop(0)
    resource = " ".join([*kept[:-1], singular(kept[-1])]) if kept else ""
    return resource if len(resource) > 1 else ""


@lru_cache(65_536)
def _split(name: str) -> tuple[str, str]:
    """Resource and role that a name says; either may be empty."""
    words = words_of(name)
    role = ROLES.get(words[-1], "") if words else ""
    return resource_of(words[:-1] if role else words), role


@lru_cache(65_536)
def _holder(name: str) -> str:
    """What an object of this name holds, empty where that is unsaid: `GoogleCloudApigeeV1App` → `app`."""
    words = list(words_of(name))
    versions = [place for place, word in enumerate(words) if re.fullmatch(r"v\d\w*", word)]
    words = words[versions[-1] + 1 :] if versions else words
    words = [word for word in words if word not in _CALLS]
    while words and (singular(words[-1]) in _WRAPPERS or ROLES.get(words[-1]) in ("id", "arn", "name")):
        words.pop()
    return resource_of(words[1:] if words[:1] == ["of"] else words)


def _words_end(name: str) -> str:
    return (words_of(name[-_MAX_NAME:]) or ("",))[-1]


def _subject(api: str, path: str) -> str:
    """What an API is about: the noun of its name, or the last fixed part of its path."""
    if "." in api and " " not in api:  # compute.instances.list
        parts = api.split(".")
        return collection_of(words_of(parts[-2])) if len(parts) > 2 else _noun(parts[-1])
    template = path or api.partition(" /")[2]
    for part in reversed(template.split("/")):
        words = words_of(part)
        called = words and (words[0] in _CALLS or words[-1].endswith("search"))
        if words and not part.startswith("{") and not called and not re.fullmatch(r"v\d.*", part):
            return collection_of(words)
    return "" if template else _noun(api)


def _noun(name: str) -> str:
    """`get_current_location_by_ip` → `location`."""
    words = list(words_of(name))
    verbs = [place for place, word in enumerate(words) if word in _CALLS]
    if verbs:
        words = words[verbs[0] + 1 :]
    while len(words) > 1 and words[0] in _WHICHEVER:
        words.pop(0)
    ends = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
    return resource_of([word for word in words[:ends] if word not in _CALLS])


# --- needs

_BRACED = re.compile(r"\{\+?([^{}/]{1,80})\}")


def _needs(
    document: ApiDocument, subject: str, path: str, patterns: dict[str, str], by_name: bool
) -> Iterator[Thing]:
    before = _segments_before(path)
    inputs = _inputs(document, before)
    for name, given in inputs.items():
        if by_name:
            about = given.description[:_MAX_ABOUT_INPUT]
            yield from _named(_GIVEN_BY, about, document.api, name[:_MAX_NAME])
        pattern = patterns.get(name, "")
        thing = _need(given, subject, before.get(name), pattern, by_name)
        if thing is None:
            continue
        exists = bool(_resources_of_pattern(pattern)) or (name in before and _verb(document) not in _NAMES_IT)
        if exists or not _makes(document, thing, subject):
            yield thing
    if by_name:
        yield from _named(_CALLED_FIRST, document.description[:_MAX_PROSE], document.api)
    if not inputs and document.effect is not Effect.READ and _verb(document) not in _READS | _MAKES:
        yield from _of_its_own(document, subject)


def _inputs(document: ApiDocument, before: Mapping[str, str]) -> dict[str, Parameter]:
    """The inputs that a call has to bring: those of the path, required ones, and names of what is meant."""
    asked = _BATCHED if _verb(document) == "batch" else ()
    inputs = {name: Parameter(name) for name in before}
    inputs |= {p.name: p for p in document.parameters if p.required or p.name in before or p.name in asked}
    return dict(islice(inputs.items(), _MAX_INPUTS))


def _of_its_own(document: ApiDocument, subject: str) -> Iterator[Thing]:
    """What an API that acts on something takes to say on which, though nothing is required of it."""
    about = subject.split()
    for given in document.parameters[:_MAX_INPUTS]:
        resource, role = _split(given.name[:_MAX_NAME])
        if role == "id" and resource in about:
            place = about.index(resource)  # `GroupId` of `authorize security group ingress`: a security group
            whole = " ".join(about[max(1, place - 1) : place + 1]) if place else resource
            yield Thing(whole, role, POSSIBLE, given.name[:_MAX_NAME])


_BATCHED = ("names", "ids")
"""Inputs that an API for many at once has, required or not: it answers about those that it is given."""


def _segments_before(path: str) -> dict[str, str]:
    """Parameters of a path, each with what stands before it: `/artists/{id}` → id: artist."""
    if "{" not in path:
        return {}
    found: dict[str, str] = {}
    parts = path[:2_000].split("/")
    for previous, part in zip(["", *parts], parts, strict=False):
        for name in _BRACED.findall(part):
            found[name] = "" if previous.startswith("{") else collection_of(words_of(previous))
    return found


_CALLED = r"(?i:(?:the|a|tool|function|call|operation|endpoint) ){0,2}"
_QUOTED = r"[`'\"](?P<quoted>[A-Za-z]\w*(?:-\w+)*)(?:\(\))?[`'\"]"
_BARE = r"(?P<bare>[A-Za-z][A-Za-z0-9]*_\w+|[a-z][a-z0-9]*[A-Z]\w*)\b"
_GIVEN_BY = re.compile(
    r"(?i:\b(?:returned|given|generated|obtained|provided|produced|retrieved|fetched|found|created|issued|result|"
    r"output)(?: first)? (?:by|with|via|through|using|of)|\b(?:from|via)|"
    r"\b(?P<verb>call|calling|use|using|run|see)) "
    rf"{_CALLED}(?:{_QUOTED}|{_BARE})"
    r"(?(verb)(?i: (?:tool|function|command))?"
    r"(?i: first| to (?:get|find|obtain|look|list|discover|retrieve|fetch|search)))"
)
"""What gives a value, by name of another API: `as returned by list_users`, `from 'resolve-library-id'`."""
_CALLED_FIRST = re.compile(
    rf"(?i:\b(?P<must>must (?:first )?)?(?:call|calling|use|using|run|running|invoke)) {_CALLED}"
    rf"(?:{_QUOTED}|{_BARE}|(?P<hyphened>[A-Za-z]\w*(?:-\w+)+))"
    r"(?(must)|[^.\n]{0,30}?\b[Ff](?i:irst)\b)"
)
"""What is to be called before, as descriptions of tools say it: `use list_pages first`."""
_MAX_PROSE, _MAX_ABOUT_INPUT = 2_000, 500
_MAX_NAMED = 2
_VERBS = _CALLS | _set("convert geocode count estimate")


def _named(found: re.Pattern[str], prose: str, api: str, wanted: str = "") -> Iterator[Thing]:
    """The calls that a description says are made before, or give an input."""
    groups = (each.groupdict() for each in found.finditer(prose))
    names = (each["quoted"] or each["bare"] or each.get("hyphened", "") for each in groups)
    calls = (name for name in names if name != api and not _VERBS.isdisjoint(words_of(name)))
    for name in islice(calls, _MAX_NAMED):
        yield Thing(name[:_MAX_NAME], "call", LIKELY, wanted)


def _need(given: Parameter, subject: str, before: str | None, pattern: str, by_name: bool) -> Thing | None:
    """What an input needs, None where a caller brings it."""
    if around := _resources_of_pattern(pattern):
        resource = around[-1]
        return Thing(resource, "name", SURE, given.name[:_MAX_NAME]) if resource else None
    return (
        _in_path(given, before or subject, before) if before is not None else _passed(given, subject, by_name)
    )


def _in_path(given: Parameter, otherwise: str, before: str | None) -> Thing | None:
    """A parameter of the path is an identifier, whatever it is called."""
    name = given.name[:_MAX_NAME]
    resource, role = _split(name)
    first = singular(next(iter(words_of(name)), ""))
    where = resource or otherwise
    own = first in _OWN and first not in (before or "").split()
    if not where or (first in _PLACES and not role) or own:
        return None
    return Thing(where, role or "id", SURE if role or resource in ("", before) else LIKELY, name)


def _passed(given: Parameter, subject: str, by_name: bool) -> Thing | None:
    """Any other parameter: by its name, and by its type where a schema describes it."""
    name = given.name[:_MAX_NAME]
    resource, role = _split(name)
    if (resource, role) == ("tag", "key"):
        return None  # a label that the caller chooses
    if role in _IDENTIFYING or (role == "name" and not resource):
        bare = len(words_of(name)) == 1 and (role == "id" or not by_name)
        where = resource or (subject if bare else "")
        confidence = SURE if resource else LIKELY
    else:
        where = _named_object(given, resource, role, by_name)
        confidence = LIKELY if role else GUESSED if by_name else POSSIBLE
    return Thing(where, role, confidence, name) if where else None


def _named_object(given: Parameter, resource: str, role: str, by_name: bool) -> str:
    """The object that an input names without identifying it; empty where it names none."""
    vague = singular(next(iter(words_of(given.name[:_MAX_NAME])), "")) in _NEEDS_ROLE
    if vague or not (role or by_name or _is_object(given, resource)):
        return ""
    return "date" if by_name and resource in _DAYS else resource


def _is_object(given: Parameter, resource: str) -> bool:
    """Whether an input without a role may name an object: by its type and the last word of its name."""
    last = resource.rpartition(" ")[2]
    return last not in _VALUES and not last.isdigit() and "string" in (given.type or "string")


def _resources_of_pattern(pattern: str) -> tuple[str, ...]:
    """`^projects/[^/]+/secrets/[^/]+/versions/[^/]+$` → nothing, `secret`, `version`.

    Nothing stands for a place that everything lies in. Whoever has the name of a version has its secret's.
    """
    if not pattern:
        return ()
    fixed = [part for part in pattern.strip("^$").split("/") if re.fullmatch(r"[A-Za-z_]\w*", part)]
    return tuple("" if (found := collection_of(words_of(part))) in _PLACES else found for part in fixed)


def _makes(document: ApiDocument, thing: Thing, subject: str) -> bool:
    """Whether the API makes the thing itself: who creates a bucket chooses its name."""
    its_own = thing.resource == subject or subject.endswith(f" {thing.resource}")
    return its_own and _verb(document) in _MAKES and document.effect is not Effect.READ


def _verb(document: ApiDocument) -> str:
    """The first word of its name that says what is done; empty where none does."""
    return next((word for word in words_of(document.api.rpartition(".")[2]) if word in _CALLS), "")


# --- gives

_TURN = re.compile(
    r"(?i)(?<=\w)(?:\.\s|\s(?=(?:that|which|for|from|in|by|with|used|using|across|to|on|as|where|when)\b))"
)


_MANNER = re.compile(r"(?i)\s(?:that|which|with|used|using|by|from|as|where|when|match\w*)\b")
_PLURAL = re.compile(r"[A-Za-z]{3,30}s\b(?!-)")


def _linked(inputs: Iterable[str]) -> Iterator[Thing]:
    for name in inputs:
        resource, role = _split(name)
        if resource:
            yield Thing(resource, role or "id", 1.0)


def _given(document: ApiDocument, subject: str, answer: Iterable[Field] | None) -> Iterator[Thing]:
    if answer is not None:
        yield from _given_by_fields(answer, subject)
    elif _OPENS_SESSION.search(" ".join(words_of(document.api))):
        yield from (Thing(resource, role, POSSIBLE) for resource, role in _SESSION)
    elif _is_reading(document):
        yield from _given_by_name(document, subject)
    elif _is_making(document) and subject:
        yield Thing(subject, "id", GUESSED)


def _given_by_fields(answer: Iterable[Field], subject: str) -> Iterator[Thing]:
    """Identifiers among the fields: of what the answer is about, surely; of what is embedded, likely."""
    for field in answer:
        resource, role = _split(field.name)
        holder = field.holder or subject
        if role == "" and resource == subject and field.depth == 0:
            yield Thing(resource, "", SURE)  # a list of what it is about, in plain values
        lent = resource in _LENT and resource != holder
        if role in ("", "code") or resource in _NOISE or lent:
            continue
        if not resource and _is_of(field, holder):
            yield Thing(holder, role, SURE if holder == subject or field.depth < 2 else LIKELY)
        elif resource and (role != "name" or resource in (holder, subject)):
            own = resource in (holder, subject) or field.depth == 0
            yield Thing(resource, role, SURE if own else LIKELY)


def _is_of(field: Field, holder: str) -> bool:
    """Whether a field that names no object, such as `id`, identifies what it stands in."""
    words = words_of(field.name)
    return bool(holder) and holder not in _NOISE and (len(words) == 1 or collection_of(words[:-1]) == holder)


def _given_by_name(document: ApiDocument, subject: str) -> Iterator[Thing]:
    resource, role = _split(subject.replace(" ", "_"))
    if resource or subject:
        yield Thing(resource or subject, role if resource else "", POSSIBLE)
    searches = not _SEARCHES.isdisjoint(words_of(document.api))
    if searches or not any(p.required for p in document.parameters):
        # An answer that needs nothing, or only words, is about whatever its first words name in the plural.
        prose = document.description[:300]
        for word in _searched(prose) if searches else _PLURAL.findall(_about(prose))[:8]:
            named = singular(word.lower())
            if named != word.lower() and (found := resource_of((named,))) and found not in _CALLS:
                yield Thing(found, "", GUESSED)


def _about(prose: str) -> str:
    """The start of a first sentence, before it says of what kind, in which place or what for."""
    return _TURN.split(prose, maxsplit=1)[0]


def _searched(prose: str) -> list[str]:
    """What the first sentence on a search that names anything says is searched, before it says how."""
    found = (_PLURAL.findall(_MANNER.split(each, maxsplit=1)[0])[:8] for each in prose.split(". "))
    return next((each for each in found if each), [])


def _is_reading(document: ApiDocument) -> bool:
    if document.effect is Effect.UNKNOWN:  # the name of a product may stand before the verb
        return _verb(document) in _READS
    return document.effect is Effect.READ


def _is_making(document: ApiDocument) -> bool:
    words = words_of(document.api.rpartition(".")[2])
    return bool(words) and words[0] in _MAKES and document.effect is not Effect.DESTRUCTIVE
