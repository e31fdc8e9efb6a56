"""docs/models.md names every shipped model and recipe, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text("utf-8")
RECIPES = sorted((ROOT / "training" / "kitpick_training" / "recipes").glob("*.toml"))


@pytest.mark.parametrize("recipe", [path.stem for path in RECIPES])
def test_every_recipe_is_named(recipe):
    assert f"`{recipe}`" in PAGE


@pytest.mark.needs("weights")
def test_every_shipped_model_is_named():
    from kitpick_models.locate import list_models

    assert all(f"`{manifest.name}`" in PAGE for _, manifest in list_models())


def test_every_command_exists():
    for script in re.findall(r"`(scripts/[\w-]+)", PAGE):
        assert (ROOT / script).is_file()


@pytest.mark.needs("weights", "onnxruntime")
def test_the_example_runs():
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "docs/models.md", "exec"), {})
