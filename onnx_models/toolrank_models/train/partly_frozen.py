"""An encoder of which only the upper layers learn: what the lower ones make of a text is computed once.

For runs on one catalog, whose texts come again in every round: of six layers, training three costs half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Encoding
from torch import Tensor

from toolrank_models.train.cross_encoder import padded
from toolrank_models.train.encoder import TrainableEncoder

_MOST_TOKENS = 512


class PartlyFrozenEncoder(TrainableEncoder):
    """Remembers the states below the trained layers, bfloat16 (tokens, d) for each text it has met.

    Args:
        encoder: what is trained; its embeddings and lower layers are frozen.
        layers: how many of its layers stay as they are.
    """

    def __init__(self, encoder: TrainableEncoder, layers: int) -> None:
        limit = (encoder.tokenizer.truncation or {}).get("max_length", _MOST_TOKENS)
        super().__init__(encoder.model, encoder.tokenizer, limit, encoder.chunk_texts, half=encoder.half)
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
