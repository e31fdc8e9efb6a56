"""From a trained encoder to a folder that the runtime loads, measured on whole held-out catalogs."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from kitpick_models.manifest import Manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import verify
from kitpick_training.encoder_tasks import EncoderTask
from kitpick_training.examples import RankingList, RetrievalSet
from kitpick_training.loop import TrainingRun
from kitpick_training.publication import publish_encoder, write_report
from kitpick_training.recipe import EncoderRecipe

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("onnxruntime")]

WORDS = ("weather", "invoice", "user", "parcel", "recipe", "ticket", "song", "price")


class Echoes:
    """The right text holds the request's word."""

    def batch(self, step, size):
        words = [WORDS[(step + i) % len(WORDS)] for i in range(size)]
        return [RankingList(f"get {word}", (word, "get"), (True, False)) for word in words]

    def retrieval(self):
        return [
            RetrievalSet("echoes", WORDS, tuple(f"get {w}" for w in WORDS), tuple((i,) for i in range(8)))
        ]


@pytest.fixture
def published(make_sentence_encoder, folder, tmp_path):
    recipe = EncoderRecipe(
        name="tiny", steps=6, lists_per_step=4, decay_steps=2, validate_every=3, checkpoint_every=3, threads=1
    )
    task = EncoderTask(recipe, make_sentence_encoder(), Echoes())
    run = TrainingRun(recipe, task, folder, lambda line: None)
    run.run()
    manifest = Manifest(
        name="tiny",
        kind="encoder",
        version="1",
        base_model="none",
        licence="Apache-2.0",
        score_scale="cosine",
        max_tokens=16,
    )
    texts = [f"{a} {b}" for a in WORDS for b in WORDS] * 5
    out = tmp_path / "model"
    publication = publish_encoder(task.encoder, manifest, task.validation, texts, out, ("2000-01-01", "test"))
    write_report(tmp_path / "report.json", recipe, run.curve, run.load_best(), publication)
    return publication, out, tmp_path / "report.json"


def test_the_folder_holds_a_sound_encoder(published):
    publication, out, _ = published
    assert load_encoder(out).manifest == publication.manifest
    assert publication.manifest.dimensions == 32
    assert verify(out).sound
    assert "held-out echoes" in (out / "CARD.md").read_text()


def test_the_shipped_form_costs_next_to_nothing(published):
    publication, _, _ = published
    kept = publication.exported[publication.manifest.storage]["echoes"]
    assert kept.ndcg >= publication.trained["echoes"].ndcg - 0.01


def test_the_record_holds_the_curve_and_every_catalog(published):
    record = json.loads(published[2].read_text())
    assert [point["step"] for point in record["curve"]] == [3, 6]
    assert record["trained_float32"].keys() == {"echoes"}
    assert record["recipe"]["temperature"] == 0.05
