"""Typed values out of JSON and out of plain objects, by decoders that are built one at a time.

msgspec builds what it knows of a type when the type is first used, and shows it to other threads before it
is complete: two threads that decode their first value at once end the process with a segmentation fault. So
every type is prepared here under one lock; after that, decoding needs none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec

from kitpick_foundation.fork_gate import FORKS_WAIT

UNDECODABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Errors of decoding: wrong form or type; not UTF-8, which is no error of msgspec; nested too deep."""

T = TypeVar("T")
Hook = Callable[[type, Any], Any]
"""Makes a value of a type that msgspec does not know."""

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_BUILDING = threading.RLock()
"""Held while a decoder is built; a type that another one names may be prepared meanwhile."""


@overload
def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]: ...  # noqa: ANN401  (a union is no class)
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """The decoder of JSON for a type; one and the same for all callers and threads."""
    found = _DECODERS.get(kind)
    if found is None:
        with FORKS_WAIT, _BUILDING:
            found = _DECODERS.setdefault(kind, msgspec.json.Decoder(kind))
    return found


@overload
def decode_as(data: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_as(data: bytes | str | msgspec.Raw, kind: Any) -> Any: ...  # noqa: ANN401
def decode_as(data: bytes | str | msgspec.Raw, kind: Any) -> Any:
    """The value of a JSON text in a type.

    Raises:
        UNDECODABLE: not JSON, not of the type, not UTF-8, or nested too deep.
    """
    return decoder_of(kind).decode(data)


@overload
def convert_to(value: object, kind: type[T], *, strict: bool = True, dec_hook: Hook | None = None) -> T: ...
@overload
def convert_to(value: object, kind: Any, *, strict: bool = True, dec_hook: Hook | None = None) -> Any: ...  # noqa: ANN401
def convert_to(value: object, kind: Any, *, strict: bool = True, dec_hook: Hook | None = None) -> Any:
    """A plain value, as from TOML, in a type.

    Args:
        value: what is converted.
        kind: the type.
        strict: whether a text is no number.
        dec_hook: makes values of types that msgspec does not know.

    Raises:
        msgspec.ValidationError: not of the type.
    """
    decoder_of(kind)  # prepares the type
    return msgspec.convert(value, kind, strict=strict, dec_hook=dec_hook)
