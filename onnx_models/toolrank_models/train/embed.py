"""Sentence vectors of a pretrained body: mean pooling over tokens, unit length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from toolrank_models.train.cross_encoder import padded


class BodyEncoder:
    """Encodes texts in length-sorted batches; used to mine negatives."""

    def __init__(self, folder: Path, max_tokens: int = 128, batch: int = 64, *, half: bool = False) -> None:
        from transformers import AutoModel

        self.model = AutoModel.from_pretrained(folder).eval()
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_tokens)
        self.tokenizer.no_padding()
        self.batch = batch
        self.half = half

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (n, d)."""
        encodings = self.tokenizer.encode_batch(list(texts))
        order = np.argsort([len(e.ids) for e in encodings], kind="stable")
        vectors = np.zeros((len(texts), self.model.config.hidden_size), np.float32)
        for start in range(0, len(order), self.batch):
            chosen = order[start : start + self.batch]
            vectors[chosen] = self._pooled(padded([encodings[i] for i in chosen])).numpy()
        return vectors

    def _pooled(self, inputs: dict[str, Tensor]) -> Tensor:
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            hidden = self.model(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
