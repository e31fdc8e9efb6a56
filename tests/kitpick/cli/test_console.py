"""What others wrote, in logs and on terminals."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from catalogs import fill, item

from kitpick.cli.console import OneLine, complain
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_engines.opening import open_engine
from kitpick_foundation.visible import one_line


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("read_x\x1b]0;pwned\x07\nINFO x: bob calls", r"read_x\x1b]0;pwned\x07\nINFO x: bob calls"),
        ("a\r\u2028\u2029\x85b", r"a\r\u2028\u2029\x85b"),
        ("\u202eabc\u2066\ud800", r"\u202eabc\u2066\ud800"),
        ("grün, 日本語, [x]", "grün, 日本語, [x]"),
    ],
)
def test_what_others_wrote_forges_no_line_and_commands_no_terminal(written: str, shown: str) -> None:
    record = logging.LogRecord("kitpick.mcp", logging.INFO, "", 0, "alice calls %s", (written,), None)
    assert OneLine("%(message)s").format(record) == f"alice calls {shown}"
    assert one_line(shown) == shown


def test_an_error_with_what_others_wrote_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain(ValueError("the server says \x1b[2Jno\nnote: all is well [bold]"))
    assert capsys.readouterr().err.endswith(
        r"error: the server says \x1b[2Jno\nnote: all is well [bold]" + "\n"
    )


def listed(catalog: Path, *options: str, **process: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kitpick", "list", "-c", f"sqlite:{catalog}", *options]
    return subprocess.run(command, stderr=subprocess.PIPE, check=False, **process)


@pytest.fixture
def in_japanese(tmp_path: Path) -> Path:
    engine = open_engine(f"sqlite:{tmp_path / 'tools.db'}")
    fill(engine, [item("天気/−/grün")])
    engine.close()
    return tmp_path / "tools.db"


def test_an_output_in_another_encoding_gets_the_same_json(in_japanese: Path) -> None:
    odd = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    plain, written = (
        listed(in_japanese, "--json", stdout=subprocess.PIPE, env=env) for env in (os.environ, odd)
    )
    assert json.loads(written.stdout) == json.loads(plain.stdout)
    assert written.stdout.isascii()


def test_a_table_in_another_encoding_shows_what_can_be_shown(in_japanese: Path) -> None:
    shown = listed(in_japanese, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
    assert (shown.returncode, "??/?/grün" in shown.stdout.decode("cp1252")) == (0, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_disk_is_named_and_ends_with_no_trace(in_japanese: Path, options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = listed(in_japanese, *options, stdout=full)
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"error: standard output: No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.needs("weights", "onnxruntime")
def test_the_names_of_a_description_command_no_terminal(
    kitpick: Any, tmp_path: Path, settings: Settings
) -> None:
    file = tmp_path / "api.json"
    path = "/a\x1b]0;pwned\x07\nnote: all is well"
    description = {"openapi": "3.1.0", "info": {"title": "D"}, "paths": {path: [], "/b": {"get": {}}}}
    file.write_text(json.dumps(description))
    told = kitpick("ingest", f"openapi:{file}").err
    assert r"\x1b]0;pwned\x07\nnote: all is well: a path must be an object" in told
    assert not set(told) & {"\x1b", "\x07"}
