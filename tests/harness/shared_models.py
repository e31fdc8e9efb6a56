"""Loaded models that all tests of a process share: loading one takes a second of processor time.

What is shared is the graph in onnxruntime and the vocabulary, by their bytes and settings. Everything above
them, caches and heads, is each test's own. Tests of loading itself ask for the fixture `own_models`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from kitpick_models import session, tokens

_LARGE = 100_000
"""Bytes: smaller graphs load at once, and many of them are made by a test."""
_OPEN, _TOKENIZER = session._open, tokens.Tokenizer
_OPENED: dict[object, Any] = {}


def share() -> None:
    """From now on equal models are loaded once."""
    session._open = _opened
    tokens.Tokenizer = _Tokenizers  # type: ignore[assignment,misc]


@contextmanager
def unshared() -> Iterator[None]:
    """Meanwhile each model is loaded anew."""
    session._open = _OPEN
    tokens.Tokenizer = _TOKENIZER  # type: ignore[misc]
    try:
        yield
    finally:
        share()


def _opened(model: bytes, storage: Any, settings: Any) -> Any:
    if len(model) < _LARGE:
        return _OPEN(model, storage, settings)
    key = (os.getpid(), hash(model), len(model), storage, settings)  # the child of a fork has its own
    if key not in _OPENED:
        _OPENED[key] = _OPEN(model, storage, settings)
    return _OPENED[key]


class _Tokenizers:
    """Makes a tokenizer of the same bytes once."""

    from_buffer = staticmethod(lru_cache(maxsize=8)(_TOKENIZER.from_buffer))
