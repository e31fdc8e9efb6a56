"""A student of fewer layers copies a trained teacher."""

from __future__ import annotations

import msgspec
import pytest

torch = pytest.importorskip("torch")

from toolrank_models.errors import UnsupportedModel  # noqa: E402
from toolrank_models.train.cross_encoder import keep_layers  # noqa: E402
from toolrank_models.train.loop import TrainingRun  # noqa: E402
from toolrank_models.train.reranker_task import RerankerTask  # noqa: E402

pytestmark = pytest.mark.needs("torch")


def trained(recipe, task, folder):
    return TrainingRun(recipe, task, folder, lambda line: None).run()


@pytest.mark.parametrize("distil", ["margin_mse", "order"])
def test_a_student_learns_from_the_teacher_alone(recipe, make_encoder, source, folder, distil):
    longer = msgspec.structs.replace(recipe, steps=120, validate_every=120, distil=distil, teacher_weight=1.0)
    teacher = make_encoder()
    trained(longer, RerankerTask(longer, teacher, source), folder / "teacher")
    student = make_encoder()
    keep_layers(student.model, 1)
    curve = trained(longer, RerankerTask(longer, student, source, teacher), folder / "student")
    assert curve[-1].ndcg5 > 0.9
    assert len(student.model.bert.encoder.layer) == 1


def test_the_lowest_layers_stay(make_encoder):
    model = make_encoder().model
    first, last = model.bert.encoder.layer
    keep_layers(model, 2)
    assert [*model.bert.encoder.layer] == [first, last]
    keep_layers(model, 1)
    assert [*model.bert.encoder.layer] == [first]
    assert model.config.num_hidden_layers == 1


def test_a_student_begins_with_the_weights_of_its_teacher_and_leaves_them_alone(recipe, make_encoder):
    teacher = make_encoder()
    student = teacher.student(msgspec.structs.replace(recipe, layers=1))
    theirs, ours = teacher.model.bert.encoder.layer, student.model.bert.encoder.layer
    assert (len(theirs), len(ours)) == (2, 1)
    weight = theirs[0].output.dense.weight
    assert torch.equal(ours[0].output.dense.weight, weight)
    with torch.no_grad():
        ours[0].output.dense.weight.zero_()
    assert weight.abs().max() > 0
    assert not student.model.get_input_embeddings().weight.requires_grad


def test_more_layers_than_there_are_is_refused(make_encoder):
    with pytest.raises(UnsupportedModel, match="3 layers from a body of 2"):
        keep_layers(make_encoder().model, 3)
