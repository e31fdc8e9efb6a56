"""A copy of a shipped model that a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kitpick_models.locate import find_model


@pytest.fixture(autouse=True)
def _loaded_anew(own_models: None) -> None:
    """Loading is what is tested here."""


@pytest.fixture
def encoder_copy(tmp_path: Path) -> Path:
    """With a tokenizer of its own, where the shipped models share one."""
    copy = shutil.copytree(find_model("minilm-l6"), tmp_path / "copy")
    shutil.copy(find_model("minilm-l6").parent / "tokenizer.json", copy)
    return copy
