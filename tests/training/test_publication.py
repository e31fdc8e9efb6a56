"""From a trained model to a folder that the runtime loads, with thresholds read off the validation split."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from kitpick_models.manifest import Manifest, hash_tool
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.verify import verify
from kitpick_training.cross_encoder import RerankerTask
from kitpick_training.loop import TrainingRun
from kitpick_training.publication import publish_reranker, write_report

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("onnxruntime")]


@pytest.fixture
def published(recipe, make_encoder, source, folder, tmp_path):
    task = RerankerTask(recipe, make_encoder(), source)
    run = TrainingRun(recipe, task, folder, lambda line: None)
    curve = run.run()
    manifest = Manifest(
        name="tiny",
        kind="cross_encoder",
        version="1",
        base_model="none",
        licence="Apache-2.0",
        seen=(hash_tool("weather/api"),),
        max_tokens=16,
    )
    pairs = [(item.query, item.texts[0]) for step in range(70) for item in source.batch(step, 4)]
    out = tmp_path / "model"
    publication = publish_reranker(
        task.encoder, manifest, task.validation, pairs, out, ("2000-01-01", "test")
    )
    write_report(
        tmp_path / "report.json", recipe, curve, run.load_best(), publication, mixture={"openapi": 1.0}
    )
    return publication, out, tmp_path / "report.json"


def test_the_folder_holds_a_sound_calibrated_model(published):
    publication, out, _ = published
    loaded = load_cross_encoder(out)
    assert loaded.manifest == publication.manifest
    assert loaded.manifest.temperature == publication.calibration.temperature
    assert loaded.manifest.thresholds.keys() == {"abstain", "concentrate"}
    assert loaded.manifest.is_seen("Weather/API")
    assert not [fault for fault in verify(out).faults if "SHA" in fault or "alone" in fault]
    assert "held-out providers" in (out / "CARD.md").read_text()


def test_the_record_of_the_run_names_settings_and_figures(published):
    publication, _, report = published
    record = json.loads(report.read_text())
    assert [point["step"] for point in record["curve"]] == [6, 12]
    assert record["recipe"]["name"] == "tiny"
    assert record["model"] == publication.manifest.identity
    assert "static_int8" in record["exported"]
