"""Messages of JSON-RPC in the text that a server sends, and what is wrong where there is none."""

from __future__ import annotations

import json

import mcp_types as types
import msgspec
from pydantic import ValidationError

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.json_files import without_lone_surrogates

_MOST_SAID = 200
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


def _message(text: bytes) -> types.JSONRPCMessage:
    whole = without_lone_surrogates(text).decode("utf-8", "replace")
    try:
        return types.jsonrpc_message_adapter.validate_json(whole, by_name=False)
    except ValidationError as error:
        if "recursion limit" not in str(error):
            raise
        return types.jsonrpc_message_adapter.validate_python(json.loads(whole), by_name=False)


def _bare(text: bytes) -> bytes:
    return text.strip().removeprefix(_BYTE_ORDER_MARK)
