"""The encoding of protocol buffers as far as ONNX files need it: numbers, and parts that bring their length.

Written here so that reading and writing a graph at load time needs no further package.
"""

from __future__ import annotations

from collections.abc import Iterator

Field = tuple[int, int | memoryview]
"""Number of a field, and its value: a number, or the bytes of a text or a part."""
_NUMBER, _PART = 0, 2


def number(field: int, value: int) -> bytes:
    """A field with a number ≥ 0."""
    return _varint(field << 3 | _NUMBER) + _varint(value)


def text(field: int, value: str) -> bytes:
    """A field with a text."""
    return part(field, value.encode())


def part(field: int, content: bytes | memoryview) -> bytes:
    """A field with bytes, or with a message of its own."""
    return b"".join((_varint(field << 3 | _PART), _varint(len(content)), content))


def written(field: Field) -> bytes:
    """A field as it was read."""
    name, value = field
    return number(name, value) if isinstance(value, int) else part(name, value)


def read_fields(data: bytes | memoryview) -> Iterator[Field]:
    """The fields of a message in order; parts are views of `data`.

    Raises:
        ValueError: not a message, or one with a field of fixed width, which are not read here.
    """
    view, place = memoryview(data), 0
    while place < len(view):
        tag, place = _read_varint(view, place)
        value, place = _read_varint(view, place)
        if tag & 7 == _NUMBER:
            yield tag >> 3, value
        elif tag & 7 == _PART and place + value <= len(view):
            yield tag >> 3, view[place : place + value]
            place += value
        else:
            raise ValueError(f"field {tag >> 3} is neither a number nor a whole part")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _read_varint(view: memoryview, place: int) -> tuple[int, int]:
    """The number that starts at `place`, and where it ends."""
    value = 0
    for count, byte in enumerate(view[place : place + 10]):
        value |= (byte & 127) << 7 * count
        if byte < 128:
            return value, place + count + 1
    raise ValueError("a number without an end")
