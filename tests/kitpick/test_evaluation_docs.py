"""Every command that docs/evaluation.md shows is run, in its order, over a small real catalog."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kitpick.catalog import Catalog
from kitpick.cli import app
from kitpick.errors import ExitCode

pytestmark = [pytest.mark.needs("weights", "onnxruntime", "eval"), pytest.mark.slow]

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHELL = re.findall(r"```sh\n(.*?)```", (DOCS / "evaluation.md").read_text("utf-8"), re.S)
COMMANDS = [line for block in SHELL for line in block.strip().splitlines()]
THINGS = ("heating", "lights", "radio", "oven")


@pytest.fixture
def judged(
    catalog: Catalog,
    asks: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder with requests about the catalog."""
    more = [{"name": f"turn_on_{thing}", "description": f"Turns on the {thing}"} for thing in THINGS]
    (tmp_path / "more.json").write_text(json.dumps(more))
    catalog.ingest(f"functions:{tmp_path / 'more.json'}")
    requests = [{"query": text, "relevant": [api]} for text, api in asks.items()]
    (tmp_path / "requests.jsonl").write_text("\n".join(json.dumps(line) for line in requests))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_do_what_the_page_says(judged: Path) -> None:
    assert len(COMMANDS) == 9
    for line in COMMANDS:
        command, *rest = shlex.split(line, comments=True)
        assert command == "kitpick"
        result = CliRunner().invoke(app, rest)
        wanted = ExitCode.GATE if "exit code 7" in line else 0
        assert result.exit_code == wanted, f"{line}\n{result.output}\n{result.exception}"
