"""Models are handed to stages together only where they belong together."""

from __future__ import annotations

import pytest

from kitpick.model_set import ModelSet
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime")
NEEDS = frozenset({"vector", "scorer", "ranker"})


def test_the_list_ranker_is_there_beside_the_models_that_it_learned_with() -> None:
    models, missing = ModelSet(Settings()).for_needs(NEEDS)
    assert models.ranker is not None
    assert not missing


@pytest.mark.parametrize("settings", [Settings(cross_encoder="reranker-l3"), Settings(list_ranker="")])
def test_it_is_left_out_beside_other_models_and_where_none_is_named(settings: Settings) -> None:
    models, missing = ModelSet(settings).for_needs(NEEDS)
    assert models.scorer is not None
    assert models.ranker is None
    assert not missing, "the operator chose it: nothing is degraded"


def test_a_list_ranker_that_cannot_be_loaded_is_named() -> None:
    models, missing = ModelSet(Settings(list_ranker="absent")).for_needs(NEEDS)
    assert models.ranker is None
    assert [each.stage for each in missing] == ["list_ranker"]
