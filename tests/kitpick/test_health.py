"""A real catalog is checked with the shipped encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.cli.lint import lint_catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_evaluation.health.findings import FindingKind
from kitpick_ingest.opening import open_source
from kitpick_ingest.progress import NullProgress
from kitpick_ingest.sync import SyncOptions
from kitpick_rescorers.errors import EmptyCatalog

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def test_a_planted_copy_is_found(catalog: Catalog, functions_file: Path, tmp_path: Path) -> None:
    before = lint_catalog(catalog, Filter(), None, NullProgress())
    assert (before.apis, before.asked) == (8, 8)
    assert not [finding for finding in before.findings if finding.kind is FindingKind.NEAR_DUPLICATE]
    copied = json.loads(functions_file.read_text())[3]
    copied["function"]["name"] = "currencyConvert"
    (tmp_path / "copy.json").write_text(json.dumps([copied]))
    catalog.ingest(open_source(f"functions:{tmp_path / 'copy.json'}", name="copy"))
    after = lint_catalog(catalog, Filter(), None, NullProgress())
    (pair,) = [finding for finding in after.findings if finding.kind is FindingKind.NEAR_DUPLICATE]
    assert {pair.api.rpartition("/")[2], pair.other.rpartition("/")[2]} == {
        "convert_currency",
        "currencyConvert",
    }


def test_what_is_not_visible_is_checked_but_not_asked(catalog: Catalog, tmp_path: Path) -> None:
    secret = {"name": "launch", "description": "Starts the rocket", "parameters": {}}
    (tmp_path / "secret.json").write_text(json.dumps([secret]))
    catalog.ingest(open_source(f"functions:{tmp_path / 'secret.json'}", name="secret", allowed=("nasa",)))
    assert lint_catalog(catalog, Filter(), None, NullProgress()).asked == 8
    admitted = Filter(principals=frozenset({"nasa"}))
    assert lint_catalog(catalog, admitted, None, NullProgress()).asked == 9
    assert lint_catalog(catalog, admitted, 4, NullProgress()).asked == 4


def test_an_empty_catalog_says_so(settings: Settings) -> None:
    with Catalog.open(settings=settings) as empty, pytest.raises(EmptyCatalog):
        lint_catalog(empty, Filter(), None, NullProgress())


def test_a_catalog_whose_last_source_went_has_no_faults(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    source = open_source(f"functions:{tmp_path / 'none.json'}", name="functions")
    catalog.ingest(source, options=SyncOptions(allow_shrink=True))
    health = lint_catalog(catalog, Filter(), None, NullProgress())
    assert (health.apis, health.asked, health.findings) == (0, 0, ())
