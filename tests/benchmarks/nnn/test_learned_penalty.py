"""A penalty per request, where others did well."""

from __future__ import annotations

import numpy as np
import pytest
from nnn.learned_penalty import LearnedPenalty, similarity_features


def test_the_learned_rule_finds_the_rule_behind_its_examples() -> None:
    """Requests whose best similarity is high want the higher penalty."""
    rng = np.random.default_rng(0)
    similarities = [np.sort(rng.uniform(0, top, 60))[::-1] for top in rng.uniform(0.3, 0.9, 300)]
    high = np.array([falling[0] > 0.6 for falling in similarities])
    rule = LearnedPenalty.fit(
        similarities[:200], np.stack([~high, high], axis=1)[:200].astype(float), [0.1, 0.4]
    )
    chosen = np.array([rule.choose(falling) for falling in similarities[200:]])
    assert np.mean((chosen == 0.4) == high[200:]) > 0.95
    assert set(chosen) == {0.1, 0.4}


@pytest.mark.parametrize("falling", [[], [0.5], [0.5, 0.4]])
def test_few_candidates_have_features_too(falling: list[float]) -> None:
    features = similarity_features(np.array(falling))
    assert features.shape == (7,)
    assert np.isfinite(features).all()
