"""Loaded models that all tests of a process share: loading one takes a second of processor time.

What is shared is the graph in onnxruntime and the vocabulary, by their bytes and settings, and the bytes of
the shipped files, which no test changes: reading and comparing them takes a tenth of a second. All above
them, caches and heads, is each test's own. Tests of loading itself ask for the fixture `own_models`.

Where tests ask the same of one small catalog again and again, graphs remember what they answered to a batch.
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from kitpick_models import encoders, heads, session, tokens
from kitpick_models.graph_file import read_graph
from kitpick_models.manifest import SHIPPED, Manifest, read_file

_LARGE = 100_000
"""Bytes: smaller graphs load at once, and many of them are made by a test."""
_OPEN, _TOKENIZER = session._open, tokens.Tokenizer
_OPENED: dict[object, Any] = {}
_FILES: dict[object, bytes] = {}
_ELSEWHERE = session.keeps_weights_elsewhere
_MOST_ANSWERS, _MOST_BYTES = 4_000, 100_000
"""Answers of a graph that are kept, and how large one may be."""


def share() -> None:
    """From now on equal models are loaded once."""
    session._open = _opened
    session.keeps_weights_elsewhere = _elsewhere
    session.read_graph = _read_graph
    encoders.read_file = heads.read_file = _read
    tokens.Tokenizer = _Tokenizers  # type: ignore[assignment,misc]


@contextmanager
def unshared() -> Iterator[None]:
    """Meanwhile each model is read and loaded anew."""
    session._open = _OPEN
    session.keeps_weights_elsewhere = _ELSEWHERE
    session.read_graph = read_graph
    encoders.read_file = heads.read_file = read_file
    tokens.Tokenizer = _TOKENIZER  # type: ignore[misc]
    try:
        yield
    finally:
        share()


@contextmanager
def remembering() -> Iterator[None]:
    """Meanwhile a shared graph computes equal batches once: to the last bit, it answers as it did before."""
    _Remembering.on = True
    try:
        yield
    finally:
        _Remembering.on = False


class _Remembering:
    """A graph in onnxruntime, and its latest answers."""

    on = False

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._answers: OrderedDict[bytes, list[Any]] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def run(self, outputs: list[str], batch: dict[str, Any]) -> list[Any]:
        if not self.on:
            return list(self._opened.run(outputs, batch))
        key = _digest(outputs, batch)
        found = self._answers.get(key)
        if found is None:
            found = self._opened.run(outputs, batch)
            if sum(array.nbytes for array in found) <= _MOST_BYTES:
                self._keep(key, found)
        return [array.copy() for array in found]

    def _keep(self, key: bytes, found: list[Any]) -> None:
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.popitem(last=False)
        self._answers[key] = found


def _digest(outputs: list[str], batch: dict[str, Any]) -> bytes:
    digest = hashlib.blake2b(repr(outputs).encode(), digest_size=16)
    for name, array in batch.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _read(folder: Path, manifest: Manifest, name: str) -> bytes:
    """A file of a model. Shipped ones are read once, and kept as what their digest says."""
    if folder.parent not in SHIPPED:
        return read_file(folder, manifest, name)
    key = (folder, name, manifest.files.get(name))
    if key not in _FILES:
        _FILES[key] = read_file(folder, manifest, name)
    return _FILES[key]


def _read_graph(folder: Path, manifest: Manifest) -> bytes:
    """The graph of a model, in the same way."""
    if folder.parent not in SHIPPED:
        return read_graph(folder, manifest)
    key = (folder, manifest.identity)
    if key not in _FILES:
        _FILES[key] = read_graph(folder, manifest)
    return _FILES[key]


_elsewhere = lru_cache(maxsize=16)(_ELSEWHERE)


def _opened(model: bytes, storage: Any, settings: Any) -> Any:
    if len(model) < _LARGE:
        return _OPEN(model, storage, settings)
    key = (os.getpid(), hash(model), len(model), storage, settings)  # the child of a fork has its own
    if key not in _OPENED:
        _OPENED[key] = _Remembering(_OPEN(model, storage, settings))
    return _OPENED[key]


class _Tokenizers:
    """Makes a tokenizer of the same bytes once."""

    from_buffer = staticmethod(lru_cache(maxsize=8)(_TOKENIZER.from_buffer))
