"""A conversation as a request: what was asked last, together with what it refers to.

Follow-ups leave out what was said before: "do the same for Berlin", "now delete it", "yes, the second one".
They are short in any language. So a short last message is searched together with the names of the tools used
so far, and a very short one also with what the assistant said before it; a message long enough to stand alone
is searched alone. No language model takes part. Results of tools are never searched with, because no person
said them (`kitpick.held_identifiers` says what they are used for).

Messages of OpenAI (chat completions and Responses), Anthropic, Gemini and MCP sampling are understood, in any
order. Malformed parts count as absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from kitpick_engines.document import Effect
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.visible import is_blank
from kitpick_rescorers.features import effect_of_name
from kitpick_rescorers.reading.deeds import asked_deeds, effects_asked, opposites
from kitpick_rescorers.reading.request_reading import read_request, shortened
from kitpick_rescorers.reading.verbs import ACTIONS, deed_of_name, deeds, stems_of
from kitpick_rescorers.request import MAX_USED

Messages = Sequence[Mapping[str, Any]]
MAX_CHARACTERS = 2_000_000
"""Characters of a conversation of which results of tools are read, counted from its end."""
MAX_MESSAGES = 1_000
"""Messages of a conversation of which results of tools are read, counted from its end."""
MAX_TEXT = 4_000
"""Characters of one message that are searched with: its beginning, and its end."""
_END = 1_000
_MAX_REMARK = 300
"""Characters of what the assistant said last."""
_MAX_TOOLS = 2
"""Tools used last."""
_MAX_PARTS = 1_000
STANDS_ALONE = 14
"""Words from which on a message needs nothing of what was before."""
SAYS_LITTLE = 6
"""Words below which a message may say nothing but yes."""

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_DIGEST = re.compile(r"_(?=[a-z]*[2-7])[a-z2-7]{6}(?:[a-z2-7]{20})?$")
_TEXTS = ("text", "input_text", "output_text")
"""Types of parts that hold words. A tuple: a type may be anything, also what no set can look up."""


class NothingAsked(KitpickError):
    """A conversation in which no user says anything."""

    def __init__(self) -> None:
        super().__init__(
            "the conversation has no message of the user with text: give one with the role `user`, or a text"
        )


class ConversationTurns(msgspec.Struct, frozen=True):
    """What a request is made of."""

    last: str
    """What the user said last."""
    earlier: str
    """What the user said before that; empty if nothing."""
    remark: str
    """What the assistant said before the last message, its end if it is long; empty if nothing."""
    tools: tuple[str, ...]
    """Names of the tools used last, the latest first."""


def request_of(messages: Messages) -> str:
    """The request that a conversation ends with, in words to search with.

    Raises:
        NothingAsked: no user says anything in it.
    """
    return resolve(read_turns(messages))


def messages_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Messages of a request to a language model: chat completions, Responses, Anthropic's or Gemini's."""
    if isinstance(given := body.get("input"), str):
        return [{"role": "user", "content": given}]
    lists = [body.get("messages"), body.get("contents"), given]
    return [message for one in lists if isinstance(one, list) for message in one if isinstance(message, dict)]


def until_request(messages: Messages) -> Messages:
    """The messages up to the last one in which the user says something; none if nowhere.

    What is read of them stays the same while the request is worked on, however many tools are called.
    """
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "user" and said_in(messages[place]):
            return messages[: place + 1]
    return []


def called_names(messages: Messages) -> set[str]:
    """Names of all tools that a conversation has called."""
    return {call.name for message in _all_parts(list(messages)) for call in tool_calls(message)}


_AGAIN = re.compile(
    r"\b(?:again|another|same|also|too|as well|once more|repeat|retry|instead|meant|wrong|one more|next one"
    r"|more of"
    r"|what about|how about|and for|nochmal|noch einmal|auch|wieder|encore|aussi|otra vez|también|de novo"
    r"|também|ancora|anche|opnieuw|ook|igen|också|znowu|też"
    r"|снова|ещё|еще|тоже|tekrar)\b|再|也|もう一度|また|다시|도 ",
    re.IGNORECASE,
)
"""Words that ask for what was done once more, for something else."""


def done_before(messages: Messages) -> tuple[str, ...]:
    """Names of the functions that were called before and that the last request does not ask for again.

    That is so where the last request names a deed ("and now cancel it") that the function is not called by.
    It is also so where it asks for the opposite ("take one out again"), and for a function that writes, where
    it asks a question ("when will it arrive?").
    """
    wanted = read_turns(messages).last
    reading = read_request(wanted)
    asked = frozenset(stems_of(reading.searched)) & ACTIONS
    against = opposites(asked_deeds(reading.searched))
    again = _AGAIN.search(wanted) is not None
    asks = not again and effects_asked(wanted) == {Effect.READ}

    def is_done(name: str) -> bool:
        deed = deed_of_name(stems_of(name_words(name)))
        other = asked and not again and (deed not in deeds(asked))
        writes = asks and effect_of_name(name) in (Effect.WRITE, Effect.DESTRUCTIVE)
        return bool(other or writes or deed in against)

    return tuple(filter(is_done, sorted(called_names(messages))))[:MAX_USED]


def resolve(turns: ConversationTurns) -> str:
    """The last message with what it may refer to: the less it says, the more of that."""
    words = count_words(turns.last)
    context = " ".join(map(name_words, turns.tools)) or turns.earlier
    if words >= STANDS_ALONE or not context:
        return turns.last
    first = turns.remark if words < SAYS_LITTLE else turns.last
    return "\n".join(part for part in (first, turns.last, context) if part)


def read_turns(messages: Messages) -> ConversationTurns:
    """What a conversation says that a request can be made of.

    Whatever tools answered, however much, hides nothing that was said before.

    Raises:
        NothingAsked: no user says anything in it.
    """
    said: list[str] = []
    remark, tools = "", dict[str, None]()
    for message in _all_parts(list(messages)[::-1]):
        if len(tools) < _MAX_TOOLS:
            tools |= dict.fromkeys(call.name for call in tool_calls(message))
        text = said_in(message)
        if text and message.get("role") == "user":
            said.append(text)
        elif text and message.get("role") in ("assistant", "model") and len(said) == 1:
            remark = remark or text[-_MAX_REMARK:]
        if len(said) == 2 and tools:
            break
    if not said:
        raise NothingAsked
    return ConversationTurns(said[0], said[1] if len(said) > 1 else "", remark, tuple(tools)[:_MAX_TOOLS])


def count_words(text: str) -> int:
    """Words of a text; two characters count as one where words are not set apart."""
    together = len(_CJK.findall(text))
    return len(_WORD.findall(_CJK.sub(" ", text))) + together // 2


def name_words(name: str) -> str:
    """A function's name as words: `github_createIssue_k3v2aa` → `github create Issue`."""
    return " ".join(_NAME.findall(without_digest(name)))


def without_digest(name: str) -> str:
    """A function's name as far as it says something, at most 200 characters."""
    return _DIGEST.sub("", name[:200])


def latest_messages(messages: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    """Messages from the last one back, as far as results of tools are read."""
    left = MAX_CHARACTERS
    for message in islice(reversed(messages), MAX_MESSAGES):
        if not isinstance(message, Mapping):
            continue
        yield message
        left -= _size(message)
        if left <= 0:
            return


def _size(message: Mapping[str, Any]) -> int:
    content = content_of(message)
    if isinstance(content, str):
        return len(content)
    return sum(len(text) for part in parts_of(content) if isinstance(text := part.get("text"), str))


def said_in(message: Mapping[str, Any]) -> str:
    """Words of whoever speaks; empty for the result of a tool."""
    if message.get("type", "message") != "message":
        return ""
    content = content_of(message)
    if isinstance(content, str):
        texts = [content]
    else:
        spoken = (
            part["text"] for part in _all_parts(content) if part.get("type") in _TEXTS and "text" in part
        )
        texts = [text for text in islice(spoken, _MAX_PARTS) if isinstance(text, str)]
    said = "\n".join(shortened(text.strip(), MAX_TEXT, _END) for text in texts).strip()
    return "" if is_blank(said) else shortened(said, MAX_TEXT, _END)


class ToolCall(msgspec.Struct, frozen=True):
    """A call that the assistant makes."""

    name: str
    id: str
    """What its result names; empty where it has none."""
    arguments: Any
    """JSON, or an object; whatever stands there."""


def tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Calls of functions in a message, the latest first."""
    if message.get("role", "assistant") not in ("assistant", "model"):
        return []
    calls = [message] if message.get("type") in ("function_call", "custom_tool_call") else []
    for call in parts_of(message.get("tool_calls")):
        function = call.get("function") or call.get("custom")
        calls += [{"id": call.get("id"), **function}] if isinstance(function, Mapping) else []
    calls += [part for part in parts_of(content_of(message)) if part.get("type") == "tool_use"]
    return [made for each in reversed(calls) if (made := _call(each)).name]


def _call(given: Mapping[str, Any]) -> ToolCall:
    name, key = given.get("name"), given.get("call_id") or given.get("id")
    arguments = given.get("arguments", given.get("input"))
    return ToolCall(name if isinstance(name, str) else "", key if isinstance(key, str) else "", arguments)


def content_of(message: Mapping[str, Any]) -> object:
    """The content of a message: a text, or parts. Those of Gemini's API come as Anthropic's."""
    if "parts" not in message:
        return message.get("content")
    return [_as_block(part) for part in parts_of(message["parts"])]


def _as_block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Anthropic's block for a part of Gemini's, in JSON or as its Python client writes it."""
    called = part.get("functionCall", part.get("function_call"))
    if isinstance(called, Mapping):
        named = {"id": _key(called), "name": called.get("name")}
        return {"type": "tool_use", **named, "input": called.get("args")}
    brought = part.get("functionResponse", part.get("function_response"))
    if isinstance(brought, Mapping):
        value = brought.get("response")
        return {"type": "tool_result", "tool_use_id": _key(brought), "structuredContent": value}
    return {"type": "thinking"} if part.get("thought") else {"type": "text", "text": part.get("text")}


def _key(called: Mapping[str, Any]) -> object:
    """What a call and its result have in common: their id, or the function's name."""
    return called.get("id") or called.get("name")


def parts_of(value: object) -> list[Mapping[str, Any]]:
    """Parts of a content, the first thousand: a list of them, or in MCP also a single one."""
    return list(islice(_all_parts(value), _MAX_PARTS))


def _all_parts(value: object) -> Iterator[Mapping[str, Any]]:
    items = [value] if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else []
    return (part for part in items if isinstance(part, Mapping))
