"""Decides whether an API does only what a request rules out, and nothing that it wants."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kitpick_engines.contract import Candidate
from kitpick_engines.text import split_identifier
from kitpick_rescorers.reading.deeds import asked_deeds, deeds_of_phrases, near_deeds
from kitpick_rescorers.reading.request_reading import Reading
from kitpick_rescorers.reading.verbs import ACTIONS, SWITCHES, asks_to_end, deeds, stems_of, verb_stem
from kitpick_rescorers.reading.words_of_names import (
    SMALL,
    deed_of,
    ended_by,
    last_part,
    name_stems,
    things_of,
    version_of,
)

_MANY = re.compile(r"\b(?:several|multiple|many|all|every|each|lots|both|two|three)\b", re.IGNORECASE)
_WITHIN = re.compile(
    r"\b(?:from|of|in|on|off|inside|within)\s+(?:(?:the|an?|my|our|its|their|this|that)\s+)?([a-z]+)",
    re.IGNORECASE,
)
"""What something is a part of."""
_POINTERS = frozenset(
    {"it", "them", "thi", "that", "thes", "thos", "him", "her", "one", "any", "anyth", "all"}
)


class RuledOut:
    """The deeds and things that a request rules out, without those that it also wants."""

    def __init__(self, reading: Reading) -> None:
        wanted = frozenset(stems_of(reading.searched))
        said = [stems_of(part) for part in reading.ruled_out]
        verbs = frozenset(stem for part in said for stem in part if stem in ACTIONS)
        phrases = deeds_of_phrases(" ".join(reading.ruled_out))
        verbs = verbs - SWITCHES | phrases if phrases else verbs
        alternatives = [
            (part, stems)
            for part, stems in zip(reading.ruled_out, said, strict=True)
            if not set(stems) & ACTIONS - {"batch"}
        ]
        self.things = frozenset(stem for _, stems in alternatives for stem in stems) - wanted - SMALL
        """Stems of things that are ruled out."""
        within = frozenset(map(verb_stem, _WITHIN.findall(reading.searched)))
        ends = alternatives if asks_to_end(reading.searched) else ()
        self._not_whole = within.intersection(stem for _, stems in ends for stem in stems)
        """Stems of what is not to be ended as a whole: "remove the file from the bucket, not the bucket"."""
        many = (stems for part, stems in alternatives if _MANY.search(part))
        self._many = frozenset(stem for stems in many for stem in stems) - SMALL
        asked = near_deeds(asked_deeds(reading.searched))
        self._ends = bool(asked & deeds(verbs))
        self._deeds = near_deeds(verbs) if self._ends else deeds(verbs) - wanted
        named = frozenset().union(*map(_behind_verb, said))
        if not named and asked & near_deeds(verbs):
            self._deeds = frozenset()  # "take the rules away, leave the policy, don't delete that"
        self._on = named or wanted - SMALL
        """Where the request itself ends something: stems of that which is not to be ended."""
        self._asked = asked
        self._wanted = wanted & ACTIONS
        self._things_wanted = wanted - ACTIONS - SMALL
        self._versions = reading.other_versions

    def holds(self, candidate: Candidate) -> bool:
        """Whether a candidate does just that."""
        words = name_stems(candidate)
        if self._versions and version_of(candidate) in self._versions:
            return True
        if self._many & set(words) and _is_many(candidate, self._many):
            return True
        if (self.things - self._many) & set(words):
            return True
        deed = deed_of(candidate)
        if self._ends_whole(candidate):
            return True
        if deed not in self._deeds:
            return False
        return not self._ends or self._is_the_same(candidate, deed)

    def covered(self, candidate: Candidate) -> int:
        """How many of the wanted things an API's name has."""
        return len(self._things_wanted & set(name_stems(candidate)))

    def only_by_things(self, candidate: Candidate, covered: int) -> bool:
        """Whether a name has more of what is wanted than all others, beside a thing that is ruled out."""
        words = set(name_stems(candidate))
        if self._versions or self._ends_whole(candidate):
            return False
        return self.covered(candidate) > covered and not words & self._deeds

    def _ends_whole(self, candidate: Candidate) -> bool:
        """Whether it ends the whole of which only a part is to be ended."""
        return deed_of(candidate) in self._asked and frozenset() < things_of(candidate) <= self._not_whole

    def _is_the_same(self, candidate: Candidate, deed: str) -> bool:
        """Whether an ending deed is done to just what is ruled out, and is not the deed that is wanted."""
        things = things_of(candidate)
        return (
            bool(ended_by(candidate))
            and things <= self._on
            and (deed not in self._wanted or bool(things - {deed}))
        )


def _behind_verb(stems: Sequence[str]) -> frozenset[str]:
    """What follows the first verb of a part that is ruled out, but for pronouns."""
    verb = next((place for place, stem in enumerate(stems) if stem in ACTIONS), len(stems))
    return frozenset(stems[verb + 1 :]) - SMALL - _POINTERS


def _is_many(candidate: Candidate, things: frozenset[str]) -> bool:
    """Whether a name speaks of several of the things: `DeleteObjects`, or of a batch."""
    words = split_identifier(last_part(candidate.api)).lower().split()
    return any(
        word in ("batch", "bulk") or (word.endswith("s") and verb_stem(word) in things) for word in words
    )
