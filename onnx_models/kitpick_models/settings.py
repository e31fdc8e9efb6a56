"""How a model is run: device, threads, batch size. The caller decides where the values come from."""

from __future__ import annotations

from typing import Literal

import msgspec

Provider = Literal["cpu", "cuda"]

_CPU_TOKENS = 512
"""Padded tokens of a batch on a CPU: beyond that the activations fall out of the cache and it gets slower."""
_GPU_TOKENS = 16_384
_CPU_BUCKET = 8
_GPU_BUCKET = 64
"""Fewer, fuller batches: a GPU pays for the number of launches, not for padding."""


class RuntimeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one session.

    `threads` and `token_budget` (padded tokens a batch) choose themselves at 0: the CPUs that this process
    may use, and 512 on a CPU or 16,384 on a GPU. `cached_tokens` bounds the memory of token ids (8 bytes
    each).
    """

    provider: Provider = "cpu"
    threads: int = 0
    token_budget: int = 0
    cached_tokens: int = 4_000_000
    device: int = 0
    """Number of the GPU."""
    bound: bool = False
    """Whether tensors are handed over by IO binding on a CPU too; on a GPU they always are."""

    @property
    def batch_tokens(self) -> int:
        """Padded tokens a batch may hold."""
        return self.token_budget or (_CPU_TOKENS if self.provider == "cpu" else _GPU_TOKENS)

    @property
    def bucket(self) -> int:
        """Texts are padded to a multiple of this many tokens, whatever company they are in."""
        return _CPU_BUCKET if self.provider == "cpu" else _GPU_BUCKET
