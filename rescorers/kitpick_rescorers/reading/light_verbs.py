"""Deeds said by a noun or an idiom: "take a snapshot of the disk", "put the order on hold", "let Bob in".

Such a request has a verb that says nothing ("take", "make", "do", "put", "give"), which names of APIs never
mean by it. What it asks for stands in its noun, or in the idiom as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kitpick_rescorers.reading.verbs import ACTIONS, verb_stem

_MOST_WORDS = 14
"""Most words of a request that is read so: in a longer one, the noun is as likely a side remark."""
_LIGHT = (
    r"(?:tak(?:e|ing)|mak(?:e|ing)|do(?:ing)?|creat(?:e|ing)|giv(?:e|ing)|run|start|perform|carry\s+out"
    r"|place|kick\s+off|trigger|schedule|leave|write|issue|file)"
)
_BETWEEN = (
    r"(?:\s+(?!(?:of|for|from|to|on|in|and|or|that|which|with|without|if|so|but|then)\b)[^\s.,;:!?]+){0,5}?"
)
MAY_BE_LIGHT = re.compile(
    rf"\b{_LIGHT}\b|\b(?:put|let|tell|drop|shoot|keep|sign|bring|hook|unhook|plug|unplug|have|having|grant|rais(?:e|ing)|lodg(?:e|ing))\b",
    re.IGNORECASE,
)
"""Verbs without one of which a request has no such deed."""

_NOUNS = """
snapshot: snapshot
copy duplicate clone: copy duplicate clone
backup back-up: backup
restart reboot: restart reboot
reset: reset
export: export
import: import
rotation: rotate
translation: translate
scan: scan
download: download get
failover: failover
refund: refund
booking reservation: book reserve
purchase: purchase buy order
subscription: subscribe
reply: reply
comment: comment
announcement: post publish send announce
fork: fork
merge: merge
commit: commit
deployment: deploy
invite invitation: invite
"""
_IDIOM_LIST = r"""
put(ting)?\b(?:\s+\S+){1,6}?\s+on\s+(?:hold|ice|pause): pause suspend hold disable stop
put\s+(?:a\s+stop|an\s+end)\s+to: stop cancel end terminate abort
(?:giv(?:e|ing)|grant)\b(?:\s+\S+){1,4}?\s+(?:access|permissions?|rights?)(?!\s+keys?)\b: grant share add invite allow authorize attach put
let\b(?:\s+\S+){1,4}?\s+in\b: grant share add invite allow authorize approve
let\s+(?!me\b|us\b)(?:\S+\s+){1,4}?know\b: send post notify message
tell\s+(?!me\b|us\b)(?:(?:my|our|the)\s+)?\w+\s+(?:that|about|i|i'm|i'll|we|we're|we'll|he|she|they)\b: send post notify message
(?:drop|shoot)\s+\S+(?:\s+\S+)?\s+a\s+(?:line|note|message|mail): send post notify message
giv(?:e|ing)\s+(?:\S+\s+){1,3}?(?:a\s+)?(?:heads[- ]?up|shout|nudge): send post notify message
keep(?:ing)?\s+(?:an\s+eye|tabs)\s+on: watch monitor subscribe track follow
(?:take|have|taking|having)\s+a\s+(?:\w+\s+)?look\s+at: get describe read view list show fetch
sign\s+(?:me|us|him|her|them|[A-Z]\w+)\s+up: subscribe register join create add
giv(?:e|ing)\b(?:\s+\S+){1,5}?\s+(?:a\s+new|another|a\s+better|a\s+different)\s+name: rename update modify
mak(?:e|ing)\b(?:\s+\S+){1,4}?\s+a\s+(?:member|part)\s+of: add join invite
(?:hook|plug)\b(?:\s+\S+){1,4}?\s+(?:up|in)\b: attach connect associate
(?:unhook|unplug)\b: detach disconnect disassociate unbind unlink remove
bring(?:ing)?\b(?:\s+\S+){1,8}?\s+back\b: restore recover reopen undelete start
mak(?:e|ing)\s+(?:(?:an?|some|another)\s+)?(?:\w+\s+)?(?:changes?|updates?|edits?)\s+to: update modify change edit put set patch
(?:giv(?:e|ing)|do(?:ing)?)\b(?:\s+\S+){1,5}?\s+(?:another|a)\s+(?:go|spin|try)\b: invoke run test retry execute start
(?:rais|lodg)(?:e|ing)\s+(?:an?|another)\s+(?:\S+\s+){0,3}?(?:pr|mr|po|requests?|tickets?|issues?|bugs?|incidents?|claims?|complaints?|disputes?|objections?|invoices?|cases?|orders?|alerts?)\b: create open file submit add post raise
do(?:ing)?\s+a\s+(?:test|trial|dry)\s+run: invoke run test execute simulate
"""  # noqa: E501
_VERBS = ACTIONS | frozenset(
    map(verb_stem, ("describe", "browse", "lookup", "failover", "invoke", "undelete", "recover"))
)
_MAKING_LIST = "create make take start run add put request place send submit post write save schedule"
_MAKING = frozenset(map(verb_stem, _MAKING_LIST.split()))
"""Verbs of names that make what a noun says: `CreateSnapshot`."""


class Meant(NamedTuple):
    """What a request asks for by a light verb; empty where it has none."""

    deeds: frozenset[str] = frozenset()
    """Stems of verbs that do it."""
    things: frozenset[str] = frozenset()
    """Stems of what the noun says: to create it is to do it."""

    def fits(self, stems: tuple[str, ...]) -> bool:
        """Whether an API does it, by the stems of its name's words."""
        first = next((stem for stem in stems if stem in _VERBS), "")
        if first in self.deeds:
            return True
        return first in _MAKING and not self.things.isdisjoint(stems)


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(verb_stem, words.split()))


def _by_noun(nouns: str, deeds: str) -> tuple[re.Pattern[str], Meant]:
    said = re.compile(rf"\b{_LIGHT}\b{_BETWEEN}\s+(?:{'|'.join(nouns.split())})s?\b", re.IGNORECASE)
    return said, Meant(_stems(deeds), _stems(nouns.replace("-", "")))


@lru_cache(maxsize=1)
def _rules() -> Sequence[tuple[re.Pattern[str], Meant]]:
    """Expressions, and the deeds that they say; compiled where a request may have one."""
    return [
        *(_by_noun(*line.split(":")) for line in _NOUNS.strip().splitlines()),
        *(
            (re.compile(rf"\b(?:{idiom})", re.IGNORECASE), Meant(_stems(deeds)))
            for idiom, deeds in (line.split(": ") for line in _IDIOM_LIST.strip().splitlines())
        ),
    ]


def meant_by_light_verb(text: str) -> Meant:
    """The deed that a request says by a noun or an idiom; of several, all of them."""
    if len(text.split()) > _MOST_WORDS or MAY_BE_LIGHT.search(text) is None:
        return Meant()
    found = [Meant(), *(meant for pattern, meant in _rules() if pattern.search(text))]
    deeds, things = (frozenset().union(*each) for each in zip(*found, strict=True))
    return Meant(deeds, things)
