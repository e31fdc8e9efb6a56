"""Which requests a profile was fitted to: measured by those, it looks better than it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from kitpick.adaptation.adapting import AdaptReport
from kitpick_evaluation.dataset import JudgedQuery

_LINE = re.compile(r"^# Requests:((?: [0-9a-f]{8})+)$", re.MULTILINE)
_FIGURES = re.compile(r"^# Left out: (.+)$", re.MULTILINE)
_MAX_BYTES = 2**20


def fitted_comment(report: AdaptReport, queries: Iterable[JudgedQuery]) -> Iterator[str]:
    """Lines for the file of an adapted profile: digests of the requests, and figures of those left out."""
    if report.ndcg5 is not None and report.recall5 is not None:
        yield f"Left out: NDCG@5 {100 * report.ndcg5:.1f}, recall@5 {100 * report.recall5:.1f}"
    yield f"Requests: {' '.join(sorted({_digest(query.text) for query in queries}))}"


def overlap_warnings(profiles: Iterable[str], queries: Sequence[JudgedQuery]) -> Iterator[str]:
    """A sentence for each profile that was fitted to some of these requests."""
    asked = [_digest(query.text) for query in queries]
    for file in (Path(name) for name in profiles if name.endswith(".toml")):
        said = _beginning(file)
        fitted = {digest for line in _LINE.findall(said) for digest in line.split()}
        if count := sum(digest in fitted for digest in asked):
            figures = _FIGURES.search(said)
            honest = f"; of requests left out of the fit it was {figures[1]}" if figures else ""
            yield (
                f"{file} was fitted to {count:,} of these {len(asked):,} requests, so its figures here are "
                f"too high{honest}: measure it by others"
            )


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _beginning(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return content.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:  # whoever loads the profile says what is wrong with it
        return ""
