"""The mean of weights is that of every number, and of nothing that does not fit together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

torch = pytest.importorskip("torch")

from kitpick_models.errors import CorruptModel  # noqa: E402
from kitpick_models.manifest import MODEL, Manifest, TrainingData, read_manifest  # noqa: E402
from kitpick_training.errors import BrokenCheckpoint  # noqa: E402
from kitpick_training.export import export_encoder  # noqa: E402
from kitpick_training.export.original import Original  # noqa: E402
from kitpick_training.loop import save_state  # noqa: E402
from kitpick_training.weights import (  # noqa: E402
    Origin,
    load_average,
    trained_from,
    with_what_it_knew,
)

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
    assert load_average(model, runs) == Origin(steps=(900, 2_400))
    assert model.weight.tolist() == [1.5, 1.5]
    assert int(model.num_batches_tracked) == 900


def test_one_run_alone_is_itself(tmp_path):
    model = torch.nn.BatchNorm1d(2)
    assert load_average(model, [saved(tmp_path, 3.0, 7)]) == Origin(steps=(7,))
    assert model.weight.tolist() == [3.0, 3.0]


def test_without_a_run_the_model_stays_as_it_is():
    model = torch.nn.BatchNorm1d(2)
    assert load_average(model, []) == Origin()
    assert model.weight.tolist() == [1.0, 1.0]


IN_USE = Manifest("tiny", "encoder", "1", "a body, trained for 9 steps", "MIT", files={MODEL: "abcdef" * 9})


@pytest.mark.parametrize(
    ("base", "origin", "words"),
    [
        ("a body", Origin(), "a body"),
        ("a body", Origin((900,)), "a body, trained for 900 steps"),
        ("a body", Origin((2_400, 900)), "a body, mean of the weights after 900 and 2400 steps"),
        ("a body", Origin(models=(IN_USE,)), "a body, trained for 9 steps"),
        ("a body, cut", Origin((100,)), "a body, cut, from there trained for 100 steps"),
        (
            "a body",
            Origin((100,), (IN_USE,)),
            "a body, mean of the weights of tiny@abcdefabcdef and after 100 steps",
        ),
    ],
)
def test_a_manifest_says_where_weights_come_from(base, origin, words):
    assert trained_from(base, origin) == words


def test_what_the_start_had_learned_from_counts_as_well():
    old, both = TrainingData("old requests", "MIT", 10), TrainingData("requests", "MIT", 20)
    start = replace(IN_USE, training=(old, both), seen=("a", "b"), max_tokens=128)
    more = TrainingData("requests", "MIT", 30)
    found = with_what_it_knew(replace(IN_USE, training=(more,), seen=("b", "c"), max_tokens=112), [start])
    assert found.training == (old, more)
    assert found.seen == ("a", "b", "c")
    assert found.max_tokens == 128


@pytest.fixture
def exported(make_sentence_encoder, tmp_path):
    encoder = make_sentence_encoder()
    manifest = Manifest("tiny", "encoder", "1", "a body", "MIT", storage="fp32", max_tokens=16)
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    export_encoder(original, tmp_path / "exported", manifest, ["get song"], ["get song"])
    return tmp_path / "exported"


def test_a_model_that_was_exported_is_a_start_as_a_run_is(make_sentence_encoder, exported):
    model, untouched = make_sentence_encoder().model, make_sentence_encoder().model
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    pooler = model.pooler.dense.weight.clone()
    assert load_average(model, [exported]) == Origin(models=(read_manifest(exported),))
    name = "encoder.layer.0.output.dense.weight"
    assert torch.allclose(model.state_dict()[name], untouched.state_dict()[name], atol=1e-6)
    assert torch.equal(model.pooler.dense.weight, pooler), "no exported encoder has one"


def test_a_model_and_a_run_have_a_mean(make_sentence_encoder, exported, tmp_path):
    model = make_sentence_encoder().model
    name = "encoder.layer.0.output.dense.weight"
    before = model.state_dict()[name].clone()
    further = {key: value + 1.0 for key, value in model.state_dict().items()}
    save_state(tmp_path / "run" / "best.pt", {"step": 5, "model": further})
    found = load_average(model, [tmp_path / "run", exported])
    assert (found.steps, len(found.models)) == ((5,), 1)
    assert torch.allclose(model.state_dict()[name], before + 0.5, atol=1e-6)


def test_a_cross_encoder_may_begin_as_an_encoder(make_encoder, make_sentence_encoder, exported):
    model = make_encoder().model
    head = model.classifier.weight.clone()
    encoder = make_sentence_encoder().model.state_dict()
    with torch.no_grad():
        for weight in model.bert.parameters():
            weight.add_(1.0)
    load_average(model, [exported])
    name = "encoder.layer.0.output.dense.weight"
    assert torch.allclose(model.bert.state_dict()[name], encoder[name], atol=1e-6)
    assert torch.equal(model.classifier.weight, head), "an encoder has none"


def test_a_damaged_model_is_no_start(make_sentence_encoder, exported):
    (exported / MODEL).write_bytes(b"cut off")
    with pytest.raises(CorruptModel, match="SHA-256"):
        load_average(make_sentence_encoder().model, [exported])


def test_another_shape_is_refused(tmp_path):
    runs = [saved(tmp_path / "a", 1.0, 900), saved(tmp_path / "b", 2.0, 900, width=3)]
    with pytest.raises(BrokenCheckpoint, match="does not fit the others"):
        load_average(torch.nn.BatchNorm1d(2), runs)


def test_a_run_that_was_not_validated_is_named(tmp_path):
    with pytest.raises(BrokenCheckpoint, match="not there yet"):
        load_average(torch.nn.BatchNorm1d(2), [tmp_path])
