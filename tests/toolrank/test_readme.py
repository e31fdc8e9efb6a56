"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def block_after(line: str) -> str:
    """The fenced block that begins with a line."""
    found = re.search(rf"```[a-z]*\n{re.escape(line)}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block that begins with {line!r}"
    return found[1]


def normalised(text: str) -> list[str]:
    """Lines without what differs between machines: seconds, and the percentage's last digit."""
    return [re.sub(r"\d+ s$", "N s", line.rstrip()) for line in text.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.needs("weights", "onnxruntime", "botocore")
def test_the_quickstart_prints_what_the_readme_shows(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolrank.quickstart", "--catalog", str(tmp_path / "q.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
    assert normalised(ran.stdout) == normalised(block_after("$ scripts/quickstart"))


@pytest.mark.needs("weights", "onnxruntime")
def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLRANK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    names: dict[str, object] = {}
    exec(compile(found[1], "README.md", "exec"), names)
    assert "get_weather" in str(names["tools"])
