"""Products of a matrix of small integers with many vectors, exact, as fast as processors take them.

The graph is one `MatMulInteger` (ONNX operator set 10).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import available_cpus
from kitpick_models.graph_file import INT8, number, part, tensor, text
from kitpick_models.session import import_runtime, saturates

_BLOCK = 131_072
"""Rows in one graph: with 64 vectors its answer takes 32 MB."""
_ALONE = 1 << 24
"""With fewer numbers, telling a second thread takes as long as the product."""
_UINT8, _INT32 = 2, 6
"""Element types of ONNX."""
_ZERO = 128


class IntegerProduct:
    """C v for a matrix C of int8 that is kept and vectors v of integers in [−127, 127].

    Sums of products are exact: in int32 for up to 133,000 columns. Safe to use from several threads.

    Args:
        codes: int8 (n, d).

    Raises:
        MissingExtra, RuntimeClash: onnxruntime is not installed, or twice.
    """

    def __init__(self, codes: NDArray[np.int8]) -> None:
        runtime = import_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = available_cpus() if codes.size > _ALONE else 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if saturates():
            options.add_session_config_entry("session.x64quantprecision", "1")
        self._sessions = [
            runtime.InferenceSession(
                _graph(codes[start : start + _BLOCK]), options, providers=["CPUExecutionProvider"]
            )
            for start in range(0, len(codes), _BLOCK)
        ]

    def __call__(self, vectors: NDArray[np.int16]) -> NDArray[np.int32]:
        """Products (b, n) of vectors (b, d) with values in [−127, 127]."""
        shifted = (vectors + _ZERO).astype(np.uint8)
        parts = [session.run(None, {"v": shifted})[0] for session in self._sessions]
        found: NDArray[np.int32] = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return found


def _graph(codes: NDArray[np.int8]) -> bytes:
    """A model of input v, uint8 (b, d), that stands for v − 128, and output (v − 128) Cᵀ, int32 (b, n)."""
    n, d = codes.shape
    node = b"".join(text(1, name) for name in ("v", "c", "zero")) + text(2, "y") + text(4, "MatMulInteger")
    graph = (
        part(1, node)
        + text(2, "product")
        + part(5, tensor("c", INT8, (d, n), np.ascontiguousarray(codes.T).tobytes()))
        + part(5, tensor("zero", _UINT8, (), bytes([_ZERO])))
        + part(11, _value("v", _UINT8, d))
        + part(12, _value("y", _INT32, n))
    )
    return number(1, 8) + part(7, graph) + part(8, number(2, 10))


def _value(name: str, kind: int, columns: int) -> bytes:
    """A matrix with any number of rows."""
    shape = part(1, text(2, "b")) + part(1, number(1, columns))
    return text(1, name) + part(2, part(1, number(1, kind) + part(2, shape)))
