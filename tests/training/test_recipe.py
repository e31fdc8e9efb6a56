from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import kitpick_training
from kitpick_training.errors import InvalidRecipe
from kitpick_training.recipe import EncoderRecipe, QueryKindRecipe, RerankerRecipe, read_recipe

SHIPPED = Path(kitpick_training.__file__).parent / "recipes"


def test_the_shipped_recipes_are_valid():
    assert read_recipe(SHIPPED / "reranker-l6.toml", RerankerRecipe).name == "reranker-l6"
    assert read_recipe(SHIPPED / "encoder-l6.toml", EncoderRecipe).name == "minilm-l6"
    assert read_recipe(SHIPPED / "query-kind.toml", QueryKindRecipe).name == "query-kind"


@pytest.mark.parametrize(
    "text",
    ["name = 'x'", "name = 'x'\nsteps = 0", "name = 'x'\nsteps = 5\nstep = 5", "steps = [", "\0"],
)
def test_a_wrong_recipe_is_refused_with_its_path(tmp_path, text):
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InvalidRecipe, match=r"r\.toml"):
        read_recipe(path, RerankerRecipe)


def test_an_absent_recipe_is_refused(tmp_path):
    with pytest.raises(InvalidRecipe, match="cannot be read"):
        read_recipe(tmp_path / "r.toml", RerankerRecipe)


def test_the_rate_warms_up_stays_and_falls(recipe):
    rates = [recipe.rate(step) for step in range(recipe.steps)]
    assert rates[0] == recipe.learning_rate / 2
    assert rates[2] == rates[7] == recipe.learning_rate
    assert rates[-1] == pytest.approx(recipe.learning_rate / 4)


def test_a_longer_run_changes_no_rate_of_the_flat_part(recipe):
    longer = msgspec.structs.replace(recipe, steps=100)
    assert [longer.rate(step) for step in range(8)] == [recipe.rate(step) for step in range(8)]
