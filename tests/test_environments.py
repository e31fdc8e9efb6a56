"""Every path that scripts/_testing gives to an environment is there: pytest runs nothing where one is not."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"(?<![\w./-])tests(?:/[\w.-]+)+")


def test_every_path_that_an_environment_runs_is_there() -> None:
    named = NAMED.findall((ROOT / "scripts/_testing").read_text("utf-8"))
    assert "tests/training" in named
    assert [path for path in named if not (ROOT / path).exists()] == []
