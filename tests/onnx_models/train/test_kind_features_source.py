"""Training sees of a reranked list what the pipeline shows."""

from __future__ import annotations

import pytest

from toolrank_rescorers.kind_features import KIND_FEATURES

pytest.importorskip("torch")

from toolrank_evaluation.training_sets.kind_features_source import kind_features_splits
from toolrank_models.runtime import load_cross_encoder, load_encoder
from toolrank_models.train.recipe import QueryKindRecipe

pytestmark = pytest.mark.needs("torch", "data", "weights", "onnxruntime")


@pytest.mark.slow
def test_both_splits_hold_features_of_held_out_providers(shared_data, tmp_path, monkeypatch):
    from toolrank_evaluation.training_sets import kind_features_source as source

    def small(catalog, split, holdout):
        """Every tenth document: enough to rank, quick to embed."""
        import msgspec

        from toolrank_evaluation.training_sets.split import take_split

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
