"""Chunks of a batch: padded to one length and run at the same time, each on one thread.

Splitting every operation among threads makes all of them wait for the slowest, a few hundred times a step;
chunks wait once. On a machine with other work the difference is several-fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from tokenizers import Encoding
from torch import Tensor

Chunk = TypeVar("Chunk")


class ChunkPool:
    """Runs a function over chunks on some threads. Gradients reach the parameters as in one pass.

    Their sums are added up in the order in which chunks end: with several threads, equal up to rounding.

    Args:
        threads: how many chunks at a time; with one, nothing is left to chance.
    """

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        self._alone = threads == 1

    def cat(self, forward: Callable[[Chunk], Tensor], chunks: Sequence[Chunk]) -> Tensor:
        """`forward` of every chunk, joined along the first axis in the order of the chunks."""
        if self._alone:
            return torch.cat([forward(chunk) for chunk in chunks])
        enabled = torch.is_grad_enabled()

        def run(chunk: Chunk) -> Tensor:
            with torch.set_grad_enabled(enabled):  # what is enabled here is not there
                return forward(chunk)

        # the longest come last, and are begun first
        parts = list(self._pool.map(run, reversed(chunks)))[::-1]
        if not enabled:
            return torch.cat(parts)
        joined: Tensor = _Joined.apply(torch.zeros((), requires_grad=True), self._pool, parts)
        return joined


class _Joined(torch.autograd.Function):  # type: ignore[misc]  # torch has no part in our types
    """Joins the ends of separate graphs; backwards, each graph is walked on a thread of its own."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, pool: ThreadPoolExecutor, parts: Sequence[Tensor]) -> Tensor:  # noqa: ANN401
        ctx.pool, ctx.parts = pool, parts
        return torch.cat([part.detach() for part in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:  # noqa: ANN401
        pieces = torch.split(gradients[0], [len(part) for part in ctx.parts])
        list(ctx.pool.map(torch.Tensor.backward, reversed(ctx.parts), reversed(pieces)))
        return None, None, None


def padded(encodings: Sequence[Encoding]) -> dict[str, Tensor]:
    """Input tensors of int64 (b, longest); the padding id is 0, masked out."""
    longest = max(len(e.ids) for e in encodings)

    def filled(values: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor([[*row, *[0] * (longest - len(row))] for row in values])

    return {
        "input_ids": filled([e.ids for e in encodings]),
        "attention_mask": filled([e.attention_mask for e in encodings]),
        "token_type_ids": filled([e.type_ids for e in encodings]),
    }
