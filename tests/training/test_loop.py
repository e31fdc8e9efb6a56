"""A run learns, survives being stopped, and stops itself when something is wrong."""

from __future__ import annotations

import msgspec
import pytest

torch = pytest.importorskip("torch")

from kitpick_training.cross_encoder import RerankerTask  # noqa: E402
from kitpick_training.errors import (  # noqa: E402
    BrokenCheckpoint,
    CheckpointNotWritten,
    DivergedTraining,
    EmptyTrainingSet,
)
from kitpick_training.examples import RankingList  # noqa: E402
from kitpick_training.loop import (  # noqa: E402
    TrainingRun,
    load_state,
    save_state,
)

pytestmark = pytest.mark.needs("torch")


def run(recipe, encoder, source, folder, lines=None):
    task = RerankerTask(recipe, encoder, source)
    return TrainingRun(recipe, task, folder, (lines if lines is not None else []).append)


class Killed(Exception):
    """Stands for the signal."""


class KilledAt:
    """A source during whose batch of one step the process ends."""

    def __init__(self, source, step):
        self.source, self.step = source, step

    def batch(self, step, size):
        if step == self.step:
            raise Killed
        return self.source.batch(step, size)

    def validation(self):
        return self.source.validation()


def test_it_learns_which_text_is_right(recipe, make_encoder, source, folder):
    longer = msgspec.structs.replace(recipe, steps=120, validate_every=60)
    curve = run(longer, make_encoder(), source, folder).run()
    assert [point.step for point in curve] == [60, 120]
    assert curve[-1].loss < 0.8 * curve[0].loss
    assert curve[-1].ndcg5 > 0.9


def test_a_killed_run_ends_bit_by_bit_like_an_undisturbed_one(recipe, make_encoder, source, folder):
    whole = run(recipe, make_encoder(), source, folder / "whole")
    whole.run()
    with pytest.raises(Killed):
        run(recipe, make_encoder(), KilledAt(source, 7), folder / "cut").run()
    resumed = run(recipe, make_encoder(), source, folder / "cut")
    resumed.run()
    weights = whole.task.model.state_dict()
    assert all(torch.equal(weights[k], v) for k, v in resumed.task.model.state_dict().items())
    assert [p.loss for p in resumed.curve] == [p.loss for p in whole.curve]


def test_the_best_weights_are_kept_and_the_progress_is_told(recipe, make_encoder, source, folder):
    lines = []
    run(msgspec.structs.replace(recipe, steps=40), make_encoder(), source, folder, lines).run()
    assert load_state(folder / "best.pt")["step"] in {6, 12, 18, 24, 30, 36, 40}
    assert any("min left" in line for line in lines)


def test_the_start_is_measured_on_request_and_stands_where_nothing_is_better(
    recipe, make_encoder, source, folder
):
    still = msgspec.structs.replace(recipe, validate_start=True, learning_rate=1e-12)
    curve = run(still, make_encoder(), source, folder).run()
    assert [point.step for point in curve] == [0, 6, 12]
    assert load_state(folder / "best.pt")["step"] == 0


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_state(
    recipe, make_encoder, source, folder
):
    run(msgspec.structs.replace(recipe, steps=4), make_encoder(), source, folder).run()
    broken = run(recipe, make_encoder(), source, folder)
    with torch.no_grad():
        state = load_state(folder / "state.pt")
        state["model"]["classifier.bias"].fill_(float("nan"))
    save_state(folder / "state.pt", state)
    before = (folder / "state.pt").read_bytes()
    with pytest.raises(DivergedTraining, match="learning_rate"):
        broken.run()
    assert (folder / "state.pt").read_bytes() == before


def test_validation_without_a_right_answer_is_refused(recipe, make_encoder, source, folder):
    source.validation = lambda: [RankingList("q", ("a", "b"), (False, False))]
    with pytest.raises(EmptyTrainingSet):
        run(recipe, make_encoder(), source, folder)


@pytest.mark.parametrize("change", [{"seed": 5}, {"name": "other"}])
def test_a_folder_of_another_recipe_is_refused(recipe, make_encoder, source, folder, change):
    run(recipe, make_encoder(), source, folder).run()
    with pytest.raises(BrokenCheckpoint, match="another recipe"):
        run(msgspec.structs.replace(recipe, **change), make_encoder(), source, folder).run()


def test_a_checkpoint_that_was_cut_off_is_named(folder):
    save_state(folder / "state.pt", {"step": 1})
    (folder / "state.pt").write_bytes((folder / "state.pt").read_bytes()[:100])
    with pytest.raises(BrokenCheckpoint, match=r"state\.pt"):
        load_state(folder / "state.pt")


def test_a_disk_that_refuses_leaves_the_state_before(folder, monkeypatch):
    save_state(folder / "state.pt", {"step": 1})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CheckpointNotWritten, match="No space left"):
        save_state(folder / "state.pt", {"step": 2})
    assert load_state(folder / "state.pt") == {"step": 1}
    assert [p.name for p in folder.iterdir()] == ["state.pt"]
