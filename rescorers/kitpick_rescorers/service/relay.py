"""An index that the service does not read itself: its caller runs the searches, as its user.

The steps and the searches are those of everybody else (`kitpick_rescorers.search`, `kitpick_engines.remote`).
The first call asks for the searches of the first stage, and every further call brings what was found so far
and goes through the same steps again, up to the next search or to the end. So the service keeps no state
between calls, and any copy can take the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kitpick_engines.contract import Filter, IndexSchema
from kitpick_engines.remote.queries import CommittedIndex, IndexQuestion, visible
from kitpick_engines.remote.server import Json
from kitpick_rescorers.service.errors import Invalid

_ENCODER = msgspec.json.Encoder(order="deterministic")


class SearchesAsked(BaseException):
    """Searches that the caller has to run before the steps can go on.

    No `Exception`: a step that degrades when an index cannot be read must let it through.
    """

    def __init__(self, searches: Sequence[Json]) -> None:
        super().__init__(f"{len(searches)} searches")
        self.searches = tuple(searches)


class RelayedState(msgspec.Struct, frozen=True):
    """One committed state of an index, as its caller describes it: a `CommittedIndex`."""

    schema: IndexSchema
    conditions: tuple[bytes, ...]
    """Queries, as JSON, that every document must match: the committed state, and what the caller adds."""

    @classmethod
    def of(cls, schema: IndexSchema, *conditions: Json | None) -> RelayedState:
        """The state; None for no condition."""
        return cls(schema, tuple(_ENCODER.encode(each) for each in conditions if each))

    def visible(self, wanted: Filter) -> Json:
        """The query for its documents that a filter shows."""
        return visible(wanted, [msgspec.json.decode(each) for each in self.conditions])


class Relay:
    """An `IndexReader` over the answers that a caller has brought.

    Args:
        state: of the index.
        found: answers to the searches of each question so far.
    """

    def __init__(self, state: CommittedIndex, found: Sequence[Sequence[Json]]) -> None:
        self._state = state
        self._found = list(found)

    def ask(self, question: IndexQuestion) -> tuple[CommittedIndex, list[Json]]:
        """The answers to all searches of a question.

        Raises:
            SearchesAsked: the caller has not brought them yet.
            Invalid: it brought another number.
        """
        searches = list(question(self._state))
        if not searches:
            return self._state, []
        if not self._found:
            raise SearchesAsked(searches)
        answers = self._found.pop(0)
        if len(answers) != len(searches):
            raise Invalid(f"found: {len(answers)} answers to {len(searches)} searches")
        return self._state, list(answers)
