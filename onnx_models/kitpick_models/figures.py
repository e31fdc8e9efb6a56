"""What was measured of a model later on, beside what its training measured: in its manifest and its card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from kitpick_models.card import card
from kitpick_models.errors import FiguresNotWritten
from kitpick_models.manifest import CARD, MANIFEST, Figure, Manifest, encode_manifest, read_manifest


def record_figures(folder: Path, figures: Sequence[Figure]) -> Manifest:
    """Adds measured values; one of the same benchmark and figure takes the place of what was there.

    Each file is replaced in one step: whoever opens the model meanwhile reads the old or the new manifest.

    Raises:
        CorruptModel, UnsupportedModel: the manifest cannot be read.
        FiguresNotWritten: the folder cannot be written; the manifest is the old or the new one, whole.
    """
    manifest = read_manifest(folder)
    known = {(found.benchmark, found.figure): found for found in (*manifest.figures, *figures)}
    extended = msgspec.structs.replace(manifest, figures=tuple(known.values()))
    try:
        _replace(folder / MANIFEST, encode_manifest(extended))
        _replace(folder / CARD, card(extended).encode("utf-8"))
    except OSError as error:
        raise FiguresNotWritten(folder, error.strerror or str(error)) from error
    return extended


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
