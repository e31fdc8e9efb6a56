"""Assembles the commands, and turns failures into one line and an exit code.

A command's module is imported when the command is used: `kitpick --help` imports none of them, and with them
none of the numerical libraries, which take a second.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from kitpick_foundation.errors import KitpickError

COMMANDS = {
    "init": ("init", "Asks where your tools are, who uses them and where to store them, and begins."),
    "ingest": ("ingest", "Brings the catalog in line with one or more sources."),
    "lock": ("lock", "Approves the definitions of a catalog or source, in a lock file."),
    "search": ("search", "Finds the APIs that a request needs."),
    "list": ("list_apis", "Lists the APIs of a catalog by id: their tools, categories and effects."),
    "serve": ("serve", "Serves the rescorer over HTTP, with --ui the explain page, with --tools a catalog."),
    "mcp": ("mcp", "Serves the catalog to agents as an MCP server."),
    "eval": ("evaluate", "Measures how well profiles answer requests whose right answers are known."),
    "eval-agent": (
        "eval_agent",
        "Plays recorded tasks with the model of KITPICK_LLM_URL over all tools, and over searched ones.",
    ),
    "adapt": (
        "adapt",
        "Fits a profile to a catalog: vectors of requests, and the threshold below which nothing fits.",
    ),
    "lint": ("lint", "Finds APIs that are hard to find: poor descriptions, duplicates, confusable names."),
    "enrich": (
        "enrich",
        "Has a language model write what APIs are for, so that they are found by other words.",
    ),
    "feedback": (
        "feedback",
        "Tells the catalog what became of tools that it found, so that it learns from use.",
    ),
    "trial": ("trial", "Lets two profiles answer live requests, and compares them."),
    "forget": (
        "feedback:forget",
        "Removes answers, and what clients said about them; sample requests of the operator stay.",
    ),
    "models": ("models", "Lists, verifies, exports and trains models."),
    "copy": (
        "copy",
        "Copies a catalog into another engine or file, without embedding anything again: also as a backup.",
    ),
    "adopt": ("adopt", "Makes a catalog that was restored from a snapshot one of its own."),
    "setup": ("setup", "Prepares OpenSearch or Elasticsearch for a catalog."),
    "advise": (
        "advise",
        "Says what it costs to send all tools, deferred ones, or those that a search found.",
    ),
    "doctor": ("doctor", "Shows settings, installed extras, models and the catalog, and what is broken."),
}
"""Name of a command → its module in `kitpick.cli`, and the first sentence of its help.

The function or application is called like the module, or `MODULE:NAME` names it.
"""

_Click: TypeAlias = Any
"""A class of click. Some versions of typer contain click, others depend on it: no import finds it in both."""


class LazyCommands(TyperGroup):
    """The group of all `COMMANDS`. A command is imported when it is asked for, not when it is listed."""

    def __init__(self, **options: _Click) -> None:
        super().__init__(**options)
        self.commands = {name: TyperCommand(name, help=text) for name, (_, text) in COMMANDS.items()}

    def get_command(self, ctx: _Click, cmd_name: str) -> _Click:
        """The command itself, None where there is none of this name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: _Click, formatter: _Click) -> None:
        """Writes the help page in plain text: what draws frames takes half of the page's time to load."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_commands(self, ctx: _Click, formatter: _Click) -> None:
        """Lists the commands, each with the whole of its first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


_FULL = (errno.ENOSPC, errno.EIO)


def load_command(name: str) -> _Click:
    """The command of this name."""
    place, _ = COMMANDS[name]
    module, _, member = place.partition(":")
    found = getattr(import_module(f"kitpick.cli.{module}"), member or module)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command(name)(function)
    command = typer.main.get_command(found)
    command.name = name
    return command


app = typer.Typer(
    name="kitpick",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kitpick {version('kitpick')}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Finds the right set of tools and APIs for a request, in a catalog of thousands."""


def main() -> None:
    """Runs the command `kitpick`."""
    guarded(app)


def guarded(program: Callable[[], object]) -> None:
    """Runs a program; what goes wrong becomes one line and an exit code."""
    _show_what_can_be_shown()
    try:
        program()
    except BrokenPipeError as error:
        from kitpick.errors import exit_code

        # The reader of a pipe left early, as `| head` does.
        sys.stderr.close()
        sys.exit(exit_code(error))
    except KitpickError as error:
        from kitpick.cli.console import complain
        from kitpick.errors import exit_code

        complain(error)
        sys.exit(exit_code(error))
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        from kitpick.cli.console import complain
        from kitpick.errors import ExitCode

        complain(
            OSError(f"standard output: {error.strerror}: free some space on its disk, or write elsewhere")
        )
        sys.exit(ExitCode.UNAVAILABLE)


def _show_what_can_be_shown() -> None:
    """A character that the encoding of an output lacks becomes a question mark, and ends no command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
