"""`kitpick catalog backup` and `restore`, as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode

pytestmark = pytest.mark.needs("weights", "onnxruntime")

COMMAND = [sys.executable, "-W", "error", "-c", "from kitpick.cli import main; main()", "catalog"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_catalog_goes_into_a_backup_and_comes_back(catalog: Catalog, tmp_path: Path) -> None:
    backup = tmp_path / "tools.backup"
    made = run("backup", backup)
    assert made.returncode == ExitCode.OK, made.stderr
    assert "8" in made.stdout

    refused = run("restore", backup)
    assert refused.returncode == ExitCode.REFUSED
    assert "--replace" in refused.stderr

    other = f"sqlite:{tmp_path / 'other.db'}"
    restored = run("restore", backup, "-c", other, "--json")
    assert json.loads(restored.stdout)["documents"] == 8
    with Catalog.open(other, settings=catalog.settings) as opened:
        assert opened.search("will it rain in Paris?", 1).hits[0].document.api == "get_weather"


def test_a_file_that_is_no_backup_is_named(catalog: Catalog, functions_file: Path) -> None:
    for arguments in (("backup", functions_file), ("restore", functions_file, "--replace")):
        failed = run(*arguments)
        assert failed.returncode == ExitCode.INPUT
        assert "functions.json: is not a backup" in failed.stderr.replace("\n", " ")
    assert catalog.stats().documents == 8
