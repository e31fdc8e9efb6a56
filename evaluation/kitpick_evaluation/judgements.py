"""A file of judged requests to which marks are added, for `kitpick eval --queries`."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from filelock import FileLock, Timeout

from kitpick_evaluation.datasets.queries_file import QueryLine, queries_file
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_evaluation.report import write_whole

Mark = Literal["right", "wrong", "none"]
_Line: TypeAlias = dict[str, Any]
"""A `QueryLine` with whatever other fields its author gave it."""

MAX_BYTES = 8 * 2**20
"""Largest size of the file, which is read for every mark."""
MAX_MARKS = 200
"""Limit for one request."""
_LOCK_SECONDS = 5.0
_SAFE = re.compile("[^a-z0-9]+")
_SHOWN = 40
"""Characters of a name that the name of its file shows."""


class JudgementsRefused(EvaluationError):
    """A mark that cannot be stored: the file is full, locked by another process, or cannot be written."""


def file_of_caller(path: Path, tenant: str, caller: str) -> Path:
    """The file for what one caller of a tenant marks: beside `path`, `path` itself where nobody is named.

    `judgements.acme.support.<digest>.jsonl`. The digest tells names apart that look alike as names of files.
    """
    if not (tenant or caller):
        return path
    digest = blake2b(msgspec.json.encode([tenant, caller]), digest_size=8).hexdigest()
    shown = [
        named for name in (tenant, caller) if (named := _SAFE.sub("-", name.lower())[:_SHOWN].strip("-"))
    ]
    return path.with_name(".".join([path.stem, *shown, digest]) + path.suffix)


class Judgements:
    """One file of judged requests. Safe to use from several threads and processes: each change is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))

    def of(self, query: str) -> dict[str, Mark]:
        """The marks of a request, by API id.

        Raises:
            InvalidDataset: the file is there, and is no file of judged requests, or has two of the same.
        """
        line = self._lines().get(query, {})
        marks: dict[str, Mark] = dict.fromkeys(line.get("irrelevant", ()), "wrong")
        return marks | dict.fromkeys(_right(line), "right")

    def mark(self, query: str, api: str, verdict: Mark) -> int:
        """Judges one API for one request, `none` takes that back; the number of requests in the file.

        Lines keep their order and all their fields. A line whose last mark is taken back goes. One that says
        that nothing in the catalog does it says so until something is marked right.

        Raises:
            InvalidDataset: as `of`.
            InvalidReport, JudgementsRefused: it cannot be written, is full, or is locked.
        """
        try:
            with self._lock.acquire(timeout=_LOCK_SECONDS):
                lines = self._lines()
                line = _judged(lines.get(query, {"query": query, "relevant": []}), api, verdict)
                if line["relevant"] or not _says_none(lines.get(query)):
                    lines[query] = line
                    if not (line["relevant"] or "irrelevant" in line):
                        del lines[query]
                content = b"".join(map(_encoded, lines.values()))
                if len(content) > MAX_BYTES:
                    raise JudgementsRefused(f"{self.path} is full: begin another file")
                write_whole(self.path, content)
                return len(lines)
        except Timeout:
            raise JudgementsRefused(f"{self.path}: locked by another process: try again") from None
        except OSError as error:
            raise JudgementsRefused(f"{self.path}: cannot be written: {error.strerror}") from error

    def _lines(self) -> dict[str, _Line]:
        """The lines by their requests, with all their fields."""
        if not self.path.exists():
            return {}
        valid = [line.query for line in read_json_lines(self.path, QueryLine)]
        found = dict(zip(valid, read_json_lines(self.path, dict), strict=True))
        if len(found) < len(valid):
            queries_file(self.path)  # refuses two lines that ask the same: only one would be written
        return found


def _says_none(line: _Line | None) -> bool:
    """Whether a line says that nothing in the catalog does it."""
    return line is not None and not line["relevant"] and not line.get("irrelevant")


def _judged(line: _Line, api: str, verdict: Mark) -> _Line:
    """The line with one more mark. A group of equally right APIs keeps its other members."""
    relevant = list(line["relevant"])
    if verdict != "right":
        relevant = [kept for item in relevant if (kept := _without(item, api))]
    elif api not in _right(line):
        relevant.append(api)
    irrelevant = sorted({*line.get("irrelevant", ())} - {api} | ({api} if verdict == "wrong" else set()))
    judged = {**line, "relevant": relevant, "irrelevant": irrelevant}
    if len(_right(judged)) + len(irrelevant) > MAX_MARKS:
        raise JudgementsRefused(f"{MAX_MARKS:,} APIs are marked for this request: no more than that")
    return judged if irrelevant else {name: value for name, value in judged.items() if name != "irrelevant"}


def _right(line: _Line) -> list[str]:
    items = line.get("relevant", ())
    return [api for item in items for api in ([item] if isinstance(item, str) else item)]


def _without(item: str | list[str], api: str) -> str | list[str]:
    """What remains of an API, or of a group of equally right ones, without the marked one."""
    if isinstance(item, str):
        return "" if item == api else item
    return [other for other in item if other != api]


def _encoded(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"
