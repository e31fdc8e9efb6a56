"""The command line: a shell over the SDK."""

from toolrank.cli.main import app, main

__all__ = ["app", "main"]
