"""Finds messages of JSON-RPC in the text that a server sends, or says what is wrong with it.

The SDK refuses a whole text because of one odd value in it; here such a value costs no other.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from itertools import count

import mcp_types as types
import msgspec
from pydantic import ValidationError

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.json_files import without_lone_surrogates

_MOST_SAID = 200
_HELD = "kitpick/held"
_MOST_HELD = 16
_MOST_DIGITS = 4_000
"""Most digits of a number, as Python reads it: nobody means one with more."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def messages_in(text: bytes) -> list[types.JSONRPCMessage]:
    """The messages in a text: one, a list of them as older protocols allow, or none."""
    text = _bare(text)
    try:
        parts = decode_as(text, list[msgspec.Raw]) if text.startswith(b"[") else [text]
        return [_message(bytes(part)) for part in parts]
    except (ValueError, *UNDECODABLE):
        return []


def is_object(text: bytes) -> bool:
    """Whether a text is an object of JSON from its beginning to its end, by its brackets."""
    text = _bare(text)
    return text.startswith(b"{") and text.endswith(b"}") and text.count(b"{") == text.count(b"}")


def problem_of(text: bytes) -> str:
    """Why an object is no message."""
    kind = "JSONRPCError" if b'"error"' in text else "JSONRPCResponse"
    try:
        _message(_bare(text))
    except ValidationError as error:
        told = [each for each in error.errors() if each["loc"][:1] == (kind,)] or error.errors()
        place = ".".join(str(part) for part in told[0]["loc"][1:])
        return f"{place}: {told[0]['msg']}".removeprefix(": ")[:_MOST_SAID]
    except RecursionError:
        return "it is nested too deeply"
    return ""


def unreadable(method: str, text: bytes) -> str:
    """Why the answer to a request is of no use."""
    return f"its answer to {method} is no message that can be read: {problem_of(text)}"


class HeldMessages:
    """Answers that are read here and not by the parser of the SDK, until the session receives them."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, types.JSONRPCResponse] = OrderedDict()
        self._numbers = count()

    def texts(self, text: bytes) -> list[bytes]:
        """Each message in a text, in a form that the SDK can parse; none where there is no message."""
        bare = _bare(text)
        return [bare] if _is_plain(bare) else list(map(self._text, messages_in(text)))

    def restored(self, message: types.JSONRPCResponse) -> types.JSONRPCResponse:
        """What a message stands for: mostly itself."""
        key = message.result.get(_HELD)
        held = self._held.pop(key, None) if isinstance(key, str) else None
        return message if held is None else held.model_copy(update={"id": message.id})

    def _text(self, message: types.JSONRPCMessage) -> bytes:
        if not isinstance(message, types.JSONRPCResponse):
            return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        key = str(next(self._numbers))
        self._held[key] = message
        if len(self._held) > _MOST_HELD:  # nobody waits for the oldest any more
            self._held.popitem(last=False)
        version = {name: value for name, value in message.result.items() if name == "protocolVersion"}
        return json.dumps({"jsonrpc": "2.0", "id": message.id, "result": {_HELD: key} | version}).encode()


def _is_plain(text: bytes) -> bool:
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError:
        return False
    return True


def _message(text: bytes) -> types.JSONRPCMessage:
    whole = without_lone_surrogates(text).decode("utf-8", "replace")
    try:
        return types.jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except ValidationError as error:
        if not any(limit in str(error) for limit in ("recursion limit", "number out of range")):
            raise
        return types.jsonrpc_message_adapter.validate_python(
            json.loads(whole, parse_int=_number), by_name=False
        )


def _number(digits: str) -> float:
    """The number; one that is too long to be meant is infinite, which costs only the entry that holds it."""
    return int(digits) if len(digits) < _MOST_DIGITS else float("inf")


def _bare(text: bytes) -> bytes:
    return text.strip().removeprefix(_BYTE_ORDER_MARK)
