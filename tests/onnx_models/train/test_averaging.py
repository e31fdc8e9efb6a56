"""The mean of weights is that of every number, and of nothing that does not fit together."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from toolrank_models.train.averaging import load_average, trained_for  # noqa: E402
from toolrank_models.train.checkpoint import save_state  # noqa: E402
from toolrank_models.train.errors import BrokenCheckpoint  # noqa: E402

pytestmark = pytest.mark.needs("torch")


def saved(folder, value, step, width=2):
    model = torch.nn.BatchNorm1d(width)
    torch.nn.init.constant_(model.weight, value)
    model.num_batches_tracked.fill_(step)
    save_state(folder / "best.pt", {"step": step, "model": model.state_dict()})
    return folder


def test_every_weight_is_the_mean_and_counters_are_those_of_the_first(tmp_path):
    model = torch.nn.BatchNorm1d(2)
    runs = [saved(tmp_path / "a", 1.0, 900), saved(tmp_path / "b", 2.0, 2_400)]
    assert load_average(model, runs) == [900, 2_400]
    assert model.weight.tolist() == [1.5, 1.5]
    assert int(model.num_batches_tracked) == 900


def test_one_run_alone_is_itself(tmp_path):
    model = torch.nn.BatchNorm1d(2)
    assert load_average(model, [saved(tmp_path, 3.0, 7)]) == [7]
    assert model.weight.tolist() == [3.0, 3.0]


def test_without_a_run_the_model_stays_as_it_is():
    model = torch.nn.BatchNorm1d(2)
    assert load_average(model, []) == []
    assert model.weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("steps", "before", "words"),
    [
        ([900], [], "trained for 900 steps"),
        ([2_400, 900], [], "mean of the weights after 900 and 2400 steps"),
        (
            [100],
            [2_400, 900],
            "mean of the weights after 900 and 2400 steps, from there trained for 100 steps",
        ),
    ],
)
def test_a_manifest_says_where_weights_come_from(steps, before, words):
    assert trained_for(steps, before) == words


def test_another_shape_is_refused(tmp_path):
    runs = [saved(tmp_path / "a", 1.0, 900), saved(tmp_path / "b", 2.0, 900, width=3)]
    with pytest.raises(BrokenCheckpoint, match="does not fit the others"):
        load_average(torch.nn.BatchNorm1d(2), runs)


def test_a_run_that_was_not_validated_is_named(tmp_path):
    with pytest.raises(BrokenCheckpoint, match="not there yet"):
        load_average(torch.nn.BatchNorm1d(2), [tmp_path])
