"""The dead-letter file: what a run left out, where it stood in the source and why, one JSON object a line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_engines.errors import InvalidDocument
from toolrank_ingest.errors import LocalWriteFailed
from toolrank_ingest.source import MAX_EXCERPT, DeadLetter

_MAX_TEXT = 2_000


class DeadLetterFile:
    """Collects the dead letters of one run, and replaces the file of the run before when it ends.

    Lines go to a partial file beside it at once, so that any number of them needs no memory; a run that is
    killed leaves the file of the run before. A run without dead letters leaves an empty file. Without a path
    only `count` is kept. `run` names a kind of run of which there is one at a time: others that write to the
    same path at the same time have partial files of their own, and the last to end is read.
    """

    def __init__(self, path: Path | None, run: str = "") -> None:
        self.count = 0
        self._path = path
        self._run = hashlib.blake2b(run.encode(), digest_size=6).hexdigest()
        self._partial: IO[bytes] | None = None

    def __enter__(self) -> DeadLetterFile:
        """Opens the partial file.

        Raises:
            LocalWriteFailed: the file cannot be written; so do `add` and leaving.
        """
        if self._path is not None:
            with _named(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._partial = self._partial_path(self._path).open("wb")
        return self

    def __exit__(self, *exception: object) -> None:
        """Publishes what was collected, also after an error: the letters may hold its reason."""
        if self._path is not None and self._partial is not None:
            with _named(self._path):
                self._partial.close()
                self._partial_path(self._path).replace(self._path)

    def add(self, letter: DeadLetter) -> None:
        """Writes one letter; overlong texts are cut, lone surrogates escaped."""
        self.count += 1
        if self._path is not None and self._partial is not None:
            with _named(self._path):
                self._partial.write(msgspec.json.encode(_presentable(letter)) + b"\n")

    def _partial_path(self, path: Path) -> Path:
        return path.with_name(f"{path.name}.{self._run}.partial")


def read_dead_letters(path: Path) -> Iterator[DeadLetter]:
    """The letters of a file that `DeadLetterFile` wrote."""
    decoder = msgspec.json.Decoder(DeadLetter)
    with path.open("rb") as lines:
        for line in lines:
            yield decoder.decode(line)


def invalid_letter(source: str, number: int, document: ApiDocument, error: InvalidDocument) -> DeadLetter:
    """The letter for a document that no engine can hold: the `number`-th that the source yielded."""
    excerpt = str(document.description)  # of whatever type it is, which can be the reason
    return DeadLetter(source, f"document {number}: {document.id}", error.reason, excerpt)


def refused_letter(source: str, error: InvalidDocument) -> DeadLetter:
    """The letter for a document that the engine of this catalog refused while it was written."""
    return DeadLetter(source, f"document {error.document_id}", error.reason)


def duplicate_letter(source: str, number: int, document: ApiDocument) -> DeadLetter:
    """The letter for a document whose id another one of the same run has already."""
    reason = "duplicate id: the first document of this id was kept"
    return DeadLetter(source, f"document {number}: {document.id}", reason, document.description)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turns the operating system's error into one that says what the file was for."""
    try:
        yield
    except OSError as error:
        raise LocalWriteFailed(f"dead-letter file {path}: {error.strerror or error}") from error


def _presentable(letter: DeadLetter) -> DeadLetter:
    return DeadLetter(
        source=_clean(letter.source, _MAX_TEXT),
        position=_clean(letter.position, _MAX_TEXT),
        reason=_clean(letter.reason, _MAX_TEXT),
        excerpt=_clean(letter.excerpt, MAX_EXCERPT),
    )


def _clean(text: str, limit: int) -> str:
    return text[:limit].encode("utf-8", "backslashreplace").decode("utf-8")
