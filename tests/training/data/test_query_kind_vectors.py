"""Training sees of a reranked list what the pipeline shows."""

from __future__ import annotations

import pytest

from kitpick_rescorers.stages.classify import KIND_FEATURES

pytest.importorskip("torch")

from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_training.data.query_kind_vectors import held_out_again, kind_features_splits
from kitpick_training.data.split import split_of
from kitpick_training.recipe import QueryKindRecipe

pytestmark = pytest.mark.needs("torch", "data", "weights", "onnxruntime")


def test_one_in_five_of_the_held_out_providers_validates():
    providers = [f"provider {i}" for i in range(20_000)]
    held_out = [provider for provider in providers if split_of(provider, 0.1) == "validation"]
    assert 0.17 < sum(map(held_out_again, held_out)) / len(held_out) < 0.23


@pytest.mark.slow
def test_both_splits_hold_features_of_held_out_providers(shared_data, tmp_path, monkeypatch):
    from kitpick_training.data import query_kind_vectors as source

    def small(catalog, split, holdout):
        """Every tenth document: enough to rank, quick to embed."""
        import msgspec

        from kitpick_training.data.split import take_split

        taken = take_split(catalog, split, holdout)
        kept = dict(list(taken.documents.items())[::40])
        requests = tuple(r for r in taken.requests if r.relevant[0] in kept)
        return msgspec.structs.replace(taken, documents=kept, requests=requests)

    monkeypatch.setattr(source, "take_split", small)
    recipe = QueryKindRecipe(name="k", encoder="minilm-l6", features=KIND_FEATURES, requests=12, seed=3)
    splits = kind_features_splits(shared_data, recipe, load_encoder(), load_cross_encoder(), tmp_path)
    assert splits.train.vectors.shape[1] == len(KIND_FEATURES)
    assert len(splits.train.multi) + len(splits.validation.multi) == 12
    assert splits.data[0].examples == len(splits.train.multi)
