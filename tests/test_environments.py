"""The environments of scripts/_testing run files that are there: one that is not ends the whole run of its environment."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"(?<![\w./-])tests(?:/[\w.-]+)+")


def test_every_path_that_an_environment_runs_is_there() -> None:
    named = NAMED.findall((ROOT / "scripts/_testing").read_text("utf-8"))
    assert "tests/training" in named
    assert [path for path in named if not (ROOT / path).exists()] == []
