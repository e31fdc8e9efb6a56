"""From the best weights of a run to a model folder: exported, calibrated, measured, put in place."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_models.manifest import Figure, Manifest, Storage, read_manifest, write_manifest
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_models.verify import verify
from kitpick_training.calibration import Calibration, calibrate
from kitpick_training.cross_encoder import TrainableCrossEncoder
from kitpick_training.encoder import TrainableEncoder
from kitpick_training.encoder_tasks import Encode, retrieval_figures
from kitpick_training.errors import ModelNotWritten
from kitpick_training.examples import RankingFigures, RankingList, RetrievalSet, mean_figures, ranking_figures
from kitpick_training.export import export_cross_encoder
from kitpick_training.export.original import Original
from kitpick_training.loop import Milestone
from kitpick_training.recipe import RunSettings

MOST_LOST = 0.003
"""NDCG@5 on what was held out that static int8 may cost, in comparison with what it is exported from."""
_CALIBRATION = 256
"""Texts or pairs from which int8 scales are found; the others become the reference."""
_DEFAULT = RuntimeSettings()

Scores = NDArray[np.float32]
FiguresBySet = Mapping[str, RankingFigures]


class ExportedScorer:
    """Scores lists with a model folder.

    Args:
        folder: of a cross-encoder.
        settings: how it is run.

    Raises:
        ModelError: as `load_cross_encoder`.
    """

    def __init__(self, folder: Path, settings: RuntimeSettings = _DEFAULT) -> None:
        self._model = load_cross_encoder(folder, settings)

    def score_lists(self, lists: Sequence[RankingList]) -> list[NDArray[np.float32]]:
        """The logit of every text of every list."""
        return [self._model.score(item.query, item.texts) for item in lists]


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
    encoder.model.float().eval()
    trained = _figures(encoder, held_out)
    exported: dict[Storage, FiguresBySet] = {}
    forms: tuple[Storage, ...] = ("static_int8", "weight_int8")
    for form in forms:
        stored = msgspec.structs.replace(manifest, storage=form)
        final = encoder.export(out, stored, texts[:_CALIBRATION], texts[_CALIBRATION:])
        exported[form] = _figures(load_encoder(out).encode, held_out)
        if _mean(exported[form]) >= _mean(trained) - MOST_LOST:
            break
    final = _with_figures(out, final, exported[final.storage], measured)
    return EncoderPublication(final, trained, exported)


def measured_encoder(out: Path, held_out: Sequence[RetrievalSet], measured: tuple[str, str]) -> Manifest:
    """Measures an exported encoder and writes the figures into its manifest and card."""
    figures = _figures(load_encoder(out).encode, held_out)
    return _with_figures(out, read_manifest(out), figures, measured)


def _with_figures(
    out: Path, manifest: Manifest, figures: FiguresBySet, measured: tuple[str, str]
) -> Manifest:
    final = msgspec.structs.replace(manifest, figures=_listed(figures, measured))
    write_manifest(out, final)
    return final


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


@contextmanager
def replacement_of(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` to write a model into; it takes the place of `out` if no error leaves.

    Processes that have the previous model open keep it; whoever opens `out` finds the one or the other.

    Raises:
        ModelNotWritten: the disk refused; the previous model is where it was.
    """
    staged, previous = out.with_name(f"{out.name}.part"), out.with_name(f"{out.name}.previous")
    try:
        _cleared(staged)
        staged.mkdir(parents=True)
        yield staged
        _cleared(previous)
        if out.exists():
            out.rename(previous)
        try:
            staged.rename(out)
        except OSError:
            if previous.exists():
                previous.rename(out)
            raise
        _cleared(previous)
    except OSError as error:
        raise ModelNotWritten(out, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _cleared(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def write_report(
    path: Path,
    recipe: RunSettings,
    curve: Sequence[Milestone],
    best_step: int,
    published: Publication | EncoderPublication,
    **more: Any,  # noqa: ANN401
) -> None:
    """Writes indented JSON; the list of seen tools stays in the manifest."""
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "recipe": recipe,
        "curve": list(curve),
        "best_step": best_step,
        **more,
        "model": published.manifest.identity,
        "trained_float32": published.trained,
        "exported": published.exported,
    }
    if isinstance(published, Publication):
        record |= {"first_stage": published.first_stage, "calibration": published.calibration}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
