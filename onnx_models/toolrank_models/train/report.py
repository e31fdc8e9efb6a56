"""The record of a run: settings, learning curve, figures, machine."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolrank_models.train.loop import Milestone
from toolrank_models.train.publish import Publication
from toolrank_models.train.publish_encoder import EncoderPublication
from toolrank_models.train.recipe import EncoderRecipe, RerankerRecipe, RunSettings


def write_report(
    path: Path,
    recipe: RerankerRecipe,
    curve: Sequence[Milestone],
    best_step: int,
    published: Publication,
    mixture: dict[str, Any],
) -> None:
    """Writes indented JSON; the list of seen tools stays in the manifest."""
    record = {
        **_run_record(recipe, curve, best_step),
        "mixture": mixture,
        "model": published.manifest.identity,
        "first_stage": published.first_stage,
        "trained_float32": published.trained,
        "exported": published.exported,
        "calibration": published.calibration,
    }
    _write(path, record)


def write_encoder_report(
    path: Path,
    recipe: EncoderRecipe,
    curve: Sequence[Milestone],
    best_step: int,
    published: EncoderPublication,
) -> None:
    """Writes indented JSON, figures by held-out catalog."""
    record = {
        **_run_record(recipe, curve, best_step),
        "model": published.manifest.identity,
        "trained_float32": published.trained,
        "exported": published.exported,
    }
    _write(path, record)


def _run_record(recipe: RunSettings, curve: Sequence[Milestone], best_step: int) -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "recipe": recipe,
        "curve": list(curve),
        "best_step": best_step,
    }


def _write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
