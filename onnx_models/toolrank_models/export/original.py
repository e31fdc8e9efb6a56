"""The torch model that is exported, and its answers: the reference every exported file is held against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_models.tokens import TokenIds, pair, single

Array = NDArray[np.float32]


class Original(NamedTuple):
    """A transformers BERT in evaluation mode and the content of its `tokenizer.json`."""

    module: Any
    tokenizer: bytes


def read_encoder(folder: Path) -> Original:
    """The encoder of a transformers or sentence-transformers folder."""
    from transformers import AutoModel

    module = AutoModel.from_pretrained(folder).float().eval()
    return Original(module, (folder / "tokenizer.json").read_bytes())


def read_cross_encoder(folder: Path) -> Original:
    """The sequence classifier of a transformers or sentence-transformers folder."""
    from transformers import AutoModelForSequenceClassification

    module = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1).float().eval()
    return Original(module, (folder / "tokenizer.json").read_bytes())


def original_embeddings(original: Original, texts: Sequence[str], max_tokens: int) -> Array:
    """Unit mean-pooled vectors by torch, one text at a time, float32 (n, hidden)."""
    ids = TokenIds(original.tokenizer, capacity=0)
    states = [_forward(original.module, *single(ids, text, max_tokens)).last_hidden_state for text in texts]
    means = np.stack([state[0].mean(dim=0).numpy() for state in states])
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def original_logits(original: Original, pairs: Sequence[tuple[str, str]], max_tokens: int) -> Array:
    """Logits by torch, one pair at a time, float32 (n,)."""
    ids = TokenIds(original.tokenizer, capacity=0)
    outputs = [_forward(original.module, *pair(ids, query, text, max_tokens)) for query, text in pairs]
    return np.asarray([float(output.logits[0, 0]) for output in outputs], np.float32)


def _forward(module: Any, ids: NDArray[np.int64], types: NDArray[np.int64]) -> Any:  # noqa: ANN401
    import torch

    with torch.inference_mode():
        return module(input_ids=torch.from_numpy(ids)[None], token_type_ids=torch.from_numpy(types)[None])
