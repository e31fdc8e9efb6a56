"""A copy of a shipped model that a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kitpick_models.runtime import find_model


@pytest.fixture
def encoder_copy(tmp_path: Path) -> Path:
    return shutil.copytree(find_model("minilm-l6"), tmp_path / "copy")
