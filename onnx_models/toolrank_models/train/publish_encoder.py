"""From the best weights of an encoder run to a model folder: exported, measured on the held-out catalogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from toolrank_models.card import card
from toolrank_models.export import export_encoder
from toolrank_models.export.original import Original
from toolrank_models.manifest import CARD, Figure, Manifest, Storage, write_manifest
from toolrank_models.runtime import load_encoder
from toolrank_models.train.encoder import TrainableEncoder
from toolrank_models.train.encoder_task import Encode, retrieval_figures
from toolrank_models.train.examples import RetrievalSet
from toolrank_models.train.ranking_metrics import RankingFigures, mean_figures

MOST_LOST = 0.003
"""NDCG@5 on the held-out catalogs that static int8 may cost, in comparison with what it is exported from."""
_CALIBRATION = 256
"""Texts from which int8 scales are found; the others become the reference."""

FiguresBySet = Mapping[str, RankingFigures]


class EncoderPublication(msgspec.Struct, frozen=True):
    """What was measured: the trained model and each exported form, by held-out catalog."""

    manifest: Manifest
    trained: FiguresBySet
    exported: dict[Storage, FiguresBySet]


def publish_encoder(
    encoder: TrainableEncoder,
    manifest: Manifest,
    held_out: Sequence[RetrievalSet],
    texts: Sequence[str],
    out: Path,
    measured: tuple[str, str],
) -> EncoderPublication:
    """Exports as static int8, or with int8 weights where that costs too much, and writes manifest and card.

    Args:
        encoder: with the weights to publish.
        manifest: everything but files, dimensions, storage and figures.
        held_out: the catalogs it was chosen by.
        texts: requests and documents of the training split: most for int8 scales, the last ones as reference.
        out: the model folder.
        measured: date and command, for the card.
    """
    original = Original(encoder.model.float().eval(), encoder.tokenizer.to_str().encode())
    trained = _figures(encoder, held_out)
    exported: dict[Storage, FiguresBySet] = {}
    forms: tuple[Storage, ...] = ("static_int8", "weight_int8")
    for form in forms:
        stored = msgspec.structs.replace(manifest, storage=form)
        final = export_encoder(original, out, stored, texts[:_CALIBRATION], texts[_CALIBRATION:])
        exported[form] = _figures(load_encoder(out).encode, held_out)
        if _mean(exported[form]) >= _mean(trained) - MOST_LOST:
            break
    final = msgspec.structs.replace(final, figures=_listed(exported[final.storage], measured))
    write_manifest(out, final)
    (out / CARD).write_text(card(final), encoding="utf-8")
    return EncoderPublication(final, trained, exported)


def _figures(encode: Encode, held_out: Sequence[RetrievalSet]) -> FiguresBySet:
    return {found.name: retrieval_figures(encode, found) for found in held_out}


def _mean(figures: FiguresBySet) -> float:
    return mean_figures(list(figures.values())).ndcg


def _listed(figures: FiguresBySet, measured: tuple[str, str]) -> tuple[Figure, ...]:
    return tuple(
        Figure(f"held-out {name}", metric, round(value, 4), *measured)
        for name, found in figures.items()
        for metric, value in (("NDCG@5", found.ndcg), ("Recall@5", found.recall), ("Comp@5", found.complete))
    )
