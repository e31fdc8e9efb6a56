"""Calls: decodes the JSON of a body into what an endpoint is asked for.

Many clients send every optional field, with `null` for those that are not used: such a field counts as left
out. That holds for fields of calls alone. What a caller sends as content, such as a document, stays as it is.

Others cut a text in the middle of a character, which leaves half of a surrogate pair. It is read as U+FFFD:
one such text must not refuse all the others of a batch.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from kitpick_service.errors import Invalid, Malformed

_ESCAPES = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Escaped backslashes and whole pairs, which stay as they are, and halves of pairs."""


def decode(decoder: msgspec.json.Decoder[object], body: bytes) -> object:
    """The call that a body holds.

    Raises:
        Invalid: JSON, but not what the endpoint takes.
        Malformed: no JSON, no UTF-8, or nested too deep.
    """
    try:
        return _decoded(decoder, body)
    except Malformed:
        whole = _ESCAPES.sub(lambda found: found[1] or b"\\ufffd", body)
        if whole == body:
            raise
        return _decoded(decoder, whole)


def _decoded(decoder: msgspec.json.Decoder[object], body: bytes) -> object:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        if (found := _without_nulls(decoder, body)) is not None:
            return found
        raise Invalid(str(error)[:500]) from error
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:500]) from error


def _without_nulls(decoder: msgspec.json.Decoder[object], body: bytes) -> object:
    """The call without its fields that are null; None if that is no call of this endpoint either."""
    if b"null" not in body:
        return None
    call: Any = decoder.type
    try:
        given = without_null_fields(msgspec.json.decode(body), _described(call))
        return decoder.decode(msgspec.json.encode(given))
    except (ValueError, OverflowError, RecursionError):
        return None


def without_null_fields(value: object, kind: inspect.Type) -> object:
    """A value of JSON without those fields of structs that are null; any other content is not touched."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        kind = next((each for each in kind.types if _may_be(value, each)), kind)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        kinds = {field.encode_name: field.type for field in kind.fields}
        return {
            name: without_null_fields(item, kinds[name]) if name in kinds else item
            for name, item in value.items()
            if item is not None
        }
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)) and isinstance(value, list):
        return [without_null_fields(item, kind.item_type) for item in value]
    return value


def _may_be(value: object, kind: inspect.Type) -> bool:
    """Whether a value can be a struct or a list of this kind; of several structs, the one with its tag."""
    if isinstance(value, dict) and isinstance(kind, inspect.StructType):
        return kind.tag_field is None or value.get(kind.tag_field) == kind.tag
    return isinstance(value, list) and isinstance(kind, (inspect.ListType, inspect.VarTupleType))


@lru_cache(maxsize=64)
def _described(call: Any) -> inspect.Type:  # noqa: ANN401
    return inspect.type_info(call)
