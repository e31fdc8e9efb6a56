from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick_training.examples import RankingList


def test_scores_come_back_in_the_order_of_the_texts(make_encoder):
    encoder = make_encoder()
    texts = ("weather", "user song price invoice", "parcel ticket", "recipe " * 9)
    together = encoder.score_lists([RankingList("get weather", texts, (False,) * 4)])[0]
    alone = [float(encoder.score_lists([RankingList("get weather", (t,), (False,))])[0][0]) for t in texts]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_lists_of_different_lengths_stay_apart(make_encoder):
    lists = [RankingList("get song", ("song",) * n, (False,) * n) for n in (1, 3, 2)]
    assert [len(scores) for scores in make_encoder().score_lists(lists)] == [1, 3, 2]
