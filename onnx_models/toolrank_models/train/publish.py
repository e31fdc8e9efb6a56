"""From the best weights of a run to a model folder: exported, calibrated, measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_models.card import card
from toolrank_models.export import export_cross_encoder
from toolrank_models.export.original import Original
from toolrank_models.manifest import CARD, Figure, Manifest, Storage, write_manifest
from toolrank_models.train.calibrate import Calibration, calibrate
from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.examples import RankingList
from toolrank_models.train.exported_scorer import ExportedScorer
from toolrank_models.train.ranking_metrics import RankingFigures, ranking_figures
from toolrank_models.verify import verify

Scores = NDArray[np.float32]
MOST_LOST = 0.003
"""NDCG@5 on the validation split that static int8 may cost, in comparison with what it is exported from."""
_CALIBRATION = 256
"""Pairs from which int8 scales are found; the others become the reference."""


class Publication(msgspec.Struct, frozen=True):
    """What was measured on the way: the trained model, each exported form, and the calibration."""

    manifest: Manifest
    first_stage: RankingFigures
    trained: RankingFigures
    exported: dict[Storage, RankingFigures]
    calibration: Calibration


def publish_reranker(
    encoder: TrainableCrossEncoder,
    manifest: Manifest,
    lists: Sequence[RankingList],
    pairs: Sequence[tuple[str, str]],
    out: Path,
    measured: tuple[str, str],
) -> Publication:
    """Exports as static int8, or with int8 weights where that strays too far, and writes manifest and card.

    Args:
        encoder: with the weights to publish.
        manifest: everything but files, storage, temperature, thresholds and figures.
        lists: the validation split.
        pairs: real (request, text) pairs of the training split: most for int8 scales, the last ones as
            reference.
        out: the model folder.
        measured: date and command, for the card.
    """
    original = Original(encoder.model.float().eval(), encoder.tokenizer.to_str().encode())
    trained = ranking_figures(lists, encoder.score_lists(lists))
    exported: dict[Storage, tuple[RankingFigures, list[Scores]]] = {}

    def export(form: Storage) -> Manifest:
        stored = msgspec.structs.replace(manifest, storage=form)
        done = export_cross_encoder(original, out, stored, pairs[:_CALIBRATION], pairs[_CALIBRATION:])
        scores = ExportedScorer(out).score_lists(lists)
        exported[form] = ranking_figures(lists, scores), scores
        return done

    final = export("static_int8")
    faithful = verify(out).sound
    if not faithful or exported["static_int8"][0].ndcg < trained.ndcg - MOST_LOST:
        final = export("weight_int8")
        if faithful and exported["static_int8"][0].ndcg > exported["weight_int8"][0].ndcg - MOST_LOST:
            final = export("static_int8")  # no worse, and faster
    figures, scores = exported[final.storage]
    calibration = calibrate(lists, scores)
    final = _finished(final, figures, calibration, measured)
    write_manifest(out, final)
    (out / CARD).write_text(card(final), encoding="utf-8")
    first_stage = ranking_figures(lists, [-np.arange(len(item.texts), dtype=np.float32) for item in lists])
    measured_forms = {form: found for form, (found, _) in exported.items()}
    return Publication(final, first_stage, trained, measured_forms, calibration)


def _finished(
    manifest: Manifest, figures: RankingFigures, calibration: Calibration, measured: tuple[str, str]
) -> Manifest:
    date, command = measured
    values = {
        "NDCG@5": figures.ndcg,
        "Recall@5": figures.recall,
        "Comp@5": figures.complete,
        "abstention precision": calibration.abstain_precision,
        "abstention recall": calibration.abstain_recall,
    }
    return msgspec.structs.replace(
        manifest,
        temperature=calibration.temperature,
        thresholds={"abstain": calibration.abstain, "concentrate": calibration.concentrate},
        figures=tuple(
            Figure("held-out providers", name, round(value, 4), date, command)
            for name, value in values.items()
        ),
    )
