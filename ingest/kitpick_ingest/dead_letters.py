"""The dead-letter file: the entries that a run left out, each with its position and the reason."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from kitpick_engines.contract import IndexedDocument, Writer
from kitpick_engines.errors import InvalidDocument, RefusedDocuments
from kitpick_ingest.errors import LocalWriteFailed
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter, Remark

_MAX_TEXT = 2_000


class DeadLetterFile:
    """The dead letters of one run. They replace the file of the previous run at its end.

    Lines go to a partial file beside it at once, so that any number of them needs no memory; a run that is
    killed leaves the file of the run before. A run without dead letters leaves an empty file. Without a path
    only `count` and the `first` letter are kept. Remarks are written too, and do not count. `run` names a
    kind of run of which there is one at a time: others that write to the same path at the same time have
    partial files of their own, and the last to end is read.
    """

    def __init__(self, path: Path | None, run: str = "") -> None:
        self.count = 0
        self.first: DeadLetter | None = None
        self._remarks = 0
        self._remark: DeadLetter | None = None
        self._path = path
        self._run = hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
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
        """Publishes the letters, also after an error: they may hold its reason."""
        if self._path is not None and self._partial is not None:
            with _named(self._path):
                self._partial.close()
                self._partial_path(self._path).replace(self._path)

    def add(self, letter: DeadLetter) -> None:
        """Writes one letter; overlong texts are cut, lone surrogates escaped."""
        if isinstance(letter, Remark):
            self._remarks += 1
            self._remark = self._remark or _presentable(letter)
        else:
            self.count += 1
            self.first = self.first or _presentable(letter)
        if self._path is not None and self._partial is not None:
            with _named(self._path):
                self._partial.write(msgspec.json.encode(_presentable(letter)) + b"\n")

    def summaries(self) -> Iterator[str]:
        """How many entries were left out, and why the first of them was; the same of the remarks."""
        if self.first is not None:
            yield _summary(self.count, "left out", self.first)
        if self._remark is not None:
            yield _summary(self._remarks, "passed over", self._remark)

    def _partial_path(self, path: Path) -> Path:
        return path.with_name(f"{path.name}.{self._run}.partial")


def _summary(count: int, what: str, first: DeadLetter) -> str:
    where = f"at {first.position}: {first.reason}"
    return (
        f"1 entry was {what} {where}" if count == 1 else f"{count:,} entries were {what}, the first {where}"
    )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turns an error of the operating system into one that names the purpose of the file."""
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


def write_accepted(writer: Writer, batch: Sequence[IndexedDocument]) -> list[InvalidDocument]:
    """Writes a batch without the documents that the engine refuses, and returns why it refused them."""
    refused: list[InvalidDocument] = []
    pending = list(batch)
    while pending:
        now = _attempt(writer, pending)
        if not now:
            break
        refused += now
        bad = {each.document_id for each in now}
        pending = [item for item in pending if item.document.id not in bad]
    return refused


def _attempt(writer: Writer, batch: Sequence[IndexedDocument]) -> Sequence[InvalidDocument]:
    try:
        writer.write(batch)
    except RefusedDocuments as error:
        return error.refused
    except InvalidDocument as error:
        return [error]
    return []
