"""Smoothing that costs nothing at run time: into the weights before, instead of a product on the way."""

from __future__ import annotations

from collections.abc import Mapping

from toolrank_models.export.bert import Bert
from toolrank_models.export.linear import InputScale


def fold_attention(bert: Bert, scales: Mapping[str, InputScale]) -> tuple[Bert, dict[str, InputScale]]:
    """Divides the channels of every value projection by what its attention's output is to be divided by.

    Attention mixes tokens, never channels, so the division may come first; the output's weight takes the
    factor back as it would have done (SmoothQuant, Xiao et al. 2023, eq. 3).
    """
    tensors, found = dict(bert.tensors), dict(scales)
    for layer in range(bert.layers):
        attention = f"encoder.layer.{layer}.attention"
        site, value = f"{attention}.output.dense", f"{attention}.self.value"
        smooth = found[site].smooth
        if smooth is not None:
            tensors[f"{value}.weight"] = tensors[f"{value}.weight"] / smooth[:, None]
            tensors[f"{value}.bias"] = tensors[f"{value}.bias"] / smooth
            tensors[f"{site}.weight"] = tensors[f"{site}.weight"] * smooth
            found[site] = found[site]._replace(smooth=None)
    return bert._replace(tensors=tensors), found
