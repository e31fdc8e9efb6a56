"""Messages between the explain page and its server. A candidate is sent once, and then named by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec

from kitpick_evaluation.judgements import Mark
from kitpick_rescorers.request import Hit
from kitpick_rescorers.state import Degradation, QueryKindEstimate

MAX_REQUEST = 20_000
"""Characters."""
MAX_HITS = 10_000
MAX_BUDGET = 1_000_000


class ExplainCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request, and how it is to be answered. Bounds are checked where they can be put into words."""

    query: str
    profile: str | None = None
    k: int = 10
    budget: int | None = None


class MarkCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody thinks of an API for a request; `none` takes it back."""

    query: str
    id: str
    verdict: Mark


class MarkAnswer(msgspec.Struct, frozen=True):
    """The mark as it stands, and how many requests are judged by now."""

    verdict: Mark
    requests: int


class ProfileLine(msgspec.Struct, frozen=True):
    """A profile that can be asked for."""

    name: str
    description: str


class About(msgspec.Struct, frozen=True):
    """What the page has to know before the first request."""

    profiles: tuple[ProfileLine, ...]
    profile: str
    """The default."""
    marking: bool
    """Whether marks are taken."""
    adapting: bool
    """Whether this caller may adapt the profile to the catalog."""
    operator: bool
    """Whether this caller runs the server, and is told what it could do besides."""


class CategoryLine(msgspec.Struct, frozen=True):
    """A category, with how many tools and APIs of it the caller may see."""

    name: str
    tools: int
    apis: int


class Overview(msgspec.Struct, frozen=True):
    """The catalog as its first screen shows it."""

    name: str
    """The last part of the catalog's URL."""
    apis: int
    categories: tuple[CategoryLine, ...]
    """The largest first."""
    more: bool
    """Whether the catalog holds more than was counted."""
    models: str
    """The model set or encoder that its vectors are of."""
    examples: tuple[str, ...]
    """Requests that find what they ask for in this catalog."""
    changed: float | None = None
    """When the catalog was changed last, in seconds since 1970. Told to callers who see all of it: it says
    something about tools that others do not see. None where it is not known."""


class BrowseCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A category whose tools are wanted, or one of its tools whose APIs are."""

    category: str
    tool: str | None = None


class ToolLine(msgspec.Struct, frozen=True):
    """A tool, with how many of its APIs the caller may see."""

    name: str
    apis: int


class ApiLine(msgspec.Struct, frozen=True):
    """An API in short."""

    id: str
    api: str
    description: str
    effect: str
    deprecated: bool


class Shelf(msgspec.Struct, frozen=True):
    """What stands in a category, or in a tool of it."""

    tools: tuple[ToolLine, ...] = ()
    apis: tuple[ApiLine, ...] = ()


class CheckCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the check for APIs that are hard to find: those from this place on."""

    first: Annotated[int, msgspec.Meta(ge=0)] = 0


class FindingLine(msgspec.Struct, frozen=True):
    """What keeps an API from being found."""

    kind: str
    api: str
    other: str
    """The API that is found in its place; empty where there is none."""
    detail: str
    rank: int | None
    """Rank of the API for its own request; None where it is not among the hits, or was not searched for."""


class CheckAnswer(msgspec.Struct, frozen=True):
    """How far a check is. It is done where as many are checked as there are."""

    checked: int
    apis: int
    findings: tuple[FindingLine, ...]
    """Findings of this part; the first part also has those of all descriptions."""


AdaptBasis: TypeAlias = Literal["descriptions", "marks"]
"""What a profile is adapted to: descriptions of the catalog's APIs, or marks of the caller."""


class AdaptCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Begins to adapt the profile to the catalog."""

    by: AdaptBasis = "descriptions"


class AdaptStop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ends what adapts the profile."""


class AdaptState(msgspec.Struct, frozen=True):
    """How the run that adapts the profile stands, or how the last one ended."""

    state: Literal["none", "running", "done", "failed", "stopped"]
    by: AdaptBasis | None = None
    said: tuple[str, ...] = ()
    """How far it is, what it did, or why it failed."""


class ShowCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An API that is wanted whole, by its id."""

    id: str


class ShownApi(msgspec.Struct, frozen=True):
    """An API whole: what it is, who may see it, and by what it is found."""

    id: str
    category: str
    tool: str
    api: str
    description: str
    effect: str
    deprecated: bool
    restricted: bool
    """Whether only some callers may see it."""
    requests: tuple[str, ...]
    """Requests that were written for it and vote for it."""
    definition: str
    """As its source published it."""


class ShownCandidate(msgspec.Struct, frozen=True):
    """An API that came into sight, whatever became of it."""

    id: str
    tool: str
    api: str


class ShownStage(msgspec.Struct, frozen=True):
    """What one step did to the list. Numbers are positions in the list of candidates."""

    stage: str
    milliseconds: float
    note: str
    skipped: str
    order: tuple[int, ...]
    """The list behind it, best first."""
    entered: tuple[int, ...]
    """Candidates that are new in this stage."""
    cut: tuple[int, ...]
    """Candidates that this stage removed."""
    reasons: Mapping[int, str]
    details: Mapping[str, float] = {}


class ShownHit(Hit, frozen=True, kw_only=True):
    """One API of the answer."""

    candidate: int
    why: str
    """Why it is found, in one sentence."""
    description: str
    effect: str
    deprecated: bool


class ShownFlow(msgspec.Struct, frozen=True):
    """An input of a call that the answer of an earlier one fills."""

    input: str
    giver: int


class ShownCall(msgspec.Struct, frozen=True):
    """One call of a plan."""

    candidate: int
    takes: tuple[ShownFlow, ...]


class PackedDefinition(msgspec.Struct, frozen=True):
    """A definition that is handed to a model."""

    candidate: int
    tokens: int
    slimmed: bool
    definition: str
    """JSON, indented."""


class Packing(msgspec.Struct, frozen=True):
    """How the definitions fill the token budget."""

    budget: int
    used: int
    counter: str
    """Name of the counter."""
    definitions: tuple[PackedDefinition, ...]


class Spent(msgspec.Struct, frozen=True):
    """Milliseconds: all of it, and what models took of it (waiting for them included)."""

    total: float
    models: float


class ExplainAnswer(msgspec.Struct, frozen=True):
    """Everything that the page shows of one answer."""

    request_id: str
    profile: str
    hits: tuple[ShownHit, ...]
    candidates: tuple[ShownCandidate, ...]
    plan: tuple[ShownCall, ...]
    """The hits in an order that can be executed; empty where none takes anything from another."""
    stages: tuple[ShownStage, ...]
    kind: QueryKindEstimate | None
    reads_as: str
    """What the request is taken for, in words; empty where nobody asked."""
    abstained: str
    """Why nothing fits; empty where something does."""
    degraded: tuple[Degradation, ...]
    packing: Packing | None
    marks: Mapping[str, Mark]
    spent: Spent
