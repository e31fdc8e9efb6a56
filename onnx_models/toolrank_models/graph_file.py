"""The nodes and constants of an ONNX file, to look at and to exchange before a session is made of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_models.protocol_buffers import Field, number, part, read_fields, text, written

MICROSOFT = "com.microsoft"
INT8, FLOAT = 3, 1
"""Element types of ONNX."""
_TYPES: dict[int, np.dtype[Any]] = {FLOAT: np.dtype("<f4"), INT8: np.dtype("i1")}
_GRAPH, _NODE, _CONSTANT, _OUTPUT = 7, 1, 5, 12


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

    def serialised(self) -> bytes:
        """The file with the nodes and constants as they are now; constants that nobody reads are left out."""
        read = {name for node in self.nodes for name in node.inputs}
        graph = [part(_NODE, _encoded(node)) for node in self.nodes]
        graph += [part(_CONSTANT, value) for name, value in self._constants.items() if name in read]
        graph += [written(field) for field in self._rest]
        return b"".join([*(written(field) for field in self._model), part(_GRAPH, b"".join(graph))])


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
