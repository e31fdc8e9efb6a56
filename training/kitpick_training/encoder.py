"""The sentence encoder in training: a BERT with mean pooling over tokens and vectors of unit length.

Of two encoders that were joined into one the first learns what the other leaves wrong, which stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from kitpick_models.manifest import Manifest
from kitpick_models.runtime import load_encoder
from kitpick_training.chunks import ChunkPool, padded
from kitpick_training.export import export_encoder
from kitpick_training.export.apart import TakenApart
from kitpick_training.export.original import Original
from kitpick_training.export.pair import join_turned


class TrainableEncoder:
    """Encodes texts in length-sorted chunks, with gradients or, called as a function, without.

    Args:
        model: a `transformers` BERT without a head.
        tokenizer: its fast tokenizer.
        max_tokens: texts are cut to this length.
        chunk_texts: texts per forward pass.
        half: run matrix products in bfloat16; the weights stay float32.
        threads: chunks that run side by side, see `ChunkPool`.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Tokenizer,
        max_tokens: int = 128,
        chunk_texts: int = 64,
        *,
        half: bool = False,
        threads: int = 1,
    ) -> None:
        self.model, self.tokenizer, self.chunk_texts, self.half = model, tokenizer, chunk_texts, half
        self.max_tokens, self.workers = max_tokens, ChunkPool(threads)
        tokenizer.enable_truncation(max_tokens)
        tokenizer.no_padding()

    @classmethod
    def from_body(
        cls,
        folder: Path,
        max_tokens: int = 128,
        chunk_texts: int = 64,
        *,
        half: bool = False,
        threads: int = 1,
    ) -> TrainableEncoder:
        """A pretrained body, as that of a cross-encoder: see `TrainableCrossEncoder.from_body`."""
        from transformers import AutoModel

        model = AutoModel.from_pretrained(
            folder,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        model.get_input_embeddings().weight.requires_grad_(False)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return cls(model, tokenizer, max_tokens, chunk_texts, half=half, threads=threads)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors, float32 (n, d), with gradients where they are enabled."""
        encodings = self.tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        chunks = [order[i : i + self.chunk_texts] for i in range(0, len(order), self.chunk_texts)]
        pooled = self.workers.cat(self._pooled, [[encodings[i] for i in chunk] for chunk in chunks])
        places = torch.empty(len(order), dtype=torch.long)
        places[torch.tensor(order)] = torch.arange(len(order))
        return pooled[places]

    def _pooled(self, encodings: Sequence[Encoding]) -> Tensor:
        inputs = padded(encodings)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half, cache_enabled=False):
            hidden = self._hidden(encodings, inputs).float()
        weighted = hidden * inputs["attention_mask"].unsqueeze(-1)
        return torch.nn.functional.normalize(weighted.sum(1), dim=1)

    def _hidden(self, encodings: Sequence[Encoding], inputs: dict[str, Tensor]) -> Tensor:
        """Last hidden states (b, longest, d)."""
        return self.model(**inputs).last_hidden_state

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (n, d), without gradients."""
        self.model.eval()
        with torch.inference_mode():
            found: NDArray[np.float32] = self.vectors(texts).numpy()
        return found

    def export(
        self, out: Path, manifest: Manifest, calibration: Sequence[str], reference: Sequence[str]
    ) -> Manifest:
        """Writes the model folder; see `export_encoder`."""
        original = Original(self.model.float().eval(), self.tokenizer.to_str().encode())
        return export_encoder(original, out, manifest, calibration, reference)


class PartlyFrozenEncoder(TrainableEncoder):
    """An encoder of which only the upper layers learn: what the lower ones make of a text is computed once.

    Remembers bfloat16 states (tokens, d) for each text it has met. For runs on one catalog, whose texts come
    again in every round: of six layers, training three costs half.

    Args:
        encoder: what is trained; its embeddings and lower layers are frozen.
        layers: how many of its layers stay as they are.
    """

    def __init__(self, encoder: TrainableEncoder, layers: int) -> None:
        super().__init__(
            encoder.model, encoder.tokenizer, encoder.max_tokens, encoder.chunk_texts, half=encoder.half
        )
        self._layers = layers
        self._below: dict[tuple[int, ...], Tensor] = {}
        self.model.embeddings.requires_grad_(False)
        for layer in self.model.encoder.layer[:layers]:
            layer.requires_grad_(False)

    def _hidden(self, encodings: Sequence[Encoding], inputs: dict[str, Tensor]) -> Tensor:
        self._remember([encoding for encoding in encodings if tuple(encoding.ids) not in self._below])
        states = [self._below[tuple(encoding.ids)].float() for encoding in encodings]
        hidden = torch.nn.utils.rnn.pad_sequence(states, batch_first=True)
        return _through(self.model.encoder.layer[self._layers :], hidden, inputs["attention_mask"])

    def _remember(self, encodings: Sequence[Encoding]) -> None:
        if not encodings:
            return
        inputs = padded(encodings)
        with torch.no_grad():
            hidden = self.model.embeddings(
                input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"]
            )
            hidden = _through(self.model.encoder.layer[: self._layers], hidden, inputs["attention_mask"])
        for encoding, states in zip(encodings, hidden, strict=True):
            self._below[tuple(encoding.ids)] = states[: len(encoding.ids)].to(torch.bfloat16).clone()


def _through(layers: Any, hidden: Tensor, mask: Tensor) -> Tensor:  # noqa: ANN401
    """The states (b, tokens, d) after some layers; `mask` is 0 at padding."""
    added = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
    for layer in layers:
        after = layer(hidden, attention_mask=added)
        hidden = after[0] if isinstance(after, tuple) else after
    return hidden


_LEARNED = "learned"
"""Folder of what the first encoder became, beside those of both."""


class JoinedEncoder(TrainableEncoder):
    """Both encoders of a pair, of which the first one learns by the vector that they have together.

    Remembers the other one's part, (numbers of the pair,), for each text it has met: the texts of one catalog
    come again in every round. So a step costs what it costs to train the first one alone.

    Args:
        first: what is trained, with the weights of the pair's first encoder.
        pair: both encoders, with the length of texts that `first` reads.
    """

    def __init__(self, first: TrainableEncoder, pair: TakenApart) -> None:
        super().__init__(first.model, first.tokenizer, first.max_tokens, first.chunk_texts, half=first.half)
        self._first, self._pair = first, pair
        self._turn = torch.from_numpy(pair.matrices[0])
        self._other = load_encoder(pair.folders[1])
        self._beside: dict[str, NDArray[np.float32]] = {}

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors of the pair, float32 (n, d), with gradients for the first where they are enabled."""
        self._remember([text for text in dict.fromkeys(texts) if text not in self._beside])
        beside = torch.from_numpy(np.stack([self._beside[text] for text in texts]))
        return torch.nn.functional.normalize(self._first.vectors(texts) @ self._turn + beside, dim=1)

    def _remember(self, texts: Sequence[str]) -> None:
        found = self._other.encode(texts) @ self._pair.matrices[1]
        self._beside.update(zip(texts, found, strict=True))

    def export(
        self, out: Path, manifest: Manifest, calibration: Sequence[str], reference: Sequence[str]
    ) -> Manifest:
        """See `TrainableEncoder.export`; joined with the other one by the matrices that they had."""
        learned = self._pair.folders[0].with_name(_LEARNED)
        self._first.export(learned, manifest, calibration, reference)
        folders = (learned, *self._pair.folders[1:])
        return join_turned(folders, self._pair.matrices, reference, out, manifest)
