"""Looks for APIs that are hard to find, part by part, so that the page can show how far it is.

It is the check of `kitpick lint` for one caller: what they may not see is neither read nor named. Each API is
compared with all others by its description only in the command, which reads all vectors for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kitpick.ui.protocol import CheckAnswer, FindingLine
from kitpick.ui.shelves import CatalogListing
from kitpick_engines.document import ApiDocument, tool_key
from kitpick_evaluation.health.findings import Finding
from kitpick_evaluation.health.lint import description_findings
from kitpick_evaluation.health.self_retrieval import OwnSearch, ask_all, finding_findings
from kitpick_ingest.prose import clip

AT_ONCE = 20
"""APIs that are searched for in one call."""
MOST_FINDINGS = 500
"""Findings of descriptions that one answer holds."""
_DETAIL = 200


def ids_of_part(listing: CatalogListing, first: int) -> list[str]:
    """The APIs that one call searches for: those from a place on, in the order of the listing."""
    return [line.id for _, _, line in listing.lines[first : first + AT_ONCE]]


def findings_of_part(
    listing: CatalogListing, part: Sequence[ApiDocument], search: OwnSearch
) -> Iterator[Finding]:
    """APIs that their own requests do not find, or for which these find another tool's first."""
    tools = {line.id: tool_key(category, tool) for category, tool, line in listing.lines}
    return finding_findings(part, ask_all(part, search), tools)


def findings_of_descriptions(documents: Sequence[ApiDocument]) -> Iterator[Finding]:
    """The first findings about what descriptions say."""
    return islice(description_findings(documents), MOST_FINDINGS)


def check_answer(listing: CatalogListing, first: int, findings: Sequence[Finding]) -> CheckAnswer:
    """How far the check is, and what it found on the way."""
    lines = (
        FindingLine(each.kind.value, each.api, each.other, clip(each.detail, _DETAIL), each.rank)
        for each in findings
    )
    return CheckAnswer(min(first + AT_ONCE, len(listing.lines)), len(listing.lines), tuple(lines))
