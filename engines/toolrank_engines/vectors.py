"""What every engine asks of a vector."""

from __future__ import annotations

import numpy as np

from toolrank_engines.contract import Vector
from toolrank_engines.errors import InvalidVector


def checked(vector: Vector, dimensions: int) -> Vector:
    """The vector as float32 (d,).

    Raises:
        InvalidVector: wrong length or not finite.
    """
    with np.errstate(over="ignore"):
        array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimensions,):
        raise InvalidVector(f"shape {array.shape}, this index holds vectors of shape ({dimensions},)")
    if not np.isfinite(array).all():
        raise InvalidVector("a vector has a value that is not finite")
    return array
