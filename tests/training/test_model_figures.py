"""What an evaluation measured is recorded with the models that took part, and with no other."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from kitpick.settings import Settings
from kitpick_evaluation.report import Provenance, Report, ReportRow, write_report
from kitpick_models.locate import find_model
from kitpick_models.manifest import Figure, read_manifest
from kitpick_rescorers.profiles import load_profile
from kitpick_training.model_figures import main, record_report, roles_of

MEASURED = ("2026-01-02", "kitpick eval toolbench")
IDENTITIES = {
    "encoder": "minilm-l6@1",
    "cross_encoder": "reranker-l6@2",
    "query_kind": "query-kind@3",
    "list_ranker": "list-ranker@4",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Copies of the shipped manifests: nothing is written beside the product's own."""
    for name in ("minilm-l6", "reranker-l6", "query-kind", "list-ranker"):
        (tmp_path / name).mkdir()
        shutil.copy(find_model(name) / "manifest.json", tmp_path / name)
    return Settings(
        encoder=str(tmp_path / "minilm-l6"),
        cross_encoder=str(tmp_path / "reranker-l6"),
        query_kind=str(tmp_path / "query-kind"),
        list_ranker=str(tmp_path / "list-ranker"),
    )


def report_of(profile: str, requests: int = 563) -> Report:
    figures = {"recall@5": 0.71234, "ndcg@5": 0.6, "comp@5": 0.5, "mrr": 0.9}
    provenance = Provenance(
        digest="", requests=563, cutoffs=(5,), seed=0, resamples=10, models=dict(IDENTITIES)
    )
    row = ReportRow("all", profile, requests, figures)
    return Report(complete=True, dataset="toolbench", queries=requests, provenance=provenance, rows=(row,))


def recorded(folder: str) -> tuple[Figure, ...]:
    return tuple(found for found in read_manifest(Path(folder)).figures if found.date == "2026-01-02")


@pytest.mark.parametrize(
    ("profile", "roles"),
    [
        ("bm25", set()),
        ("hybrid", {"encoder"}),
        ("rerank", {"encoder", "cross_encoder"}),
        ("kitpick", {"encoder", "cross_encoder", "query_kind", "list_ranker"}),
    ],
)
def test_a_profile_asks_the_models_of_its_stages(profile: str, roles: set[str]):
    assert roles_of(load_profile(profile)) == roles


def test_a_figure_says_what_was_asked_of_which_profile_beside_which_models(settings: Settings):
    written = record_report(report_of("rerank"), MEASURED, settings)
    benchmark = "toolbench (563 requests), profile rerank with minilm-l6@1"
    command = "kitpick eval toolbench -p rerank"
    assert recorded(settings.cross_encoder) == (
        Figure(benchmark, "recall@5", 0.7123, "2026-01-02", command),
        Figure(benchmark, "ndcg@5", 0.6, "2026-01-02", command),
        Figure(benchmark, "comp@5", 0.5, "2026-01-02", command),
    )
    assert [identity.split("@")[0] for identity in written] == ["minilm-l6", "reranker-l6"]


def test_a_model_that_took_no_part_stays_as_it_is(settings: Settings):
    record_report(report_of("hybrid"), MEASURED, settings)
    assert recorded(settings.encoder)
    assert not recorded(settings.cross_encoder)
    assert not recorded(settings.query_kind)


def test_a_sample_is_called_one(settings: Settings):
    record_report(report_of("hybrid", requests=100), MEASURED, settings)
    assert recorded(settings.encoder)[0].benchmark == "toolbench (100 of 563 requests), profile hybrid"


def test_a_report_of_kitpick_eval_is_recorded_by_the_command(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(report_of("hybrid"), tmp_path / "report.json")
    monkeypatch.setenv("KITPICK_ENCODER", settings.encoder)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "report.json"), "kitpick eval toolbench"])
    main()
    assert "recorded for minilm-l6@" in capsys.readouterr().out
    figures = read_manifest(Path(settings.encoder)).figures
    assert (0.7123, "kitpick eval toolbench -p hybrid") in {(each.value, each.command) for each in figures}
