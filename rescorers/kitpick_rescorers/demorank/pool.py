"""A file of demonstrations: lines of `{"query": …, "api": …, "useful": true, "text": …}`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from kitpick_foundation.decoding import UNDECODABLE
from kitpick_rescorers.errors import RescorerError

MAX_DEMONSTRATIONS = 50_000
MAX_POOL_BYTES = 256 * 1024 * 1024


class InvalidPool(RescorerError):
    """A file that is not a pool of demonstrations."""


class Demonstration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request, an API, and whether it served the request."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
    api: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]
    """Id of the document."""
    useful: bool
    text: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    """Text of the API; empty until it is read from a catalog."""


def read_pool(path: Path) -> list[Demonstration]:
    """The demonstrations of a file, each once, in its order.

    Raises:
        InvalidPool: missing, too large, without a line, a line that is no demonstration, or two lines that
            contradict each other.
    """
    found: dict[tuple[str, str], Demonstration] = {}
    decoder = msgspec.json.Decoder(Demonstration)
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            item = decoder.decode(line)
        except UNDECODABLE as error:
            raise InvalidPool(f"{path}:{number}: {error}") from error
        known = found.setdefault((item.query, item.api), item)
        if known.useful != item.useful:
            raise InvalidPool(
                f"{path}:{number}: {item.api!r} is useful in one line and not in another: keep one"
            )
        if len(found) > MAX_DEMONSTRATIONS:
            raise InvalidPool(f"{path}: more than {MAX_DEMONSTRATIONS:,} demonstrations: keep a sample")
    if not found:
        raise InvalidPool(
            f'{path}: no demonstration: write lines of {{"query": …, "api": …, "useful": true}}'
        )
    return list(found.values())


def pool_lines(demonstrations: Iterable[Demonstration]) -> bytes:
    """The content of a file that `read_pool` reads."""
    return b"".join(msgspec.json.encode(item) + b"\n" for item in demonstrations)


def _lines(path: Path) -> list[bytes]:
    try:
        if path.stat().st_size > MAX_POOL_BYTES:
            raise InvalidPool(f"{path}: larger than {MAX_POOL_BYTES:,} bytes: keep a sample")
        return path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidPool(f"{path}: cannot be read: {error.strerror}") from error
