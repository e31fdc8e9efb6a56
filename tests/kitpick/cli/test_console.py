"""What others wrote, in logs and on terminals."""

from __future__ import annotations

import logging

import pytest

from kitpick.cli.console import OneLine
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
