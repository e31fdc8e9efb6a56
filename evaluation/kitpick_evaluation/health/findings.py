"""The findings of a check, and their effect on retrieval."""

from __future__ import annotations

import enum

import msgspec


class FindingKind(str, enum.Enum):
    """Kinds of findings."""

    NEAR_DUPLICATE = "near-duplicate"
    """Another API says almost the same."""
    EMPTY = "empty description"
    """Nothing but a name."""
    BOILERPLATE = "boilerplate description"
    """Several APIs of different names share the description word for word, or it only repeats the name."""
    PARAMETERS = "parameters without description"
    """None of its parameters is described."""
    NOT_FOUND = "not found"
    """Its own requests do not bring it among the first hits."""
    CONFUSABLE = "confusable"
    """Its own requests bring an API of another tool first."""


class Finding(msgspec.Struct, frozen=True):
    """A finding about one API, with its measured effect."""

    kind: FindingKind
    api: str
    detail: str
    other: str = ""
    """The second API of a pair."""
    rank: int | None = None
    """Rank of the API for its own request; None if it was not among the hits or not asked."""
    rank_without: int | None = None
    """Rank of the API for its own request if the second API did not exist."""


class FindingEffect(msgspec.Struct, frozen=True):
    """Retrieval of the APIs with one kind of finding, compared with the APIs without this finding."""

    kind: FindingKind
    apis: int
    asked: int
    found: float
    """Share of the asked ones among the first hits."""
    reciprocal_rank: float
    found_sound: float
    """Share of the APIs without this finding that are among the first hits for their requests."""
    reciprocal_rank_sound: float


class Health(msgspec.Struct, frozen=True):
    """The result of a check of a catalog."""

    apis: int
    asked: int
    """APIs for which a request was made up or given, and asked."""
    depth: int
    """Number of hits that count as found."""
    findings: tuple[Finding, ...]
    effects: tuple[FindingEffect, ...]
