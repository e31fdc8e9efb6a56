"""Figures that are measured later join those of the training in manifest and card."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec
import pytest

from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import Figure, Manifest, read_manifest, write_manifest
from kitpick_training.errors import FiguresNotWritten
from kitpick_training.model_figures import record_figures

TRAINED = Figure("held-out", "NDCG@5", 0.88, "2026-01-01", "a training")
FIRST = Figure("toolbench", "recall@5", 0.5, "2026-01-02", "kitpick eval toolbench")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_manifest(
        tmp_path, Manifest("tiny", "cross_encoder", "1", "none", "MIT", files={"model.onnx": "ab"})
    )
    return tmp_path


def test_what_was_measured_before_stays(folder: Path):
    record_figures(folder, [TRAINED])
    record_figures(folder, [FIRST])
    assert read_manifest(folder).figures == (TRAINED, FIRST)


def test_a_figure_measured_again_takes_the_place_of_the_first(folder: Path):
    record_figures(folder, [FIRST, TRAINED])
    again = msgspec.structs.replace(FIRST, value=0.6, date="2026-02-02")
    record_figures(folder, [again])
    assert read_manifest(folder).figures == (again, TRAINED)


def test_the_card_shows_them_and_nothing_else_of_the_model_changes(folder: Path):
    before = read_manifest(folder)
    written = record_figures(folder, [FIRST])
    assert "| toolbench | recall@5 | 0.5 | 2026-01-02 |" in (folder / "CARD.md").read_text()
    assert msgspec.structs.replace(written, figures=()) == before
    assert sorted(path.name for path in folder.iterdir()) == ["CARD.md", "manifest.json"]


def test_a_full_disk_leaves_the_manifest_whole(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = (folder / "manifest.json").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FiguresNotWritten, match="No space left on device"):
        record_figures(folder, [FIRST])
    monkeypatch.undo()
    assert (folder / "manifest.json").read_bytes() == before


def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(CorruptModel):
        record_figures(tmp_path, [FIRST])
    assert not list(tmp_path.iterdir())
