"""A command, option or environment variable that is not documented fails here."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.cli import get_docs_for_click

from kitpick.cli import app
from kitpick.errors import ExitCode
from kitpick.settings import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"
REWRITE = "run: python tests/kitpick/test_documentation.py"


def generated() -> str:
    """The reference of all commands, as typer writes it from the help texts."""
    command = typer.main.get_command(app)
    context = command.make_context("kitpick", [], resilient_parsing=True)
    return get_docs_for_click(obj=command, ctx=context, name="kitpick", title="Commands").rstrip() + "\n"


def test_the_command_reference_is_up_to_date() -> None:
    assert (DOCS / "commands.md").read_text("utf-8") == generated(), REWRITE


def test_every_option_has_a_help_text() -> None:
    command = typer.main.get_command(app)
    context = command.make_context("kitpick", [], resilient_parsing=True)
    for name, sub in _leaves("kitpick", command, context):
        assert sub.help, f"{name} has no description"
        for parameter in sub.params:
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


def test_every_setting_is_documented_with_its_variable() -> None:
    text = (DOCS / "settings.md").read_text("utf-8")
    for name in Settings.__struct_fields__:
        assert f"`KITPICK_{name.upper()}`" in text


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_is_documented(code: ExitCode) -> None:
    text = (DOCS / "settings.md").read_text("utf-8")
    assert f"| {code.value} |" in text


def _leaves(name, command, context):
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    for child in children.values():
        yield from _leaves(f"{name} {child.name}", child, context)


if __name__ == "__main__":
    (DOCS / "commands.md").write_text(generated(), "utf-8")
