from __future__ import annotations

import numpy as np
import pytest

from kitpick_models.encoders import sigmoid
from kitpick_training.calibration import calibrate
from kitpick_training.errors import EmptyTrainingSet
from kitpick_training.examples import RankingList


def lists_with_logits(temperature: float, count: int = 400):
    """Labels drawn with the very probabilities that the logits state, then stretched by `temperature`."""
    rng = np.random.default_rng(0)
    lists, scores = [], []
    for _ in range(count):
        logits = rng.normal(-1, 2, size=8).astype(np.float32)
        relevant = rng.random(8) < sigmoid(logits)
        lists.append(RankingList("q", tuple("abcdefgh"), tuple(map(bool, relevant))))
        scores.append(logits * np.float32(temperature))
    return lists, scores


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature):
    assert calibrate(*lists_with_logits(temperature)).temperature == pytest.approx(temperature, rel=0.1)


def test_the_abstention_threshold_keeps_what_it_promises():
    found = calibrate(*lists_with_logits(1.0), kept=0.9)
    assert found.kept == pytest.approx(0.9, abs=0.01)
    assert 0 < found.abstain < 1
    assert 0 < found.concentrate < 1
    assert found.abstain_recall > 1 - found.kept


@pytest.mark.parametrize("label", [True, False])
def test_one_sided_lists_are_refused(label):
    with pytest.raises(EmptyTrainingSet):
        calibrate([RankingList("q", ("a", "b"), (label, label))], [np.zeros(2, np.float32)])
