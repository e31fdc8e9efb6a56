"""The command line: a shell over the SDK."""

from kitpick.cli.main import app, main

__all__ = ["app", "main"]
