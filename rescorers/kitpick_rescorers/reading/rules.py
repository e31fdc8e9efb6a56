"""The rules that overrule the models: an API that a request names comes first, one that it rules out last.

They run after the stages that rank, in every profile. A request to which none of them applies is
answered as without them. They see only candidates that the caller may see.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Mapping, Sequence

from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_engines.document import Effect
from kitpick_rescorers.features import effect_of_name, wanted_effects
from kitpick_rescorers.reading.deeds import MAY_OPPOSE, asked_deeds, effects_asked, milder_deeds, opposites
from kitpick_rescorers.reading.glossary import LANGUAGES
from kitpick_rescorers.reading.languages import passed_over
from kitpick_rescorers.reading.light_verbs import MAY_BE_LIGHT, Meant, meant_by_light_verb
from kitpick_rescorers.reading.loan_words import beginnings, sharing
from kitpick_rescorers.reading.names import name_key, named
from kitpick_rescorers.reading.out_of_reach import (
    TALK_WORDS,
    may_be_out_of_reach,
    out_of_reach,
    small_talk,
)
from kitpick_rescorers.reading.request_reading import Reading
from kitpick_rescorers.reading.ruled_out import RuledOut
from kitpick_rescorers.reading.senses import MAY_MEAN_OTHERWISE, other_sense
from kitpick_rescorers.reading.verbs import ACTIONS, ENDING, asks_to_end, deeds, destroys, stems_of
from kitpick_rescorers.reading.words_of_names import (
    SMALL,
    deed_of,
    last_part,
    misfit,
    name_stems,
    plain_stems,
    things_named,
    things_of,
    versionless,
    words_of,
)
from kitpick_rescorers.state import ANSWERABLE, Ranked, StageTrace, State

STAGE = "reading"
"""The rules' name in traces and reasons."""
_RULED_OUT = "does what the request rules out"
_DONE = "was called already, and is not asked for again"
_FITS = "does what is asked to the same thing"
_MEANT = "does what the request says by a noun or an idiom"
_SAID = "is what the request says, and no more"
_OPPOSITE = "does the opposite of what is asked"
_ENDS = "ends something, which the request does not ask for"
_FIRST = re.compile(r"[^\W_]+")
_FAR_BELOW = 0.05
"""A probability that anything does it, below which nothing does even of what a glossary reads."""
_ACTIONS = frozenset().union(*map(plain_stems, ACTIONS))
_WORDS_OF_NAME = 6
"""Words of a request that may say a name and no more."""
_LONG_NAME = 10
"""Letters beyond which the end of a longer name is that of an API."""
_NEAR = 5
_HEAD = 10
"""How far down the list a hit is looked for that does what is asked, in place of one that destroys."""


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
    if talk or reading.foreign or not may_be_out_of_reach(reading.searched):
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
        """The list: first what is named or confirmed, then the others, last what is ruled out.

        Then, where nothing is named, each rule in turn may put another hit in front.
        """
        ranked = self._unused_first(self._by_version(self._with_first(list(self._state.ranked))))
        out = self._ruled_out(ranked)
        self.reasons |= out
        if out:
            kept, last = _parted(ranked, out)
            ranked = [*self._counterpart_first(kept, last), *last]
        better = (self._said_in_full, self._of_fitting_effect, self._said_by_noun, self._not_opposite)
        for place_of in (*better, self._harmless):
            if ranked and ranked[0].id not in self.first:
                place = place_of(ranked)
                ranked = [ranked[place], *ranked[:place], *ranked[place + 1 :]]
        return tuple(ranked)

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
            places.setdefault((item.tool, versionless(item.candidate.api)), []).append(place)
        moved = list(ranked)
        for held in places.values():
            family = [ranked[place] for place in held]
            better = sorted(family, key=lambda item: misfit(item.candidate, wanted, others))
            for place, item in zip(held, better, strict=True):
                moved[place] = item
            if better != family:
                self.reasons |= {better[0].id: "of its versions the one that is asked for"}
        return moved

    def _of_fitting_effect(self, ranked: Sequence[Ranked]) -> int:
        """What reads answers a question, and what writes does a deed, if both are about one thing."""
        first, text = effect_of_name(ranked[0].candidate.api), self._reading.searched.rstrip()
        is_question = text[-1:] == "?"
        if first is Effect.UNKNOWN or (first is Effect.READ and is_question):
            return 0
        if wanted_effects(text) in ({first}, frozenset()) and not is_question:
            return 0
        wanted = effects_asked(self._reading.searched) if not self._reading.foreign else None
        if not wanted or first in wanted:
            return 0
        thing = things_of(ranked[0].candidate)

        def fits(item: Candidate) -> bool:
            return effect_of_name(item.api) in wanted and (Effect.READ in wanted or things_of(item) == thing)

        return self._told(ranked, _near(ranked[:_NEAR], fits), _FITS)

    def _said_in_full(self, ranked: Sequence[Ranked]) -> int:
        """A hit whose name says the whole request stands before one that says something else.

        "eliminar el bucket viejo" is `DeleteBucket`, not `DeleteBucketLifecycle`.
        """
        if len(self._reading.wanted.split()) > _WORDS_OF_NAME:
            return 0
        asked = plain_stems(" ".join(self._reading.english) or self._reading.searched)

        def is_said(item: Ranked) -> bool:
            stems = plain_stems(last_part(item.candidate.api))
            return not stems <= _ACTIONS and stems <= asked and not asked - stems - plain_stems(item.tool)

        return self._told(ranked, _first_place(ranked[:_HEAD], is_said), _SAID)

    def _said_by_noun(self, ranked: Sequence[Ranked]) -> int:
        """What does a deed that a noun or an idiom says ("take a snapshot") stands before what does not."""
        text = self._reading.searched
        if self._reading.foreign or not MAY_BE_LIGHT.search(text):
            return 0
        meant = meant_by_light_verb(text)
        if not meant.deeds or meant.fits(name_stems(ranked[0].candidate)):
            return 0
        about = (frozenset(stems_of(text)) | things_of(ranked[0].candidate)) - meant.things
        place = _first_place(ranked[:_HEAD], lambda item: _is_meant(item.candidate, meant, about))
        return self._told(ranked, place, _MEANT)

    def _not_opposite(self, ranked: Sequence[Ranked]) -> int:
        """What does the opposite of what is asked does not stand before what does it to the same thing."""
        first = ranked[0]
        if not MAY_OPPOSE.search(first.candidate.api):
            return 0
        asked, deed = asked_deeds(self._reading.searched), deed_of(first.candidate)
        if deed not in opposites(asked) or (deed in ENDING and asks_to_end(self._reading.searched)):
            return 0
        fit = deeds(asked)
        place = _near(ranked, lambda candidate: deed_of(candidate) in fit)
        if place:
            self.reasons |= {first.id: _OPPOSITE}
        return place

    def _harmless(self, ranked: Sequence[Ranked]) -> int:
        """What destroys does not stand first for a request that asks for no ending, or for another one.

        In its place comes the next hit that does not, if it is about the same thing; where no ending and
        nothing of the first one's name is asked for, whatever does not. A hit in front that destroys all
        the same says so.
        """
        first, text = ranked[0].candidate, self._reading.searched
        if not _may_destroy(first) or not _destroys(first):
            return 0
        ends = asks_to_end(text)
        if ends and deed_of(first) in deeds(asked_deeds(text)):
            return 0
        place = self._instead(ranked, milder_deeds(text) if ends else None)
        if place or not ends:
            self.reasons |= {first.id: _ENDS}
        return place

    def _instead(self, ranked: Sequence[Ranked], milder: frozenset[str] | None) -> int:
        """The place of the hit that comes before one that destroys; 0 if none does.

        `milder` are the deeds with which the request ends something; None if it ends nothing.
        """
        same = _near(ranked, lambda item: not _destroys(item) and (milder is None or deed_of(item) in milder))
        asked = frozenset(stems_of(self._reading.searched))
        if same or milder == frozenset() or things_named(ranked[0].candidate) & asked:
            return same
        return _first_place(ranked[:_NEAR], lambda item: not _destroys(item.candidate))

    def _told(self, ranked: Sequence[Ranked], place: int, reason: str) -> int:
        """The place; if it is not the first one, with a reason for the hit that comes from there."""
        if place:
            self.reasons |= {ranked[place].id: reason}
        return place

    def _unused_first(self, ranked: list[Ranked]) -> list[Ranked]:
        """What the conversation has called already stands behind the other hits of the head."""
        if not self._used:
            return ranked
        keys = [name_key(name) for name in self._used]
        late = (item for item in ranked if item.id not in self.first and _is_called(item.candidate, keys))
        done = {item.id: _DONE for item in late}
        self.reasons |= done
        kept, last = _parted(ranked, done)
        return [*kept[:_HEAD], *last, *kept[_HEAD:]]

    def _counterpart_first(self, kept: list[Ranked], out: Sequence[Ranked]) -> list[Ranked]:
        """Whoever rules out `SendMessageBatch` by "not as a batch" wants `SendMessage` of the same tool."""
        ruled_out = RuledOut(self._reading)
        things = ruled_out.things
        wanted = {
            (item.tool, words_of(item.candidate) - things)
            for item in out
            if things & words_of(item.candidate)
        }
        for place, item in enumerate(kept[:_HEAD]):
            if (item.tool, words_of(item.candidate)) in wanted and not self.first:
                if place and item.tool == kept[0].tool and ruled_out.covered(kept[0].candidate):
                    return kept
                self.reasons |= {item.id: "does the same without what the request rules out"}
                return [item, *kept[:place], *kept[place + 1 :]]
        return kept

    def _ruled_out(self, ranked: Sequence[Ranked]) -> dict[str, str]:
        """Ids of what is ruled out, in the order of the list, with the reason."""
        if not self._reading.ruled_out:
            return {}
        out = RuledOut(self._reading)
        held = [item for item in ranked if item.id not in self.first and out.holds(item.candidate)]
        rest = {item.id for item in ranked} - {item.id for item in held}
        least = max((out.covered(item.candidate) for item in ranked if item.id in rest), default=0)
        return {item.id: _RULED_OUT for item in held if not out.only_by_things(item.candidate, least)}


def _is_called(candidate: Candidate, keys: Sequence[str]) -> bool:
    """Whether one of the names of functions is that of an API, alone or behind that of its tool."""
    own = name_key(candidate.api)
    tool = name_key(candidate.tool) + own
    return any(key in (own, tool) or (len(own) > _LONG_NAME and key.endswith(own)) for key in keys)


def _is_meant(candidate: Candidate, meant: Meant, about: frozenset[str]) -> bool:
    """Whether an API does what a noun says, and its name is about the same things, or about nothing else.

    What stands before its last full stop is the tool, not a thing.
    """
    things = words_of(candidate) - ACTIONS - SMALL - meant.things
    return meant.fits(name_stems(candidate)) and (not things or not things.isdisjoint(about))


def _may_destroy(candidate: Candidate) -> bool:
    return Effect.DESTRUCTIVE in (candidate.effect, effect_of_name(candidate.api)) or "." in candidate.api


def _destroys(candidate: Candidate) -> bool:
    return destroys(candidate.api, candidate.effect)


def _near(ranked: Sequence[Ranked], fits: Callable[[Candidate], bool]) -> int:
    """The place of the next hit of the head that fits and is about the same thing; 0 if none does."""
    tool, thing = ranked[0].tool, things_of(ranked[0].candidate)
    head = enumerate(ranked[1:_HEAD], start=1)
    same = ((place, item.candidate) for place, item in head if item.tool == tool)
    return next((place for place, item in same if fits(item) and things_of(item) & thing), 0)


def _first_place(ranked: Sequence[Ranked], fits: Callable[[Ranked], bool]) -> int:
    """The place of the first hit that fits; 0 if none does."""
    return next((place for place, item in enumerate(ranked) if fits(item)), 0)


def _parted(ranked: Sequence[Ranked], out: Container[str]) -> tuple[list[Ranked], list[Ranked]]:
    """The list without some ids, and those, each in their order."""
    return [item for item in ranked if item.id not in out], [item for item in ranked if item.id in out]
