"""The rules that stand above the models: what a request names comes first, and what it rules out last.

They run behind the stages that rank, whatever the profile is. A request that none of them concerns is
answered as if they were not there. They see only candidates that its caller may see.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_engines.document import Effect
from kitpick_engines.lexical import STOP_WORDS
from kitpick_engines.text import split_identifier
from kitpick_rescorers.features import effect_of_name, wanted_effects
from kitpick_rescorers.reading.deeds import (
    MAY_OPPOSE,
    asked_deeds,
    deeds_of_phrases,
    effects_asked,
    milder_deeds,
    near_deeds,
    opposites,
)
from kitpick_rescorers.reading.glossary import LANGUAGES
from kitpick_rescorers.reading.languages import passed_over
from kitpick_rescorers.reading.light_verbs import MAY_BE_LIGHT, Meant, meant_by_light_verb
from kitpick_rescorers.reading.loan_words import beginnings, sharing
from kitpick_rescorers.reading.names import name_key, named
from kitpick_rescorers.reading.out_of_reach import MAY_BE_OUT_OF_REACH, out_of_reach
from kitpick_rescorers.reading.request_reading import Reading
from kitpick_rescorers.reading.senses import MAY_MEAN_OTHERWISE, other_sense
from kitpick_rescorers.reading.small_talk import TALK_WORDS, small_talk
from kitpick_rescorers.reading.verbs import (
    ACTIONS,
    ENDING,
    SWITCHES,
    asks_to_end,
    deed_of_name,
    deeds,
    destroys,
    stems_of,
    verb_stem,
)
from kitpick_rescorers.state import ANSWERABLE, Ranked, StageTrace, State

STAGE = "reading"
"""The rules' name in traces and reasons."""
_RULED_OUT = "does what the request rules out"
_DONE = "was called already, and is not asked for again"
_FITS = "does what is asked to the same thing"
_MEANT = "does what the request says by a noun or an idiom"
_OPPOSITE = "does the opposite of what is asked"
_ENDS = "ends something, which the request does not ask for"
_FIRST = re.compile(r"[^\W_]+")
_FAR_BELOW = 0.05
"""A probability that anything does it, below which nothing does even of what a glossary reads."""
_NEAR = 5
_HEAD = 10
"""How far down the list a hit is looked for that does what is asked, in place of one that destroys."""
_VERSION = re.compile(
    r"(?:^|[\W_])v(?:ersion)?[\W_]?(\d+)(?=$|[\W_])|(?<=[a-z])V(\d+)(?![a-z0-9])|(?<=[A-Za-z])(\d)$"
)
_DIGITS = re.compile(r"[vV]?\d+")


def follow_rules(
    state: State,
    proposed: Sequence[Ranked],
    reading: Reading,
    placed_first: Mapping[str, str] = {},
    notes: Sequence[str] = (),
    used: Sequence[str] = (),
) -> State:
    """The state with the list as the request's own words want it, and a trace of what that changed.

    Args:
        state: behind the stages that rank.
        proposed: all candidates, also those that a stage has dropped.
        reading: of the request.
        placed_first: ids of candidates that come first, and why: what was confirmed for this request.
        notes: what else was read, for the trace.
        used: names of functions that were called before, and are not asked for again.
    """
    started = time.perf_counter()
    if reading.unread and not reading.by_encoder:
        state, reading = _by_loan_words(state, proposed, reading)
    rules = _Rules(state, proposed, reading, placed_first, used)
    ranked, reasons = rules.ranked(), rules.reasons
    said = [*notes, *(f"ruled out: {part!r}" for part in reading.ruled_out)]
    said += [f"{reading.foreign}, also searched as {' '.join(reading.english)!r}"] if reading.english else []
    if reading.foreign:
        state = state.degrading("language", _weakness(reading))
    lacks = _out_of_reach(reading, state, proposed) or reading.lacks or _meant_otherwise(reading, proposed)
    if lacks and not rules.first:
        state = replace(state, abstained=lacks)
    if not reasons and not said and not reading.foreign:
        return state
    entry = StageTrace(
        stage=STAGE,
        milliseconds=(time.perf_counter() - started) * 1e3,
        order=tuple(item.id for item in ranked),
        scores=tuple(item.score for item in ranked),
        reasons=reasons,
        note="; ".join(said),
    )
    sure = not rules.first and (lacks or not reading.foreign or _is_beyond(state))
    abstained = state.abstained if sure else ""
    return replace(state, ranked=ranked, abstained=abstained, trace=(*state.trace, entry))


def _by_loan_words(state: State, proposed: Sequence[Ranked], reading: Reading) -> tuple[State, Reading]:
    """The list for a request that nothing reads: first what has most words of it. Or why it has none."""
    asked = beginnings(reading.searched, passed_over(reading.language))
    found = sharing(asked, (item.candidate for item in proposed))
    ranked = tuple(sorted(state.ranked, key=lambda item: -found.get(item.id, 0)))
    if found:
        return replace(state, ranked=ranked), reading
    lack = reading.lacks or (
        f"the request is in {reading.foreign}, {_unknown(reading)}, and nothing found has a word of it"
    )
    return state, replace(reading, lacks=lack)


def _meant_otherwise(reading: Reading, proposed: Sequence[Ranked]) -> str:
    """Why nothing here is meant, where the request uses a word in a sense that no candidate is about."""
    said = " ".join(reading.english) if reading.foreign else reading.searched
    if MAY_MEAN_OTHERWISE.search(said) is None:
        return ""
    return other_sense(said, (item.candidate.text for item in proposed))


def _is_beyond(state: State) -> bool:
    """Whether a verdict on the list stands for a request of which the models read a glossary's words only."""
    judged = (entry.details[ANSWERABLE] for entry in reversed(state.trace) if ANSWERABLE in entry.details)
    return not state.ranked or next(judged, 1.0) < _FAR_BELOW


def _out_of_reach(reading: Reading, state: State, proposed: Sequence[Ranked]) -> str:
    """Why nothing that was found can be meant; empty where something may be."""
    first = _FIRST.search(reading.wanted)
    may_be_talk = first is not None and (first[0].lower() in TALK_WORDS or first[0][0] in TALK_WORDS)
    found = (item.candidate for item in (*state.ranked, *proposed))
    talk = small_talk(reading.wanted, found) if may_be_talk else ""
    if talk or reading.foreign or MAY_BE_OUT_OF_REACH.search(reading.searched) is None:
        return talk
    best = {item.id: item.candidate for item in (*state.ranked, *proposed)}
    sure = max((item.probability for item in state.ranked if item.probability is not None), default=1.0)
    return out_of_reach(reading.searched, list(best.values()), sure)


def _unknown(reading: Reading) -> str:
    """What is known of a language whose words say nothing here."""
    read = reading.language in LANGUAGES
    return "of which the glossary has no word that it says" if read else "which nothing here reads"


def _weakness(reading: Reading) -> str:
    """What a request in another language suffers from."""
    if reading.unread and reading.by_encoder:
        return (
            f"the request is in {reading.foreign}, which the encoder reads and no other model does: found by "
            "its vectors and by words, without a probability"
        )
    if reading.unread:
        return (
            f"the request is in {reading.foreign}, {_unknown(reading)}: found by names, numbers and "
            "words that descriptions have as well; say it in English"
        )
    return (
        f"the request is in {reading.foreign}, which the models hardly read: a glossary gives some of its "
        "words in English; the answer is less sure, and abstains only where little speaks for it"
    )


class _Rules:
    """The rules over one list, and the reason for every candidate that one of them speaks of."""

    def __init__(
        self,
        state: State,
        proposed: Sequence[Ranked],
        reading: Reading,
        placed_first: Mapping[str, str],
        used: Sequence[str],
    ) -> None:
        self._state = state
        self._known = {item.id: item for item in proposed} | {item.id: item for item in state.ranked}
        self._reading = reading
        self._used = used
        self.reasons: dict[str, str] = {}
        self.first = self._first(placed_first)

    def ranked(self) -> tuple[Ranked, ...]:
        """The list: first what is named or confirmed, then the others, last what is ruled out."""
        ranked = self._by_version(self._with_first(list(self._state.ranked)))
        ranked = self._unused_first(ranked)
        out = self._ruled_out(ranked)
        self.reasons |= dict.fromkeys(out, _RULED_OUT)
        if out:
            kept, last = _parted(ranked, out)
            ranked = [*self._counterpart_first(kept, last), *last]
        ranked = self._said_by_noun_first(self._fitting_effect_first(ranked))
        return tuple(self._harmless_first(self._opposite_behind(ranked)))

    def _first(self, placed_first: Mapping[str, str]) -> dict[str, str]:
        """Ids of what comes first, in their order, with the reason."""
        here = {key: why for key, why in placed_first.items() if key in self._known}
        names = (*self._reading.whole, *self._reading.names)
        if not names:
            return here
        order = [*self._state.ranked, *(i for i in self._known.values())]
        candidates = list({item.id: item.candidate for item in order}.values())
        return here | {
            key: f"its name is asked for: {name[:80]!r}"
            for key, name in named(candidates, names).items()
            if key not in here
        }

    def _with_first(self, ranked: list[Ranked]) -> list[Ranked]:
        if not self.first:
            return ranked
        self.reasons |= self.first
        sure = max((item.probability or 0.0 for item in ranked), default=0.0)
        scored = any(item.probability is not None for item in ranked)
        least = max(sure, 1.0 / len(self.first))
        head = [
            replace(item, probability=max(least, item.probability or 0.0)) if scored else item
            for item in (self._known[key] for key in self.first)
        ]
        return [*head, *(item for item in ranked if item.id not in self.first)]

    def _by_version(self, ranked: list[Ranked]) -> list[Ranked]:
        """Versions of one API change places, so that the one that is asked for comes before the others."""
        wanted, others = self._reading.versions, self._reading.other_versions
        if not wanted and not others:
            return ranked
        places: dict[tuple[str, str], list[int]] = {}
        for place, item in enumerate(ranked):
            places.setdefault((item.tool, _versionless(item.candidate.api)), []).append(place)
        moved = list(ranked)
        for held in places.values():
            family = [ranked[place] for place in held]
            better = sorted(family, key=lambda item: _misfit(item.candidate, wanted, others))
            for place, item in zip(held, better, strict=True):
                moved[place] = item
            if better != family:
                self.reasons |= {better[0].id: "of its versions the one that is asked for"}
        return moved

    def _fitting_effect_first(self, ranked: list[Ranked]) -> list[Ranked]:
        """What reads answers a question, and what writes does a deed, if both are about one thing."""
        if not ranked or ranked[0].id in self.first:
            return ranked
        first, text = effect_of_name(ranked[0].candidate.api), self._reading.searched.rstrip()
        if first is Effect.UNKNOWN or (first is Effect.READ and text[-1:] == "?"):
            return ranked
        if wanted_effects(text) in ({first}, frozenset()) and text[-1:] != "?":
            return ranked
        wanted = effects_asked(self._reading.searched) if not self._reading.foreign else None
        if not wanted or first in wanted:
            return ranked
        thing = _things(ranked[0].candidate)
        place = self._near(
            ranked[:_NEAR],
            lambda item: (
                effect_of_name(item.api) in wanted and (Effect.READ in wanted or _things(item) == thing)
            ),
        )
        if place:
            self.reasons |= {ranked[place].id: _FITS}
        return _with_front(ranked, place)

    def _said_by_noun_first(self, ranked: list[Ranked]) -> list[Ranked]:
        """What does a deed that a noun or an idiom says ("take a snapshot") stands before what does not."""
        text = self._reading.searched
        if not ranked or ranked[0].id in self.first or self._reading.foreign or not MAY_BE_LIGHT.search(text):
            return ranked
        meant = meant_by_light_verb(text)
        if not meant.deeds or meant.fits(_name_stems(ranked[0].candidate)):
            return ranked
        about = (frozenset(stems_of(text)) | _things(ranked[0].candidate)) - meant.things
        place = next(
            (place for place, item in enumerate(ranked[:_HEAD]) if _is_meant(item.candidate, meant, about)), 0
        )
        if place:
            self.reasons |= {ranked[place].id: _MEANT}
        return _with_front(ranked, place)

    def _opposite_behind(self, ranked: list[Ranked]) -> list[Ranked]:
        """What does the opposite of what is asked does not stand before what does it to the same thing."""
        if not ranked or ranked[0].id in self.first:
            return ranked
        if not MAY_OPPOSE.search(ranked[0].candidate.api):
            return ranked
        asked = asked_deeds(self._reading.searched)
        first, against = ranked[0], opposites(asked)
        deed = _deed(first.candidate)
        if deed not in against or (deed in ENDING and asks_to_end(self._reading.searched)):
            return ranked
        fit = deeds(asked)
        place = self._near(ranked, lambda candidate: _deed(candidate) in fit)
        if not place:
            return ranked
        self.reasons |= {first.id: _OPPOSITE}
        return _with_front(ranked, place)

    def _harmless_first(self, ranked: list[Ranked]) -> list[Ranked]:
        """What destroys does not stand first for a request that asks for no ending, or for another one.

        In its place comes the next hit that does not, if it is about the same thing; where no ending and
        nothing of the first one's name is asked for, whatever does not. A hit in front that destroys all
        the same says so.
        """
        if not ranked or ranked[0].id in self.first or not _may_destroy(ranked[0].candidate):
            return ranked
        first, text = ranked[0], self._reading.searched
        ends = asks_to_end(text)
        if not _destroys(first.candidate) or (ends and _deed(first.candidate) in deeds(asked_deeds(text))):
            return ranked
        place = self._harmless(ranked, milder_deeds(text) if ends else None)
        if place or not ends:
            self.reasons |= {first.id: _ENDS}
        return _with_front(ranked, place)

    def _harmless(self, ranked: Sequence[Ranked], milder: frozenset[str] | None) -> int:
        """The place of the hit that comes before one that destroys; 0 if none does.

        Args:
            ranked: the list.
            milder: the deeds with which the request ends something; None if it ends nothing.
        """
        same = self._near(
            ranked, lambda item: not _destroys(item) and (milder is None or _deed(item) in milder)
        )
        asked = frozenset(stems_of(self._reading.searched))
        if same or milder == frozenset() or _all_stems(ranked[0].candidate) & asked:
            return same
        return next((n for n, item in enumerate(ranked[:_NEAR]) if not _destroys(item.candidate)), 0)

    def _near(self, ranked: Sequence[Ranked], fits: Callable[[Candidate], bool]) -> int:
        """The place of the next hit of the head that fits and is about the same thing; 0 if none does."""
        tool, thing = ranked[0].tool, _things(ranked[0].candidate)
        return next(
            (
                place
                for place, item in enumerate(ranked[:_HEAD])
                if place and item.tool == tool and fits(item.candidate) and _things(item.candidate) & thing
            ),
            0,
        )

    def _unused_first(self, ranked: list[Ranked]) -> list[Ranked]:
        """What the conversation has called already stands behind the other hits of the head."""
        if not self._used:
            return ranked
        keys = [name_key(name) for name in self._used]
        done = {item.id for item in ranked if item.id not in self.first and _is_called(item.candidate, keys)}
        self.reasons |= dict.fromkeys(done, _DONE)
        kept, last = _parted(ranked, done)
        return [*kept[:_HEAD], *last, *kept[_HEAD:]]

    def _counterpart_first(self, kept: list[Ranked], out: Sequence[Ranked]) -> list[Ranked]:
        """Whoever rules out `SendMessageBatch` by "not as a batch" wants `SendMessage` of the same tool."""
        ruled_out = _RuledOut(self._reading)
        things = ruled_out.things
        wanted = {
            (item.tool, _words(item.candidate) - things) for item in out if things & _words(item.candidate)
        }
        for place, item in enumerate(kept[:_HEAD]):
            if (item.tool, _words(item.candidate)) in wanted and not self.first:
                if place and item.tool == kept[0].tool and ruled_out.covered(kept[0].candidate):
                    return kept
                self.reasons |= {item.id: "does the same without what the request rules out"}
                return [item, *kept[:place], *kept[place + 1 :]]
        return kept

    def _ruled_out(self, ranked: Sequence[Ranked]) -> set[str]:
        if not self._reading.ruled_out:
            return set()
        out = _RuledOut(self._reading)
        held = [item for item in ranked if item.id not in self.first and out.holds(item.candidate)]
        rest = {item.id for item in ranked} - {item.id for item in held}
        least = max((out.covered(item.candidate) for item in ranked if item.id in rest), default=0)
        return {item.id for item in held if not out.only_by_things(item.candidate, least)}


class _RuledOut:
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
        self.things = frozenset(stem for _, stems in alternatives for stem in stems) - wanted - _SMALL
        """Stems of things that are ruled out."""
        within = frozenset(map(verb_stem, _WITHIN.findall(reading.searched)))
        ends = alternatives if asks_to_end(reading.searched) else ()
        self._not_whole = within.intersection(stem for _, stems in ends for stem in stems)
        """Stems of what is not to be ended as a whole: "remove the file from the bucket, not the bucket"."""
        many = (stems for part, stems in alternatives if _MANY.search(part))
        self._many = frozenset(stem for stems in many for stem in stems) - _SMALL
        asked = near_deeds(asked_deeds(reading.searched))
        self._ends = bool(asked & deeds(verbs))
        self._deeds = near_deeds(verbs) if self._ends else deeds(verbs) - wanted
        named = frozenset().union(*map(_behind_verb, said))
        if not named and asked & near_deeds(verbs):
            self._deeds = frozenset()  # "take the rules away, leave the policy, don't delete that"
        self._on = named or wanted - _SMALL
        """Where the request itself ends something: stems of that which is not to be ended."""
        self._asked = asked
        self._wanted = wanted & ACTIONS
        self._things_wanted = wanted - ACTIONS - _SMALL
        self._versions = reading.other_versions

    def holds(self, candidate: Candidate) -> bool:
        """Whether a candidate does just that."""
        words = _name_stems(candidate)
        if self._versions and _version(candidate) in self._versions:
            return True
        if self._many & set(words) and _is_many(candidate, self._many):
            return True
        if (self.things - self._many) & set(words):
            return True
        deed = _deed(candidate) or _first_deed(candidate.text)
        if self._ends_whole(candidate):
            return True
        if deed not in self._deeds:
            return False
        return not self._ends or self._is_the_same(candidate, deed)

    def covered(self, candidate: Candidate) -> int:
        """How many of the wanted things an API's name has."""
        return len(self._things_wanted & set(_name_stems(candidate)))

    def only_by_things(self, candidate: Candidate, covered: int) -> bool:
        """Whether a name has more of what is wanted than all others, beside a thing that is ruled out."""
        words = set(_name_stems(candidate))
        if self._versions or self._ends_whole(candidate):
            return False
        return self.covered(candidate) > covered and not words & self._deeds

    def _ends_whole(self, candidate: Candidate) -> bool:
        """Whether it ends the whole of which only a part is to be ended."""
        return _deed(candidate) in self._asked and frozenset() < _things(candidate) <= self._not_whole

    def _is_the_same(self, candidate: Candidate, deed: str) -> bool:
        """Whether an ending deed is done to just what is ruled out, and is not the deed that is wanted."""
        things = _things(candidate)
        return (
            bool(_ended(candidate))
            and things <= self._on
            and (deed not in self._wanted or bool(things - {deed}))
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


def _behind_verb(stems: Sequence[str]) -> frozenset[str]:
    """What follows the first verb of a part that is ruled out, but for pronouns."""
    verb = next((place for place, stem in enumerate(stems) if stem in ACTIONS), len(stems))
    return frozenset(stems[verb + 1 :]) - _SMALL - _POINTERS


def _is_many(candidate: Candidate, things: frozenset[str]) -> bool:
    """Whether a name speaks of several of the things: `DeleteObjects`, or of a batch."""
    words = split_identifier(candidate.api.rpartition(".")[2] or candidate.api).lower().split()
    return any(
        word in ("batch", "bulk") or (word.endswith("s") and verb_stem(word) in things) for word in words
    )


_SMALL = frozenset(map(verb_stem, STOP_WORDS)) | {"via", "one", "please"}


def _first_deed(text: str) -> str | None:
    """The first verb that a candidate's text says behind its name, among its first words."""
    about = text.partition(". ")[2] or text
    return next((stem for stem in stems_of(about)[:4] if stem in ACTIONS), None)


def _is_called(candidate: Candidate, keys: Sequence[str]) -> bool:
    """Whether one of the names of functions is that of an API, alone or behind that of its tool."""
    own = name_key(candidate.api)
    tool = name_key(candidate.tool) + own
    return any(key in (own, tool) or (len(own) > _HEAD and key.endswith(own)) for key in keys)


def _is_meant(candidate: Candidate, meant: Meant, about: frozenset[str]) -> bool:
    """Whether an API does what a noun says, and its name is about the same things, or about nothing else.

    What stands before its last full stop is the tool, not a thing.
    """
    things = _words(candidate) - ACTIONS - _SMALL - meant.things
    return meant.fits(_name_stems(candidate)) and (not things or not things.isdisjoint(about))


def _may_destroy(candidate: Candidate) -> bool:
    return Effect.DESTRUCTIVE in (candidate.effect, effect_of_name(candidate.api)) or "." in candidate.api


def _deed(candidate: Candidate) -> str:
    """Stem of what an API's name does; empty if it has no verb."""
    return deed_of_name(_name_stems(candidate))


def _destroys(candidate: Candidate) -> bool:
    return destroys(candidate.api, candidate.effect)


def _things(candidate: Candidate) -> frozenset[str]:
    """Stems of what an API's name is about: its words but for its first verb."""
    words = _name_stems(candidate)
    deed = next((place for place, stem in enumerate(words) if stem in ACTIONS), len(words))
    return frozenset((*words[:deed], *words[deed + 1 :])) - _SMALL


def _ended(candidate: Candidate) -> frozenset[str]:
    """Stems of what an ending deed is done to: `remove_from_cart` ends no cart."""
    words = _name_stems(candidate)
    place = words.index("from") if "from" in words else len(words)
    return _things(candidate) - frozenset(words[place:])


def _words(candidate: Candidate) -> frozenset[str]:
    return frozenset(_name_stems(candidate))


def _name_stems(candidate: Candidate) -> tuple[str, ...]:
    """Stems of the words of an API's name, without what stands before its last full stop."""
    return stems_of(split_identifier(candidate.api.rpartition(".")[2] or candidate.api))


def _with_front(ranked: list[Ranked], place: int) -> list[Ranked]:
    """The list with the hit of a place in front."""
    return [ranked[place], *ranked[:place], *ranked[place + 1 :]]


def _all_stems(candidate: Candidate) -> frozenset[str]:
    """Stems of all words of an API's name but for its verbs."""
    return frozenset(stems_of(split_identifier(candidate.api))) - ACTIONS - _SMALL


def _parted(ranked: Sequence[Ranked], out: set[str]) -> tuple[list[Ranked], list[Ranked]]:
    """The list without some ids, and those, each in their order."""
    return [item for item in ranked if item.id not in out], [item for item in ranked if item.id in out]


def _version(candidate: Candidate) -> str:
    """The number of an API's version, by its name or else by what it says of itself; empty for none."""
    for text in (candidate.api, candidate.text[:300]):
        found = _VERSION.search(text)
        if found is not None:
            return str(int(next(part for part in found.groups() if part)))
    return ""


def _versionless(api: str) -> str:
    return name_key(_DIGITS.sub("", api))


def _misfit(candidate: Candidate, wanted: frozenset[str], others: frozenset[str]) -> int:
    version = _version(candidate)
    if version in others:
        return 3
    if version in wanted:
        return 0
    return 1 if not version else 2
