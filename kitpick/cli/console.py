"""Output to the terminal: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kitpick.errors import NotAgreed
from kitpick_foundation.visible import harmless_json, one_line, printable


class TerminalConsole(Console):
    """A console that sends no control characters of anybody's text to the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - those of rich
        """A text with its markup, where that is on."""
        return super().render_str(printable(text), **options)


class OneLine(logging.Formatter):
    """Writes a record on one line, whatever others wrote into it: no line is forged, no terminal obeys it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return one_line(super().format(record))


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

OUT = TerminalConsole(highlight=False)
ERR = TerminalConsole(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """One JSON document on standard output, on one line."""
    try:
        text = msgspec.json.encode(value, enc_hook=_encode).decode()
    except UnicodeEncodeError:  # the name of a file in another encoding: its odd bytes become escapes
        text = json.dumps(msgspec.to_builtins(value, enc_hook=_encode), separators=(",", ":"))
    typer.echo(_encodable(harmless_json(text)))


def _encodable(text: str) -> str:
    """JSON as standard output can take it: on Windows, a file or pipe has the encoding of the country."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return text


def print_table(table: Table) -> None:
    """A table, in colour on a terminal, plain when piped. Its cells are text, whatever it looks like."""
    # A pipe has no width: the default of 80 columns would cut cells that a script wants whole.
    console = OUT if OUT.is_terminal else TerminalConsole(highlight=False, width=200)
    console.print(table, markup=False)


def complain(error: BaseException) -> None:
    """One line about a failure: what, where, cure."""
    ERR.print(f"[bold red]error:[/] {_escaped(one_line(str(error)))}", soft_wrap=True)


def complain_gate(reasons: Sequence[str]) -> None:
    """One line for every condition that was not met."""
    for reason in reasons:
        ERR.print(f"[bold red]not met:[/] {_escaped(reason)}", soft_wrap=True)


def note(text: str) -> None:
    """Something a person should know, on standard error."""
    ERR.print(f"[yellow]note:[/] {_escaped(one_line(text))}", soft_wrap=True)


def require_agreement(question: str, otherwise: str) -> None:
    """Goes on only if the user wants it.

    Raises:
        NotAgreed: the user does not, or there is nobody to ask; `otherwise` says what that means.
    """
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise NotAgreed(otherwise)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _encode(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return str(value)
