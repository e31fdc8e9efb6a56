"""Answers of the original model, stored beside the exported one (`reference.json`)."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.decoding import UNDECODABLE
from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import REFERENCE, Manifest, read_file

Array = NDArray[np.float32]


class EncoderReference(msgspec.Struct, frozen=True, tag="encoder"):
    """Texts and the original's vectors, (n, dimensions) as base64 of little-endian float16."""

    texts: tuple[str, ...]
    vectors: str

    def array(self, dimensions: int) -> Array:
        """The vectors, float32 (n, dimensions)."""
        flat = np.frombuffer(base64.b64decode(self.vectors), "<f2").astype(np.float32)
        return flat.reshape(len(self.texts), dimensions)


class PairReference(msgspec.Struct, frozen=True, tag="cross_encoder"):
    """Pairs (query, text) and the original's logits."""

    pairs: tuple[tuple[str, str], ...]
    logits: tuple[float, ...]


class ListReference(msgspec.Struct, frozen=True, tag="list_ranker"):
    """Features of candidates, (n, features), and the original's logits, (n,)."""

    rows: tuple[tuple[float, ...], ...]
    logits: tuple[float, ...]


Reference = EncoderReference | PairReference | ListReference


def read_reference(folder: Path, manifest: Manifest) -> Reference:
    """The stored answers.

    Raises:
        CorruptModel: absent, changed or unreadable.
    """
    data = read_file(folder, manifest, REFERENCE)
    try:
        found = msgspec.json.decode(data, type=EncoderReference | PairReference | ListReference)
        _require_answers(found, manifest.dimensions)
    except (*UNDECODABLE, ValueError) as error:
        raise CorruptModel(folder / REFERENCE, f"not a reference: {error}") from error
    return found


def _require_answers(reference: Reference, dimensions: int) -> None:
    """Raises ValueError unless there is one answer for each question."""
    if isinstance(reference, EncoderReference):
        reference.array(dimensions)
    elif len(reference.logits) != len(
        reference.pairs if isinstance(reference, PairReference) else reference.rows
    ):
        raise ValueError("not as many logits as there are questions")


def pack(vectors: Array) -> str:
    """Vectors as base64 of little-endian float16."""
    return base64.b64encode(np.ascontiguousarray(vectors, "<f2").tobytes()).decode("ascii")
