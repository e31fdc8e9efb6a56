"""Facets of requests: style, words shared with the relevant APIs, number of relevant APIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from battery.sets import BatteryRequest, BatterySet
from kitpick_engines.document import ApiDocument
from kitpick_engines.lexical import Terms
from kitpick_engines.text import plain, split_identifier

OWN_WORDS_STYLES = frozenset("DF")
"""Styles in which people say the goal, or say it their own way."""
_KEY_WORD = re.compile("[a-z]{4,}")
_MAX_DESCRIPTION = 400
"""Characters of a description that are part of the encoder's text."""


class RequestFacets:
    """Divides the requests of one set.

    Args:
        battery_set: the set.
        is_seen: whether the cross-encoder was trained on a tool (key); None where there is none.
    """

    def __init__(self, battery_set: BatterySet, is_seen: Callable[[str], bool] | None = None) -> None:
        self._documents = {document.id: document for document in battery_set.documents}
        self._is_seen = is_seen
        self._terms = Terms()

    def of(self, request: BatteryRequest) -> Mapping[str, str]:
        """Facet → the subset that the request belongs to.

        `style`: `A` … `F`, only of written requests; `shared`: `none` or `some` of its key words; `wanted`:
        `one` API or `several`; `seen`: `seen`, `unseen` or `mixed` tools.
        """
        wanted = [self._documents[id_] for id_ in request.relevant]
        found = {
            "shared": "some" if self.shares_key_word(request.text, wanted) else "none",
            "wanted": "one" if len(wanted) == 1 else "several",
        }
        if request.style:
            found["style"] = request.style
        if self._is_seen is not None:
            seen = {self._is_seen(document.tool_key) for document in wanted}
            found["seen"] = "mixed" if len(seen) > 1 else ("seen" if seen == {True} else "unseen")
        return found

    def shares_key_word(self, text: str, wanted: Iterable[ApiDocument]) -> bool:
        """Whether a key word of the request occurs in the name or description of a relevant API.

        Key words have four letters or more and are no stop words; words of one stem are one word.
        """
        asked = self._stems(text)
        return any(asked & self._stems(_said(document)) for document in wanted)

    def _stems(self, text: str) -> frozenset[str]:
        words = _KEY_WORD.findall(text.lower())
        return frozenset(self._terms.of_request(" ".join(words))) if words else frozenset()


def _said(document: ApiDocument) -> str:
    return f"{split_identifier(document.api)} {plain(document.description, _MAX_DESCRIPTION)}"
