"""Reads and replaces nodes and constants of an ONNX file, before a session is made of it.

ONNX files are protocol buffers. Their encoding is written here as far as they need it (numbers, and parts
that bring their length), so that reading and writing a graph at load time needs no further package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import MODEL, Manifest, place_of, read_file

Field = tuple[int, int | memoryview]
"""Number of a field, and its value: a number, or the bytes of a text or a part."""
_FIXED = {1: 8, 5: 4}
"""Bytes of the values of fixed width, by their wire type."""
_NUMBER, _PART = 0, 2


def number(field: int, value: int) -> bytes:
    """A field with a number ≥ 0."""
    return _varint(field << 3 | _NUMBER) + _varint(value)


def text(field: int, value: str) -> bytes:
    """A field with a text."""
    return part(field, value.encode())


def part(field: int, content: bytes | memoryview) -> bytes:
    """A field with bytes, or with a nested message."""
    return b"".join((_part_head(field, len(content)), content))


def _part_head(field: int, size: int) -> bytes:
    """What stands before the content of a part."""
    return _varint(field << 3 | _PART) + _varint(size)


def encode_field(field: Field) -> bytes:
    """A field as it was read."""
    name, value = field
    return number(name, value) if isinstance(value, int) else part(name, value)


def read_fields(data: bytes | memoryview, *, skip_fixed: bool = False) -> Iterator[Field]:
    """The fields of a message in order; parts are views of `data`.

    Fields of fixed width are left out with `skip_fixed`; otherwise they are refused.

    Raises:
        ValueError: not a message, or one with a field of fixed width, which are not read here.
    """
    view, place = memoryview(data), 0
    while place < len(view):
        tag, place = _read_varint(view, place)
        if skip_fixed and tag & 7 in _FIXED:
            place += _FIXED[tag & 7]
            continue
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


MICROSOFT = "com.microsoft"
INT8, FLOAT = 3, 1
"""Element types of ONNX."""
_TYPES: dict[int, np.dtype[Any]] = {FLOAT: np.dtype("<f4"), INT8: np.dtype("i1")}
_GRAPH, _NODE, _CONSTANT, _OUTPUT, _VALUE = 7, 1, 5, 12, 13


class Node(NamedTuple):
    """An operator with the names of what it reads and writes; attributes are kept as they are encoded."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: tuple[bytes, ...] = ()

    @property
    def output(self) -> str:
        """Its first output."""
        return self.outputs[0]


_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_LOCATION = b"location"
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Fields of messages of ONNX that lead to tensors."""


def keeps_weights_elsewhere(model: bytes) -> bool:
    """Whether a tensor of a model, in whichever graph, names another file for its data.

    It does so under the key "location": where these bytes are nowhere, there is nothing to look for. A graph
    of trees has tens of thousands of fields.

    Raises:
        ValueError: it has these bytes and is no model.
    """
    if _LOCATION not in model:
        return False
    waiting: list[tuple[str, memoryview]] = [("model", memoryview(model))]
    while waiting:
        kind, data = waiting.pop()
        for field, value in read_fields(data, skip_fixed=True):
            if kind == "tensor" and (field == _EXTERNAL_DATA or (field == _DATA_LOCATION and value == 1)):
                return True
            if kind != "tensor" and field in _INSIDE[kind]:
                waiting.append((_INSIDE[kind][field], _bytes(value)))
    return False


class GraphFile:
    """A model file taken apart. What is neither node nor constant stays as it was.

    Raises:
        ValueError, LookupError: not a model, or none that this reads.
    """

    def __init__(self, model: bytes) -> None:
        fields = list(read_fields(model))
        (graph,) = [value for name, value in fields if name == _GRAPH]
        self._model = [field for field in fields if field[0] != _GRAPH]
        self._rest: list[Field] = []
        self.nodes: list[Node] = []
        self._constants: dict[str, memoryview] = {}
        self.outputs: set[str] = set()
        for name, value in read_fields(_bytes(graph)):
            self._take(name, value)

    def _take(self, name: int, value: int | memoryview) -> None:
        if name == _NODE:
            self.nodes.append(_node(_bytes(value)))
        elif name == _CONSTANT:
            self._constants[_texts(_bytes(value), 8)[0]] = _bytes(value)
        else:
            self._rest.append((name, value))
            if name == _OUTPUT:
                self.outputs.update(_texts(_bytes(value), 1))

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of a constant; None where the name is that of none."""
        return tuple(_numbers(self._constants[name], 1)) if name in self._constants else None

    def constant(self, name: str) -> NDArray[Any]:
        """A constant of int8 or float32.

        Raises:
            KeyError: there is no constant of this name.
            ValueError: of another type, or encoded in another way.
        """
        data = self._constants[name]
        (kind,), raw = _numbers(data, 2), [_bytes(value) for field, value in read_fields(data) if field == 9]
        if kind not in _TYPES or not raw:
            raise ValueError(f"constant {name!r} is encoded otherwise")
        found: NDArray[Any] = np.frombuffer(raw[0], _TYPES[kind]).reshape(_numbers(data, 1))
        return found

    def add_constant(self, name: str, value: NDArray[Any]) -> str:
        """Adds an int8 or float32 constant, and returns its name."""
        kind = INT8 if value.dtype == np.int8 else FLOAT
        self._constants[name] = memoryview(tensor(name, kind, value.shape, value.tobytes()))
        return name

    def put_out(self, name: str) -> None:
        """Makes a float32 value the only output, and drops what nothing reads any more.

        Raises:
            LookupError: no node has this output.
        """
        if all(name not in node.outputs for node in self.nodes):
            raise LookupError(f"no node puts out {name!r}")
        output = text(1, name) + part(2, part(1, number(1, FLOAT)))
        self._rest = [field for field in self._rest if field[0] not in {_OUTPUT, _VALUE}]
        self._rest.append((_OUTPUT, memoryview(output)))
        self.outputs = {name}
        self.drop_unread()

    def drop_unread(self) -> None:
        """Takes out nodes that nothing reads any more; one may be the last reader of another."""
        while True:
            read = {name for node in self.nodes for name in node.inputs} | self.outputs
            kept = [node for node in self.nodes if not read.isdisjoint(node.outputs)]
            if len(kept) == len(self.nodes):
                return
            self.nodes = kept

    def serialised(self) -> bytes:
        """The file with the nodes and constants as they are now; constants that nobody reads are left out."""
        read = {name for node in self.nodes for name in node.inputs}
        graph: list[bytes | memoryview] = [part(_NODE, _encoded(node)) for node in self.nodes]
        for name, value in self._constants.items():
            if name in read:
                graph += (_part_head(_CONSTANT, len(value)), value)
        graph += [encode_field(field) for field in self._rest]
        size = sum(map(len, graph))
        # Constants are tens of megabytes: they are copied once, here.
        return b"".join([*map(encode_field, self._model), _part_head(_GRAPH, size), *graph])


def read_graph(folder: Path, manifest: Manifest) -> bytes:
    """The graph of a model as a file of its own: of a part of another model that part alone.

    Raises:
        CorruptModel: missing, another file than its manifest names, or one without this part.
    """
    data = read_file(folder, manifest, MODEL)
    if manifest.part is UNSET:
        return data
    try:
        graph = GraphFile(data)
        graph.put_out(manifest.part.output)
    except (ValueError, LookupError) as error:
        raise CorruptModel(place_of(folder, manifest, MODEL), f"has no such part: {error}") from error
    return graph.serialised()


def tensor(name: str, kind: int, shape: Iterable[int], raw: bytes) -> bytes:
    """A constant, encoded."""
    dimensions = b"".join(number(1, size) for size in shape)
    return dimensions + number(2, kind) + text(8, name) + part(9, raw)


def _node(data: memoryview) -> Node:
    fields = list(read_fields(data))
    texts = {kind: tuple(_text(value) for name, value in fields if name == kind) for kind in (1, 2, 4, 7)}
    attributes = tuple(bytes(_bytes(value)) for name, value in fields if name == 5)
    return Node(texts[4][0], texts[1], texts[2], "".join(texts[7]), attributes)


def _encoded(node: Node) -> bytes:
    parts = [text(1, name) for name in node.inputs] + [text(2, name) for name in node.outputs]
    parts += [text(3, node.output), text(4, node.operator), text(7, node.domain)]
    return b"".join([*parts, *(part(5, attribute) for attribute in node.attributes)])


def _numbers(data: memoryview, field: int) -> list[int]:
    return [value for name, value in read_fields(data) if name == field and isinstance(value, int)]


def _texts(data: memoryview, field: int) -> list[str]:
    return [_text(value) for name, value in read_fields(data) if name == field]


def _text(value: int | memoryview) -> str:
    return bytes(_bytes(value)).decode()


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number where a part is expected")
    return value
