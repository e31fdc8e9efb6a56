"""What others wrote, in logs and on terminals."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from kitpick.cli.console import OneLine, complain
from kitpick.settings import Settings
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
