"""The help pages: quick to show, complete, and in plain words."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from kitpick.cli.main import COMMANDS, app, load_command

HEAVY = (
    "rich",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "pydantic",
    "pydantic_settings",
    "msgspec",
    "httpx2",
    "kitpick_engines",
    "kitpick_evaluation",
    "kitpick_ingest",
    "kitpick_models",
    "kitpick_rescorers",
    "kitpick_service",
    "kitpick.catalog",
    "kitpick.settings",
)
PROBE = """
import sys
sys.argv = ["kitpick", *sys.argv[1:]]
from kitpick.cli import main
try:
    main()
except SystemExit as end:
    print("\\nexit", end.code, *sorted(sys.modules))
"""


def imported_by(*arguments: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, timeout=600, check=True
    )
    exit_, code, *modules = ran.stdout.splitlines()[-1].split()
    assert (exit_, code) == ("exit", "0"), ran.stdout
    return set(modules)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"]])
def test_the_first_help_page_imports_no_command_and_nothing_heavy(arguments: list[str]) -> None:
    modules = imported_by(*arguments)
    assert "typer" in modules
    assert not modules & set(HEAVY)
    assert {name for name in modules if name.startswith("kitpick.")} <= {"kitpick.cli", "kitpick.cli.main"}


def test_a_command_imports_no_other_command() -> None:
    modules = imported_by("advise", "--help")
    assert "kitpick.cli.advise" in modules
    assert not modules & {f"kitpick.cli.{name}" for name in ("search", "models", "serve", "ingest")}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_help_of_each_says_first(name: str) -> None:
    first, _, _ = load_command(name).help.partition("\n\n")
    assert first == COMMANDS[name][1]


def test_completion_is_offered_once() -> None:
    for name in COMMANDS:
        assert "--install-completion" not in CliRunner().invoke(app, [name, "--help"]).output


def test_a_misspelt_command_is_refused_with_the_nearest() -> None:
    refused = CliRunner().invoke(app, ["serach", "x"])
    assert refused.exit_code == 2
    assert "Did you mean 'search'" in refused.output


def test_help_texts_are_sentences() -> None:
    command = typer.main.get_command(app)
    context = command.make_context("kitpick", [], resilient_parsing=True)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        for leaf in getattr(found, "commands", {name: found}).values():
            for parameter in leaf.params:
                text = parameter.help
                assert text[0].isupper() or not text[0].isalpha() or text.startswith(("llm:",)), (name, text)
                assert text.endswith((".", '".', "}.")), (name, text)
