"""Puts a finished model folder in the place of another: whole, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolrank_models.train.errors import ModelNotWritten


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` to write a model into; it takes the place of `out` if no error leaves.

    Processes that have the previous model open keep it; whoever opens `out` finds the one or the other.

    Raises:
        ModelNotWritten: the disk refused; the previous model is where it was.
    """
    staged, previous = out.with_name(f"{out.name}.part"), out.with_name(f"{out.name}.previous")
    try:
        _cleared(staged)
        staged.mkdir(parents=True)
        yield staged
        _cleared(previous)
        if out.exists():
            out.rename(previous)
        try:
            staged.rename(out)
        except OSError:
            if previous.exists():
                previous.rename(out)
            raise
        _cleared(previous)
    except OSError as error:
        raise ModelNotWritten(out, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _cleared(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
