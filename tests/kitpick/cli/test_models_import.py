"""`kitpick models import` makes a set that the next ingest and search use; `card` shows a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import sentence_folders as made
from commands import Run

from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_models.locate import find_model

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def test_an_imported_encoder_ranks_a_catalog(
    settings: Settings, kitpick: Run, functions_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = made.write_folder(tmp_path / "mine"), tmp_path / "set"
    done = kitpick("models", "import", str(folder), "--out", str(out), "--request-prefix", "query: ")
    assert done.code == ExitCode.OK, done.err
    assert f"KITPICK_MODELS={out}" in done.err
    monkeypatch.setenv("KITPICK_MODELS", str(out))
    assert kitpick("ingest", f"functions:{functions_file}").code == ExitCode.OK
    found = json.loads(kitpick("search", "will it rain in Paris", "-p", "dense", "--json").out)
    assert len(found["hits"]) == 5
    assert not [each for each in found["degraded"] if each["stage"] == "encoder"]


def test_what_cannot_be_imported_ends_with_the_code_for_input(kitpick: Run, tmp_path: Path) -> None:
    refused = kitpick("models", "import", str(tmp_path), "--out", str(tmp_path / "set"))
    assert refused.code == ExitCode.INPUT
    assert "optimum-cli export onnx" in refused.err


def test_a_model_shows_its_card_without_the_file_for_readers(kitpick: Run, tmp_path: Path) -> None:
    shipped = find_model("query-kind")
    folder = shutil.copytree(shipped, tmp_path / "own")
    (folder / "CARD.md").unlink()
    shown = kitpick("models", "card", str(folder))
    assert shown.code == ExitCode.OK
    assert shown.out.rstrip() == (shipped / "CARD.md").read_text("utf-8").rstrip()
