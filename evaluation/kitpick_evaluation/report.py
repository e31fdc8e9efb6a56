"""The report of an evaluation: dataset, profiles, figures and costs."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path

import msgspec

from kitpick_evaluation.abstention import AbstentionQuality
from kitpick_evaluation.comparison import PairTest
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidReport
from kitpick_evaluation.metrics import Figures
from kitpick_foundation.decoding import UNDECODABLE, decode_as

VERSION = 1
MEAN = "mean"
"""Name of the row that averages over the dataset's subsets, each counting once as in ToolRerank's table."""
MAX_REPORT_BYTES = 64 * 1024 * 1024


class ReportRow(msgspec.Struct, frozen=True):
    """Figures of one profile on one subset, each in [0, 1], with 95 % bootstrap intervals."""

    subset: str
    profile: str
    queries: int
    figures: Figures
    intervals: dict[str, tuple[float, float]] = {}
    facet: str = "subset"


class Cost(msgspec.Struct, frozen=True):
    """Cost of the answers of one profile for a language model: tokens of the first hits' definitions."""

    profile: str
    hits: int
    """Number of hits whose definitions are handed over."""
    tokens: float
    """Mean over the requests."""
    counter: str = ""


class Timing(msgspec.Struct, frozen=True):
    """Milliseconds of whole searches without caches. The only part that differs between runs."""

    profile: str
    requests: int
    median: float
    p95: float


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the figures depend on: equal values on one machine mean equal figures."""

    digest: str
    """Digest of the requests asked and their judgements."""
    requests: int
    """Number of requests that the dataset holds; more than were asked means a sample."""
    cutoffs: tuple[int, ...]
    seed: int
    resamples: int
    catalog: str = ""
    """Digest of the ids and content hashes of the catalog's APIs."""
    models: dict[str, str] = {}
    """Role → identity."""
    profiles: dict[str, str] = {}
    """Name → digest of its settings."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an evaluation."""

    version: int = VERSION
    complete: bool
    """Always true in a report that ran to its end: no other is ever written."""
    dataset: str
    queries: int
    provenance: Provenance
    rows: tuple[ReportRow, ...]
    costs: tuple[Cost, ...] = ()
    abstention: tuple[AbstentionQuality, ...] = ()
    timings: tuple[Timing, ...] = ()
    differences: tuple[PairTest, ...] = ()
    """Tests of the first profile against each other one, where figures to test were named."""

    def row(self, subset: str, profile: str, facet: str = "subset") -> ReportRow:
        """The row of one subset and profile.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if (row.facet, row.subset, row.profile) == (facet, subset, profile):
                return row
        raise KeyError((facet, subset, profile))

    def overall(self, profile: str) -> ReportRow:
        """The mean over subsets, or the only subset.

        Raises:
            KeyError: no such profile.
        """
        rows = [row for row in self.rows if row.facet == "subset" and row.profile == profile]
        if not rows:
            raise KeyError(profile)
        return next((row for row in rows if row.subset == MEAN), rows[0])

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles in the order they were given."""
        return tuple(dict.fromkeys(row.profile for row in self.rows))


def digest_of(queries: Sequence[JudgedQuery]) -> str:
    """128-bit digest of requests and judgements, in their order; the texts cannot be read out of it."""
    digest = hashlib.blake2b(digest_size=16)
    for query in queries:
        groups = [sorted(map(sorted, query.groups))] if query.groups else []
        judged = [query.id, query.text, query.subset, sorted(query.relevant), *groups]
        digest.update(msgspec.json.encode(judged) + b"\n")
    return digest.hexdigest()


def encode_report(report: Report) -> bytes:
    """Deterministic JSON, indented, with a line break at the end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def write_report(report: Report, path: Path) -> None:
    """Writes the report in one step."""
    write_whole(path, encode_report(report))


def check_writable(path: Path) -> None:
    """Finds out before minutes of work whether their result can be written to this file.

    Raises:
        InvalidReport: it cannot.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "is a folder")
        handle, beside = _opened_beside(path)
        os.close(handle)
        beside.unlink()
    except OSError as error:
        raise InvalidReport(f"{path}: cannot be written: {error.strerror}") from error


def _opened_beside(path: Path) -> tuple[int, Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    return handle, Path(name)


def write_whole(path: Path, content: bytes) -> None:
    """Replaces a file in one step.

    Raises:
        InvalidReport: the folder cannot be written.
    """
    try:
        handle, beside = _opened_beside(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            beside.chmod(0o644)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidReport(f"{path}: cannot be written: {error.strerror}") from error


def read_report(path: Path) -> Report:
    """Reads a complete report.

    Raises:
        InvalidReport: missing, too large, of another version, or no complete report.
    """
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            raise InvalidReport(f"{path}: larger than {MAX_REPORT_BYTES:,} bytes: not a report")
        report = decode_as(path.read_bytes(), Report)
    except OSError as error:
        raise InvalidReport(f"{path}: cannot be read: {error.strerror}") from error
    except UNDECODABLE as error:
        raise InvalidReport(f"{path}: not a complete report: {error}") from error
    if report.version != VERSION:
        raise InvalidReport(f"{path}: report version {report.version}, this is {VERSION}: measure it again")
    if not report.complete:
        raise InvalidReport(f"{path}: a partial report")
    return report
