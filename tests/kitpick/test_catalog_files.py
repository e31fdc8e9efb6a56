"""`kitpick catalog backup` and `restore`, as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Run

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def test_a_catalog_goes_into_a_backup_and_comes_back(catalog: Catalog, tmp_path: Path, kitpick: Run) -> None:
    backup = str(tmp_path / "tools.backup")
    made = kitpick("catalog", "backup", backup)
    assert made.code == ExitCode.OK, made.err
    assert "8" in made.out

    refused = kitpick("catalog", "restore", backup)
    assert refused.code == ExitCode.REFUSED
    assert "--replace" in refused.err

    other = f"sqlite:{tmp_path / 'other.db'}"
    restored = kitpick("catalog", "restore", backup, "-c", other, "--json")
    assert json.loads(restored.out)["documents"] == 8
    with Catalog.open(other, settings=catalog.settings) as opened:
        assert opened.search("will it rain in Paris?", 1).hits[0].document.api == "get_weather"


def test_a_file_that_is_no_backup_is_named(catalog: Catalog, functions_file: Path, kitpick: Run) -> None:
    for arguments in (("backup", functions_file), ("restore", functions_file, "--replace")):
        failed = kitpick("catalog", *map(str, arguments))
        assert failed.code == ExitCode.INPUT
        assert "functions.json: is not a backup" in failed.err.replace("\n", " ")
    assert catalog.stats().documents == 8
