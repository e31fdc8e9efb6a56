"""Identifiers that a conversation already holds: arguments of its calls, and fields of their results.

Arguments of calls and results of tools are read if they are JSON, and of these only names and plain values,
within bounds. The stages only ask whether something has to be found first
(`kitpick_rescorers.stages.brought`): no word of a result is searched with.

"The same for Berlin" needs the identifier of another thing than the one that is held. So if the last request
names something that was not named before, only what came after it counts as held.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from kitpick.conversation import (
    MAX_TEXT,
    Messages,
    content_of,
    latest_messages,
    parts_of,
    said_in,
    tool_calls,
    without_digest,
)
from kitpick_engines.document import ROLES
from kitpick_engines.text import split_identifier
from kitpick_foundation.decoding import UNDECODABLE
from kitpick_rescorers.state import MAX_HELD, HeldIdentifier

MAX_READ = 20
"""How many calls and results are read: the latest."""
MAX_CHARACTERS = 100_000
"""Characters of a call or result; a longer one is not read at all."""
MAX_VALUE = 200
"""Characters of an identifier."""
_MAX_NAME = 60
"""Characters of a name; a longer one is passed over with what it holds."""
_MAX_DEPTH = 8
_MAX_VALUES = 2_000
"""Values that are looked at in one of them, level by level."""
_NAMES = re.compile(
    r"[\"“”„«‘]([^\"“”„«»’]{1,80})[\"“”»’]"  # in quotes
    r"|\b(?=\w*[-_/@.]?\w*\d)(?=[\W\d_]*[^\W\d_])(\w+(?:[-_/@.]\w+)*)"  # letters and digits
    r"|\b(\w+(?:[-_/@]\w+)+)"  # joined as machines do
    r"|(?<=[\w,;:)] )([^\W\d_]\w*)"  # within a sentence; a name where it begins with a capital
)


_MADE = re.compile(r"(?=\S*\d)\S{4,}")
"""A generated value: it identifies something, whatever the name of its field is."""
_WRAPPERS = frozenset(
    {
        *("body", "content", "data", "detail", "details", "edges", "element", "elements", "embedded"),
        *("entries", "entry", "find", "info", "item", "items", "list", "members", "node", "nodes"),
        *("object", "objects", "output", "page", "payload", "query", "record", "records", "resource"),
        *("resources", "response", "result", "results", "rows", "search", "summary", "value", "values"),
    }
)
"""Last words of names that say nothing of what is held."""
_ENDS = frozenset({"by", "for", "from", "of", "in", "with", "and", "to", "on", "as", "at", "using"})
Path = tuple[str, ...]
"""The function that was called, the objects around a value, and its own name; some may be absent."""


def held_identifiers(messages: Messages) -> tuple[HeldIdentifier, ...]:
    """The identifiers, each name once with its latest value, the latest last; at most `MAX_HELD`.

    Where the last request names something anew, none from before it: they may be of something else.
    """
    read = list(latest_messages(messages))
    functions = {call.id: call.name for message in read for call in tool_calls(message) if call.id}
    asked = (place for place, each in enumerate(read) if each.get("role") == "user" and said_in(each))
    place = next(asked, len(read))
    if place < len(read) and _names_anew(said_in(read[place]), read[place + 1 :]):
        del read[place:]
    values = islice(_latest_values(read, functions), MAX_READ)
    held: dict[str, HeldIdentifier] = {}
    for path, text in (pair for around, value in values for pair in _named(around, value)):
        if (name := _name_of(path, text)) and len(held) < MAX_HELD:
            held.setdefault(name, HeldIdentifier(name, text))
    return tuple(reversed(held.values()))


def _name_of(path: Path, text: str) -> str:
    """What says of which thing an identifier is: `artist_id`, `artists id`; empty where nothing does.

    A name that says too little stands behind the nearest that says more, up to its noun: that of
    `get_artist_by_name` is `get artist`.
    """
    own = split_identifier(path[-1]).lower().split()
    if not own or not (own[-1] in ROLES or _MADE.fullmatch(text)):
        return ""
    if not all(word in ROLES or word in _WRAPPERS for word in own):
        return path[-1]
    for name in reversed(path[:-1]):
        words = split_identifier(name).lower().split()
        end = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
        while end and words[end - 1] in _WRAPPERS:
            end -= 1
        if end:
            return " ".join((*words[:end], *own))
    return ""


def _names_anew(last: str, earlier: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a request has a name that occurs nowhere before it.

    Where letters have no case, names cannot be told from words: it may have one then.
    """
    if any(letter.isalpha() and letter.lower() == letter.upper() for letter in last):
        return True
    names = list(_names(last))
    before = "\n".join(text for each in earlier for text in _texts(each)).lower() if names else ""
    return any(name.lower() not in before for name in names)


def _names(text: str) -> Iterator[str]:
    for quoted, mixed, joined, word in _NAMES.findall(text):
        if name := quoted or mixed or joined or (word if word[:1].isupper() and word != "I" else ""):
            yield name
    if text.istitle():
        yield text.strip(" .,;:!?")


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """What was said in a message, and the plain values of its calls and results."""
    yield said_in(message)
    for value in (*(result for _, result in _results(message)), *(c.arguments for c in tool_calls(message))):
        decoded = list(_decoded(value))
        yield from (text for each in decoded for _, text in _named((), each))
        if isinstance(value, str) and not decoded:
            yield value[:MAX_TEXT]


def _latest_values(
    read: Sequence[Mapping[str, Any]], functions: Mapping[str, str]
) -> Iterator[tuple[Path, Any]]:
    """Arguments and results that are JSON, the latest first; results with the names of their functions.

    Arguments have none around them: `id` of `get_artist_concerts` may be that of either.
    """
    for message in read:
        for call_id, result in _results(message):
            name = without_digest(functions.get(call_id, ""))
            yield from (((name,) if name else (), each) for each in _decoded(result))
        for call in tool_calls(message):
            yield from (((), each) for each in _decoded(call.arguments))


def _results(message: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Ids of calls and what they brought: text, parts of text, or a value."""
    if message.get("role") == "tool":
        yield _text(message.get("tool_call_id")), message.get("content")
    elif message.get("type") in ("function_call_output", "custom_tool_call_output"):
        yield _text(message.get("call_id")), message.get("output")
    for part in parts_of(content_of(message)):
        if part.get("type") == "tool_result":
            call = _text(part.get("tool_use_id")) or _text(part.get("toolUseId"))
            given = part.get("structuredContent")
            yield call, part.get("content") if given is None else given


def _decoded(given: object) -> Iterator[Any]:
    """The JSON values in a text or in parts of text; any other object is one itself."""
    if isinstance(given, str):
        if len(given) <= MAX_CHARACTERS and given.lstrip()[:1] in ("{", "["):
            try:
                yield msgspec.json.decode(given)
            except UNDECODABLE:
                return
    elif isinstance(given, Mapping) and given.get("type") != "text":
        yield given
    else:
        for part in islice(parts_of(given), MAX_READ):
            yield from _decoded(_text(part.get("text")))


def _named(around: Path, value: object) -> Iterator[tuple[Path, str]]:
    """Plain values with the names that lead to them, level by level."""
    level: deque[tuple[Path, object, int]] = deque([(around, value, 0)])
    left = _MAX_VALUES
    while level and left > 0:
        path, given, depth = level.popleft()
        left -= 1
        if isinstance(given, Mapping) and depth < _MAX_DEPTH:
            for key, own in islice(given.items(), left):
                if isinstance(key, str) and 0 < len(key) <= _MAX_NAME:
                    level.append(((*path, key), own, depth + 1))
        elif isinstance(given, list | tuple) and depth < _MAX_DEPTH:
            level += ((path, own, depth + 1) for own in islice(given, left))
        elif len(path) > len(around) and (text := _plain(given)):
            yield path, text


def _plain(value: object) -> str:
    """A text or a whole number that can be an identifier; empty for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40:
        return str(value)
    return value if isinstance(value, str) and len(value) <= MAX_VALUE else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
