"""A file of judged requests that grows as somebody marks what is right, for `toolrank eval --queries`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from filelock import FileLock, Timeout
from msgspec.structs import replace

from toolrank_evaluation.datasets.queries_file import QueryLine
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.json_lines import read_json_lines
from toolrank_evaluation.report import write_whole

Verdict = Literal["right", "wrong", "none"]

MAX_BYTES = 8 * 2**20
"""Of the whole file: it is read for every mark."""
MAX_MARKS = 200
"""Of one request."""
_LOCK_SECONDS = 5.0


class JudgementsRefused(EvaluationError):
    """A mark that cannot be taken: the file is full, locked by somebody else, or cannot be written."""


class Judgements:
    """One file of judged requests. Safe to use from several threads and processes: each change is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))

    def of(self, query: str) -> dict[str, Verdict]:
        """What is marked for a request, by API id.

        Raises:
            InvalidDataset: the file is there, and is no file of judged requests.
        """
        line = self._lines().get(query, QueryLine(query, frozenset()))
        marks: dict[str, Verdict] = dict.fromkeys(line.irrelevant, "wrong")
        return marks | dict.fromkeys(line.relevant, "right")

    def mark(self, query: str, api: str, verdict: Verdict) -> int:
        """Judges one API for one request, `none` takes that back; the number of requests in the file.

        Lines keep their order, their ids and their subsets; one that judges nothing any more goes.

        Raises:
            InvalidDataset: as `of`.
            InvalidReport, JudgementsRefused: it cannot be written, is full, or is locked.
        """
        try:
            with self._lock.acquire(timeout=_LOCK_SECONDS):
                lines = self._lines()
                lines[query] = _judged(lines.get(query, QueryLine(query, frozenset())), api, verdict)
                kept = [line for line in lines.values() if line.relevant or line.irrelevant]
                content = b"".join(map(_encoded, kept))
                if len(content) > MAX_BYTES:
                    raise JudgementsRefused(f"{self.path} is full: begin another file")
                write_whole(self.path, content)
                return len(kept)
        except Timeout:
            raise JudgementsRefused(f"{self.path}: locked by another process: try again") from None
        except OSError as error:
            raise JudgementsRefused(f"{self.path}: cannot be written: {error.strerror}") from error

    def _lines(self) -> dict[str, QueryLine]:
        if not self.path.exists():
            return {}
        return {line.query: line for line in read_json_lines(self.path, QueryLine)}


def _judged(line: QueryLine, api: str, verdict: Verdict) -> QueryLine:
    relevant, irrelevant = line.relevant - {api}, frozenset(line.irrelevant) - {api}
    if verdict == "right":
        relevant |= {api}
    elif verdict == "wrong":
        irrelevant |= {api}
    if len(relevant) + len(irrelevant) > MAX_MARKS:
        raise JudgementsRefused(f"{MAX_MARKS:,} APIs are marked for this request: no more than that")
    return replace(line, relevant=relevant, irrelevant=tuple(sorted(irrelevant)))


def _encoded(line: QueryLine) -> bytes:
    return msgspec.json.encode(line, order="deterministic") + b"\n"
