"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kitpick import quickstart

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def block_after(line: str) -> str:
    """The fenced block that begins with a line."""
    found = re.search(rf"```[a-z]*\n{re.escape(line)}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block that begins with {line!r}"
    return found[1]


def normalised(text: str) -> list[str]:
    """Lines without what differs between machines: seconds, and where the command is."""
    program = str(Path(sys.executable).with_name("kitpick"))
    lines = text.replace(program, ".venv/bin/kitpick").strip().splitlines()
    return [re.sub(r"\d+ s$", "N s", line.rstrip()) for line in lines]


def settled(lines: list[str]) -> list[str]:
    """What is the same on every processor: where products of eight bits saturate, the models run another way.

    A percentage then differs by a point or two, and hits that are nearly as good as each other change places:
    of a table its first row counts, without how sure it is and how wide it is.
    """
    kept = [line for line in lines if not re.match("│ [2-9] |[┏┡└]", line)]
    sure = (re.sub(r"\d+ of 10 \(\d+%\)", "N of 10", line) for line in kept)
    return [re.sub(r"\d+%", "N%", re.sub(" +", " ", line)) for line in sure]


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.needs("weights", "onnxruntime", "botocore")
def test_the_quickstart_prints_what_the_readme_shows_and_its_commands_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*command: str) -> str:
        ran = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=280, check=True
        )
        return ran.stdout

    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    printed = normalised(run("-m", "kitpick.quickstart"))
    assert settled(printed) == settled(normalised(block_after("$ scripts/quickstart")))
    commands = [shlex.split(line) for line in printed if line.startswith("  .venv/bin/kitpick ")]
    main = ("-c", "from kitpick.cli import main; main()")
    nothing, taken, found = [run(*main, *command[1:]) for command in commands]
    assert "Nothing here is likely to do that" in nothing
    assert "transcribe" in taken
    assert "1. transcribe/transcribe/StartTranscriptionJob" in found
    assert "Nothing here is likely to do that" not in found
    assert "cross_encode" in found
    assert normalised(run("-m", "kitpick.quickstart"))[1] == printed[1], (
        "a second run finds the catalog as it is"
    )


@pytest.mark.needs("weights", "onnxruntime", "botocore")
def test_a_quickstart_of_two_services_finds_both_capabilities_that_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["quickstart"])
    monkeypatch.setattr(quickstart, "SERVICES", ("sqs", "translate"))
    quickstart.main()
    shown = normalised(block_after("$ scripts/quickstart"))
    printed = normalised(capsys.readouterr().out)
    assert "Nothing here is likely to do that" in " ".join(printed)
    several = "translate a document and send the result as a message to a queue (several tools)"
    at, there = printed.index(several), shown.index(several)
    assert first_two(printed[at:]) == first_two(shown[there:]), "both capabilities, in either order"


def first_two(lines: list[str]) -> set[str]:
    """The APIs of the first two rows of the first table, whose third column they are."""
    return {
        next(row for row in lines if row.startswith(start)).split("│")[3].strip()
        for start in ("│ 1 ", "│ 2 ")
    }


@pytest.mark.needs("weights", "onnxruntime")
def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    names: dict[str, object] = {}
    exec(compile(found[1], "README.md", "exec"), names)
    assert "get_weather" in str(names["tools"])
