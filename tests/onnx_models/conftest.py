"""A copy of a shipped model that a test may damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitpick_models.graph_file import read_graph
from kitpick_models.locate import find_model
from kitpick_models.manifest import MODEL, REFERENCE, TOKENIZER, read_file, read_manifest, write_folder


@pytest.fixture(autouse=True)
def _loaded_anew(own_models: None) -> None:
    """Loading is what is tested here."""


@pytest.fixture
def encoder_copy(tmp_path: Path) -> Path:
    """With a graph and a tokenizer of its own, where the shipped models share one."""
    shipped = find_model("minilm-l6")
    manifest = read_manifest(shipped)
    files = {name: read_file(shipped, manifest, name) for name in (TOKENIZER, REFERENCE)}
    write_folder(tmp_path / "copy", manifest, {MODEL: read_graph(shipped, manifest), **files})
    return tmp_path / "copy"
