"""A model in use goes on learning; it is replaced as a whole, and only by a better one."""

from __future__ import annotations

import errno

import msgspec
import pytest

torch = pytest.importorskip("torch")

from kitpick_models.manifest import Manifest, hash_tool, read_manifest  # noqa: E402
from kitpick_training import fine_tuning  # noqa: E402
from kitpick_training.errors import (  # noqa: E402
    DivergedTraining,
    ModelNotWritten,
    NotBetter,
)
from kitpick_training.export import export_cross_encoder  # noqa: E402
from kitpick_training.export.original import Original  # noqa: E402
from kitpick_training.fine_tuning import Places, fine_tune  # noqa: E402

pytestmark = pytest.mark.needs("torch")

MEASURED = ("2026-01-01", "a test")


class Words:
    """`WordLists` with pairs for int8 scales."""

    def __init__(self, lists):
        self.batch, self.validation = lists.batch, lists.validation

    def sample_pairs(self, count):
        lists = self.batch(0, count)
        return [(item.query, item.texts[number % 4]) for number, item in enumerate(lists)]


@pytest.fixture
def places(make_encoder, tmp_path) -> Places:
    encoder = make_encoder()
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    manifest = Manifest("start", "cross_encoder", "1", "none", "Apache-2.0", seen=("abc",), max_tokens=16)
    pairs = [("get weather", "weather"), ("get song", "price")]
    export_cross_encoder(original, tmp_path / "start", manifest, pairs, pairs)
    return Places(tmp_path / "start", tmp_path / "run", tmp_path / "out")


@pytest.fixture
def words(source) -> Words:
    return Words(source)


def described(manifest, step):
    seen = tuple(sorted({*manifest.seen, hash_tool("mine/tool")}))
    return msgspec.structs.replace(manifest, name="mine", base_model=f"{step} steps", seen=seen)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_better_model_is_written_with_what_it_has_seen(places, recipe, words):
    longer = msgspec.structs.replace(recipe, steps=60, validate_every=20)
    tuned = fine_tune(places, longer, words, described, MEASURED)
    assert tuned.after.ndcg > tuned.before.ndcg
    written = read_manifest(places.out)
    assert (written.name, written.is_seen("mine/tool"), "abc" in written.seen) == ("mine", True, True)
    assert tuned.started_from.startswith("start@")


def test_a_model_that_is_no_better_replaces_nothing(places, recipe, words):
    same = msgspec.structs.replace(recipe, learning_rate=1e-9, validate_start=True)
    places = msgspec.structs.replace(places, out=places.start)
    before = contents(places.start)
    with pytest.raises(NotBetter, match="nothing was replaced"):
        fine_tune(places, same, words, described, MEASURED)
    assert contents(places.start) == before
    assert sorted(path.name for path in places.start.parent.iterdir()) == ["run", "start"]


def test_a_full_disk_leaves_the_model_in_use(places, recipe, words, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fine_tuning, "publish_reranker", full)
    places = msgspec.structs.replace(places, out=places.start)
    before = contents(places.start)
    with pytest.raises(ModelNotWritten, match="No space left"):
        fine_tune(places, recipe, words, described, MEASURED)
    assert contents(places.start) == before


def test_a_loss_that_is_no_number_leaves_the_model_in_use(places, recipe, words):
    mad = msgspec.structs.replace(recipe, learning_rate=1e30, clip_norm=1e30, steps=40)
    places = msgspec.structs.replace(places, out=places.start)
    before = contents(places.start)
    with pytest.raises(DivergedTraining, match="not finite"):
        fine_tune(places, mad, words, described, MEASURED)
    assert contents(places.start) == before


def test_a_killed_run_goes_on_and_a_half_written_folder_is_no_obstacle(places, recipe, words):
    longer = msgspec.structs.replace(recipe, steps=60, validate_every=20)
    staged = places.out.with_name("out.part")
    staged.mkdir()
    (staged / "model.onnx").write_bytes(b"half")
    told = []

    def killed(line):
        told.append(line)
        if line.startswith("step 40"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fine_tune(places, longer, words, described, MEASURED, killed)
    told.clear()
    tuned = fine_tune(places, longer, words, described, MEASURED, told.append)
    assert told[0] == "going on from step 36"
    assert tuned.after.ndcg > tuned.before.ndcg
    assert not staged.exists()
