"""Prints the configuration of a client of the MCP server."""

from __future__ import annotations

import json

import typer

from kitpick.cli.console import note
from kitpick.mcp.clients import ClientConfig


def print_client(config: ClientConfig) -> None:
    """The JSON on standard output, where it belongs and what comes next on standard error."""
    note(f"for {config.file}; {config.afterwards}")
    typer.echo(json.dumps(config.content, indent=2))
