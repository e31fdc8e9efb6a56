"""The deeds that a request asks for, also by phrases ("switch it on"), and the deeds that do the opposite."""

from __future__ import annotations

import re

from kitpick_engines.document import Effect
from kitpick_rescorers.features import wanted_effects
from kitpick_rescorers.reading.verbs import ACTIONS, deeds, stems_of, verb_stem

_TRUE_SYNONYMS = tuple(
    frozenset(map(verb_stem, group.split()))
    for group in ("delete remove erase destroy drop trash", "purge wipe empty clear flush", "terminate kill")
)
"""Verbs that mean one end also where a request ends something itself: "empty it, don't delete it"."""
_OPPOSITES = """
start:stop start:terminate enable:disable activate:deactivate attach:detach associate:disassociate add:remove
lock:unlock accept:reject approve:reject grant:revoke authorize:revoke subscribe:unsubscribe follow:unfollow
mute:unmute pin:unpin publish:unpublish register:deregister connect:disconnect block:unblock encrypt:decrypt
import:export upload:download open:close hide:show assign:unassign tag:untag suspend:resume pause:resume
link:unlink allow:deny install:uninstall create:delete archive:restore increase:decrease join:leave
arm:disarm undo:approve revert:approve end:schedule open:lock
cancel:request cancel:start cancel:create cancel:schedule cancel:book cancel:order
"""
_OPPOSITE: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES.split():
    _one, _other = map(verb_stem, _pair.split(":"))
    _OPPOSITE[_one] = _OPPOSITE.get(_one, frozenset()) | {_other}
    _OPPOSITE[_other] = _OPPOSITE.get(_other, frozenset()) | {_one}
_MOSTLY_NOUNS = frozenset({"request"})
"""Verbs with an opposite that are things in most names: `DescribeSpotFleetRequests`."""
_VERBS = frozenset(re.findall("[a-z]+", _OPPOSITES)) - _MOSTLY_NOUNS
MAY_OPPOSE = re.compile("|".join(sorted({*map(verb_stem, _VERBS), "turn", "switch", "power"})), re.IGNORECASE)
"""Stems of the verbs with an opposite, in an API's name: with `creat` begin `create` and `creating`. Where
none is found, there is no such verb; what is found may be none."""
_AFTER = r"(?:\s+\S+){0,5}?\s+"
_TO_END = r"(?=\s*(?:$|[,.;:!?)]|again|please|now|for|and|but|instead|not|without|over|until))"
_DEVICE = (
    r"(?:light|lamp|alarm|heating|heater|radiator|music|radio|tv|television|fan|oven|stove|air\s?con(?:ditioning)?|machine"
    r"|server|instance|pump|engine|camera|projector|speaker|display|screen|wi-?fi|flag|feature|vacuum)s?"
)
_AFTER_DEVICE = r"(?=\s*(?:$|[,.;:!?)]|again|please|now|for|and|but|in|at|when)\b|\s*(?:$|[,.;:!?)]))"
"""Things that are on or off: "lights out in the kitchen" has no verb."""
_PHRASAL = (
    (re.compile(rf"\b(?:bring|get|fire|spin|power|boot|turn|switch)\b{_AFTER}(?:on|up){_TO_END}", re.I),
     "start enable activate"),
    (re.compile(rf"\b(?:shut|bring|power|spin|turn|switch)\b{_AFTER}(?:off|down){_TO_END}", re.I),
     "stop disable deactivate"),
    (re.compile(rf"\b(?:turn|switch|power)(?:ing)?\s+on\b|\b{_DEVICE}\s+(?:back\s+)?on{_AFTER_DEVICE}", re.I),
     "start enable activate"),
    (re.compile(rf"\b(?:turn|switch|power)(?:ing)?\s+off\b|\b{_DEVICE}\s+(?:off|out){_AFTER_DEVICE}", re.I),
     "stop disable deactivate"),
    (re.compile(rf"\b(?:take|taking|cross|strike|tick)\b{_AFTER}(?:out|off|away)\b", re.I), "remove detach"),
    (re.compile(r"\bcall(?:ing)?\b(?:\s+\S+){0,4}?\s+off\b", re.IGNORECASE), "cancel"),
    (re.compile(r"\b(?:say|says|said)\s+no\b", re.I), "reject decline"),
    (re.compile(r"\b(?:say|says|said)\s+yes\b", re.I), "accept approve"),
)  # fmt: skip
"""Phrases that ask for a deed without its verb: "switch it on"."""
_STATE_WORD = re.compile(
    r"\b(?:the|a|an|my|our|your|his|her|their|all|any|those|these|every|each|of)\s+[a-z]+(?:ed|en)\b", re.I
)
"""A participle that says in what state a thing is: "the stopped server"."""
_THING = re.compile(r"\b(?:the|a|an|my|our|your|this|that|every|each|no|of|for)\s+[a-z]+", re.IGNORECASE)
"""A word that is no verb where it stands: "get rid of the order"."""
_MILDER_LIST = """
abort detach disable deactivate disconnect disassociate stop halt suspend unlink unassign unbind unpin untag
pause close archive hide mute lock
"""
_MILDER = frozenset(map(verb_stem, _MILDER_LIST.split()))
"""Verbs that end something for a while, or only where it hangs."""
_QUESTION = re.compile(
    r"\s*(?:who|which|what|what's|when|where|how\s+(?:many|much|long|often)|is|are|was|were|does|did)\b"
    r"(?!.*\b(?:i|we)\s+(?:need|want)\b)[^.!]*\?\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""A text that is one question."""


def asked_deeds(text: str) -> frozenset[str]:
    """Stems of the verbs of a request, and of those that its phrases stand for; none of a state."""
    plain = _STATE_WORD.sub(" ", text)
    said = frozenset(stems_of(_THING.sub(" ", plain))) & ACTIONS
    return said | deeds_of_phrases(plain)


def deeds_of_phrases(text: str) -> frozenset[str]:
    """Stems of the verbs that the phrases of a text stand for: "switch it on"."""
    found = (frozenset(map(verb_stem, meant.split())) for said, meant in _PHRASAL if said.search(text))
    return frozenset().union(*found)


def effects_asked(text: str) -> frozenset[Effect]:
    """What a request does to data, where it says so: a question reads, and its only verbs may write.

    Empty where that is open: a request with verbs of several kinds, or with none.
    """
    if _QUESTION.match(text):
        return frozenset({Effect.READ})
    wanted = wanted_effects(_THING.sub(" ", text))
    return wanted if wanted == {Effect.WRITE} else frozenset()


def opposites(asked: frozenset[str]) -> frozenset[str]:
    """Stems of verbs that do the opposite of what is asked, without those that are asked as well."""
    against = (_OPPOSITE.get(stem, frozenset()) for stem in asked)
    return deeds(frozenset().union(*(stems for stems in against if not stems & asked))) - deeds(asked)


def milder_deeds(text: str) -> frozenset[str]:
    """Stems of verbs with which a request ends something without destroying it."""
    return asked_deeds(text) & _MILDER


def near_deeds(stems: frozenset[str]) -> frozenset[str]:
    """The stems with their true synonyms only."""
    return stems.union(*(group for group in _TRUE_SYNONYMS if group & stems))
