"""A matrix on request vectors, fitted to one catalog: it turns each towards APIs that serve similar ones.

The vectors of documents stay as they are: nothing is embedded again. `kitpick adapt` fits it to
judged requests (`kitpick.adaptation.request_fit`), and writes it beside the profile that names it.
"""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Vector
from kitpick_foundation.errors import in_brief
from kitpick_rescorers.errors import RescorerError

MAX_DIMENSIONS = 4_096
_MOST_BYTES = 2 * MAX_DIMENSIONS**2 + 65_536


class InvalidRequestMatrix(RescorerError):
    """A file that holds no matrix for requests; the text names it and says what is wrong."""


class RequestMatrix(msgspec.Struct, frozen=True, eq=False):
    """A square matrix W. A request with the unit vector q is searched by q + Wq, of unit length again."""

    encoder: str
    """Identity of the encoder whose vectors it was fitted to."""
    weights: NDArray[np.float32]
    """W, float32 (d, d), finite."""

    def turned(self, vector: Vector) -> Vector:
        """The unit vector, float32 (d,), that a request with this unit vector (d,) is searched by.

        Each vector is turned by itself, so that it does not depend on those turned with it.
        """
        found = vector + self.weights @ vector
        length = float(np.linalg.norm(found))
        return vector if length < 1e-6 else np.asarray(found / length, np.float32)

    def encoded(self) -> bytes:
        """The content of its file: an uncompressed `.npz`, the weights in half precision."""
        buffer = io.BytesIO()
        arrays = {"weights": self.weights.astype(np.float16), "encoder": np.array(self.encoder)}
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()


@lru_cache(maxsize=32)
def read_request_matrix(path: Path) -> RequestMatrix:
    """The matrix in a file. It is read once: what `kitpick adapt` writes has a name of its own each time.

    Raises:
        InvalidRequestMatrix: it cannot be read, or is none.
    """
    weights, encoder = _unpacked(path, _content(path))
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not 0 < len(weights) <= MAX_DIMENSIONS:
        raise InvalidRequestMatrix(f"{path}: its matrix must be square, of at most {MAX_DIMENSIONS} rows")
    if weights.dtype != np.float16 or not np.isfinite(weights).all():
        raise InvalidRequestMatrix(f"{path}: its numbers must be of half precision and finite")
    return RequestMatrix(encoder, weights.astype(np.float32))


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise InvalidRequestMatrix(f"{path}: is no file")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidRequestMatrix(f"{path}: cannot be read: {error.strerror}; run kitpick adapt") from error
    if len(content) > _MOST_BYTES:
        raise InvalidRequestMatrix(f"{path}: larger than {_MOST_BYTES:,} bytes")
    return content


def _unpacked(path: Path, content: bytes) -> tuple[NDArray[Any], str]:
    """The matrix, and the identity of its encoder."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _MOST_BYTES:
            raise ValueError(f"unpacks to more than {_MOST_BYTES:,} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return arrays["weights"], str(arrays["encoder"])
    except Exception as error:  # whatever readers of archives raise, there is no matrix
        reason = in_brief(error)
        raise InvalidRequestMatrix(f"{path}: no matrix for requests: {reason}") from error
