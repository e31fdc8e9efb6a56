"""Which definitions a model sees in which turn, so that the provider's prompt cache holds.

A cache serves the part of a prompt that is the same as before, from its beginning. So definitions are only
appended. They are bounded in tokens; what was used longest ago makes room, but only at a boundary, where the
cache is lost anyway or has to be given up: then many go at once, so that the next boundary is far.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec

from kitpick.definition_tokens import DefinitionTokens
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import InvalidSetting

MOST_TOKENS = 8_000


class Shown(msgspec.Struct, frozen=True):
    """What became of tools that were found."""

    appended: tuple[ApiDocument, ...]
    """To be sent behind everything else; after a boundary, all that is shown is sent anew."""
    boundary: bool
    """Whether something had to go: what was sent before is not a prefix any more."""


class Exposure:
    """The definitions of one conversation. Not to be shared between threads."""

    def __init__(
        self,
        pinned: Iterable[ApiDocument] = (),
        *,
        most: int = MOST_TOKENS,
        keep: float = 0.5,
        size: Callable[[ApiDocument], int] | None = None,
    ) -> None:
        """Begins with the pinned tools, which stay whatever they take.

        Args:
            pinned: always shown, first.
            most: tokens that all others may take together, at least 1.
            keep: share of `most`, in [0, 1], that may stay at a boundary.
            size: tokens of a definition; by default as it is sent to OpenAI.

        Raises:
            InvalidSetting: a value out of its range.
        """
        if most < 1 or not 0 <= keep <= 1:
            raise InvalidSetting(
                f"most={most}, keep={keep}: `most` must be at least 1, `keep` between 0 and 1"
            )
        tokens = DefinitionTokens()
        self._size = size or (lambda document: tokens.of([document]))
        self._pinned = {document.id: document for document in pinned}
        self._shown: dict[str, tuple[ApiDocument, int]] = {}
        self._used: dict[str, None] = {}
        self._most, self._kept = most, int(keep * most)

    @property
    def shown(self) -> tuple[ApiDocument, ...]:
        """What the model sees now, in the order in which it came."""
        return (*self._pinned.values(), *(document for document, _ in self._shown.values()))

    @property
    def tokens(self) -> int:
        """Tokens of what is shown, without the pinned."""
        return sum(size for _, size in self._shown.values())

    def show(self, found: Iterable[ApiDocument]) -> Shown:
        """Shows tools that were found, best first; those that are shown already count as used.

        What does not fit behind the others makes a boundary; what is larger than the whole bound is left out.
        """
        new: dict[str, tuple[ApiDocument, int]] = {}
        held: set[str] = set()
        room = self._most
        for document in found:
            key = document.id
            if key in self._pinned or key in new or key in held:
                continue
            size = self._shown[key][1] if key in self._shown else self._size(document)
            if size > room:
                continue
            room -= size
            if key in self._shown:
                held.add(key)
                self.use(key)
            else:
                new[key] = document, size
        needed = sum(size for _, size in new.values())
        crossed = self.tokens + needed > self._most
        if crossed:
            self._evict(min(self._kept, self._most - needed), held)
        self._shown |= new
        self._used |= dict.fromkeys(reversed(new))  # the best is used latest
        return Shown(tuple(document for document, _ in new.values()), crossed)

    def use(self, tool_id: str) -> None:
        """Notes that the model called a tool, so that it stays longer."""
        if tool_id in self._shown:
            self._used.pop(tool_id, None)
            self._used[tool_id] = None

    def boundary(self, most: int | None = None) -> None:
        """Makes room because the cache is lost anyway: it expired, or the conversation was shortened.

        Args:
            most: tokens that may stay; by default the share `keep`.
        """
        self._evict(self._kept if most is None else most)

    def _evict(self, most: int, held: Collection[str] = ()) -> None:
        """Drops what was used longest ago until the rest fits into the tokens, or is held."""
        left = self.tokens
        for tool_id in [each for each in self._used if each not in held]:
            if left <= most:
                return
            del self._used[tool_id]
            left -= self._shown.pop(tool_id)[1]
