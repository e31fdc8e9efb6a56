"""A BERT body with one logit on top, scoring (request, text) pairs in length-sorted chunks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from toolrank_models.manifest import Manifest
from toolrank_models.train.examples import RankingList
from toolrank_models.train.from_export import reopen_as
from toolrank_models.train.recipe import RerankerRecipe
from toolrank_models.train.shrinking import shrink
from toolrank_models.train.side_by_side import SideBySide


class TrainableCrossEncoder:
    """Scores pairs with a sequence classifier of one label.

    Args:
        model: a `transformers` sequence classification model with `num_labels=1`.
        tokenizer: its fast tokenizer.
        max_tokens: pairs are cut to this length, the longer side first.
        chunk_pairs: pairs per forward pass.
        half: run matrix products in bfloat16; the weights stay float32.
        threads: chunks that run side by side, see `SideBySide`.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Tokenizer,
        max_tokens: int,
        chunk_pairs: int = 16,
        *,
        half: bool = False,
        threads: int = 1,
    ) -> None:
        self.model = model
        self.half = half
        self.workers = SideBySide(threads)
        self.tokenizer = tokenizer
        self.chunk_pairs = chunk_pairs
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        tokenizer.no_padding()

    @classmethod
    def from_body(cls, folder: Path, recipe: RerankerRecipe) -> TrainableCrossEncoder:
        """A pretrained body with a new head; the head's initial values depend on the seed alone.

        Without dropout: no list is seen twice. Word embeddings stay as they are: words that the training
        data lacks keep their place beside those it has, and a step is a fifth cheaper on a CPU. Attention is
        spelled out: the backward pass of torch's fused one takes longer on a CPU than all the rest of a step.
        """
        from transformers import AutoModelForSequenceClassification

        torch.manual_seed(recipe.seed)
        model = AutoModelForSequenceClassification.from_pretrained(
            folder,
            num_labels=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        return cls._kept(model, Tokenizer.from_file(str(folder / "tokenizer.json")), recipe)

    @classmethod
    def reopened(cls, folder: Path, recipe: RerankerRecipe) -> tuple[TrainableCrossEncoder, Manifest]:
        """An exported cross-encoder, or what the recipe keeps of it: nearer to it than a bare body.

        Raises:
            ModelError: damaged, no cross-encoder, or smaller than what is to be kept.
        """
        opened = reopen_as(folder, "cross_encoder")
        tokenizer = Tokenizer.from_str(opened.tokenizer.decode())
        return cls._kept(opened.module, tokenizer, recipe), opened.manifest

    @classmethod
    def _kept(cls, model: Any, tokenizer: Tokenizer, recipe: RerankerRecipe) -> TrainableCrossEncoder:  # noqa: ANN401
        """What the recipe keeps of a model, to be trained as it says."""
        model.get_input_embeddings().weight.requires_grad_(False)
        shrink(model, recipe.layers, recipe.feed_forward)
        return cls(
            model, tokenizer, recipe.max_tokens, recipe.chunk_pairs, half=recipe.half, threads=recipe.threads
        )

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """One logit a pair, float32 (n,), with gradients where they are enabled."""
        encodings = self.tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(pairs)), key=lambda i: len(encodings[i].ids))
        chunks = [order[i : i + self.chunk_pairs] for i in range(0, len(order), self.chunk_pairs)]
        scored = self.workers.cat(self._forward, [[encodings[i] for i in chunk] for chunk in chunks])
        places = torch.empty(len(order), dtype=torch.long)
        places[torch.tensor(order)] = torch.arange(len(order))
        return scored[places]

    def _forward(self, encodings: Sequence[Encoding]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half, cache_enabled=False):
            output = self.model(**padded(encodings))
        return output.logits[:, 0].float()

    def score_lists(
        self, lists: Sequence[RankingList], lists_per_pass: int = 32
    ) -> list[NDArray[np.float32]]:
        """Logits of every text of every list, without dropout."""
        self.model.eval()
        scores: list[NDArray[np.float32]] = []
        for start in range(0, len(lists), lists_per_pass):
            part = lists[start : start + lists_per_pass]
            with torch.inference_mode():
                flat = self.logits([(item.query, text) for item in part for text in item.texts]).numpy()
            ends = np.cumsum([len(item.texts) for item in part])[:-1]
            scores += np.split(flat, ends)
        return scores


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
