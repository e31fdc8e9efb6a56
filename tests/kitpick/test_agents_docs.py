"""'Your agent in five minutes' runs as it is written, door by door."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

pytestmark = pytest.mark.needs("weights", "onnxruntime")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text("utf-8")
RUN = "from kitpick.cli import main; main()"


def section(name: str) -> str:
    return re.split(r"^## ", PAGE, flags=re.MULTILINE)[
        [part.partition("\n")[0] for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)].index(name)
    ]


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", section(name) if name else PAGE, re.DOTALL)


def printed(name: str, last: str) -> str:
    """The indented lines of a section that end with this one."""
    lines = [line[4:] for line in section(name).splitlines() if line.startswith("    ")]
    return "\n".join(lines[: lines.index(last) + 1]) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `tools.json`, in which everything runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    (tmp_path / "tools.json").write_text(blocks("", "json")[0])
    return tmp_path


@pytest.fixture
def ingested(folder: Path) -> None:
    from kitpick import Catalog

    with Catalog.open("sqlite:tools.db") as catalog:
        catalog.ingest("functions:tools.json")


def test_python() -> None:
    (code,) = blocks("Python", "python")
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(compile(code, "agents.md", "exec"), {"__name__": "agents"})
    assert printed("Python", "1 choice remembered").endswith(heard.getvalue())
    assert heard.getvalue().startswith("get_weather")


def test_the_command_line(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from kitpick.cli import main

    for line in blocks("Command line", "sh")[0].splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            for pair in words[1:]:
                name, _, value = pair.partition("=")
                monkeypatch.setenv(name, value)
            continue
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, line
    out, err = capsys.readouterr()
    assert '"input_schema"' in out
    assert '"id":"answer-' in out
    assert "note: 1 remembered" in err


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    command = [sys.executable, "-c", RUN, *arguments, "--port", "0"]
    cold = os.environ | {"KITPICK_SERVE_WARM_UP_SECONDS": "0"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=cold) as process:
        assert process.stderr is not None
        try:
            first = process.stderr.readline()
            assert " serves " in first, first
            yield first.split()[2]
        finally:
            process.kill()


@pytest.mark.needs("serve")
@pytest.mark.usefixtures("ingested")
def test_http() -> None:
    (start,) = re.findall(r"^    kitpick (serve .*)$", section("HTTP"), re.MULTILINE)
    answers = []
    with serving(*shlex.split(start)) as url:
        for line in blocks("HTTP", "sh")[0].splitlines():
            _, _, address, _, body = shlex.split(line)
            answer = httpx2.post(
                address.replace("http://127.0.0.1:8080", url), content=body.encode(), timeout=240
            )
            assert answer.status_code == 200, answer.text
            answers.append(answer.json())
    assert answers[0]["definitions"][0]["function"]["name"].startswith("tools_get_weather_")
    assert [hit["name"] for hit in answers[1]["hits"]] == ["get_weather", "send_email"]
    assert answers[2] == {"remembered": 1}


@pytest.mark.needs("mcp")
@pytest.mark.usefixtures("ingested")
def test_mcp() -> None:
    from mcp import Client, StdioServerParameters, stdio_client

    config, wanted = map(json.loads, blocks("MCP", "json"))
    server = config["mcpServers"]["kitpick"]
    assert server["command"] == "kitpick"

    async def main() -> Any:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-c", RUN, *server["args"]], env=dict(os.environ)
        )
        async with Client(stdio_client(parameters), read_timeout_seconds=240) as client:
            found = (await client.call_tool("search_tools", wanted)).structured_content
            said = {"answer": found["answer"], "chosen": [found["tools"][0]["id"]]}
            return found, (await client.call_tool("feedback", said)).structured_content

    found, told = anyio.run(main)
    assert [tool["name"] for tool in found["tools"]] == ["get_weather", "send_email"]
    assert told == {"remembered": 1}


@pytest.mark.usefixtures("ingested")
def test_the_advice_for_a_few_tools_is_to_send_all_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kitpick.cli import main

    (line,) = re.findall(r"^    (kitpick advise .*)$", section("When not to search"), re.MULTILINE)
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert "Send all tools" in capsys.readouterr().out


def test_the_npm_package_that_is_installed_is_the_one_that_is_built() -> None:
    described = json.loads((ROOT / "npm" / "package.json").read_text("utf-8"))
    assert f"npm/kitpick-{described['version']}.tgz\n" in section("TypeScript")


def test_every_door_has_a_section() -> None:
    doors = re.findall(r"\]\(#([\w-]+)\)", PAGE)
    sections = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)}
    assert set(doors) == sections
