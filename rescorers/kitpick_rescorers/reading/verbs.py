"""Verbs of requests and names: stems, what they do to data, and in what words people ask to end something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from kitpick_engines.document import Effect
from kitpick_engines.text import split_identifier
from kitpick_rescorers.features import effect_of_name

_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))
_LEAST_STEM = 3

_ACTIONS = """
arm disarm
abort generate reveal silence untag
accept activate add allow answer append apply approve archive assign attach authorize backup ban batch
begin block book buy call cancel change charge check clear clone close commit compare confirm connect
copy count create cut deactivate decline decrypt delete deny deploy destroy detach disable disconnect
discard dismiss download draft drop duplicate edit email empty enable encrypt end erase execute expire
export extend fetch finalize find fix follow force freeze get give grant halt hibernate hide import
increase insert install invite invoice issue join kick kill launch leave like link list load lock log
look lower mail make mark merge message migrate modify monitor move mute open order overwrite pause pay
permit pin post preview print provision publish pull purge push put query raise read reboot rebuild
refresh refund register reject release remove rename renew reopen repeat replace reply report request
reset resize resolve restart restore resume retrieve retry return revert review revoke rollback rotate
run save scale scan schedule search send set share show shut sign simulate skip snapshot split start
stop store submit subscribe suspend swap switch sync tag take terminate test toggle track transfer
translate trash trigger turn unassign unban unblock unfollow uninstall unlink unlock unmute unpin
unpublish unregister unshare unstar unsubscribe update upgrade upload use validate verify view void
watch wipe withdraw write
associate disassociate dissociate bind tie untie unbind
"""
_ENDING = """
abandon abolish abort axe ban bin cancel chuck clear close deactivate decommission delete deprovision disarm
deregister destroy detach disable disconnect discard dismiss dispose drop empty end erase evict expire
expunge fire flush halt kick kill nuke obliterate purge quit release remove retire revoke rid scrap
scratch scrub shut shutdown stop strip terminate throw toss trash trim unassign unbind undo unfollow
uninstall unlink unmap unpublish unregister unschedule unset unshare unsubscribe untag untie void wipe
withdraw
"""
"""Words with which people ask that something end; a request with one of them may want what destroys."""
_ENDING_PHRASES = re.compile(
    r"\b(?:(?:tak|pull|turn|switch|throw|kick|cross|strik|tick|cut|strip|call|put|pluck|mov|wip|hand|giv)(?:e|ing|s)?\b"
    r"(?:\s+\S+){0,5}?\s+(?:off|down|away|out|back)|get rid|do away|clean(?:ing)? (?:up|out)"
    r"|tear(?:ing)? down|tak(?:e|ing) (?:down|off|away|out|back)"
    r"|turn(?:ing)? off|switch(?:ing)? off|opt(?:ing)? out|log(?:ging)? out|sign(?:ing)? out|kick(?:ing)? out"
    r"|call(?:ing)? off|back(?:ing)? out|pull(?:ing)? the plug|no longer|not need(?:ed)?"
    r"|don'?t need|should go"
    r"|gone|for good|away with|goodbye|leav(?:e|ing)\s+(?:the|an?|this|that|it|my|our)|rid of|forget"
    r"|wind(?:ing)? down|phase(?:d)? out"
    r"|put down|cut off|pull(?:ing)? out)\b",
    re.IGNORECASE,
)
_NAMES_OF_END = re.compile(
    r"^(?:delete|remove|destroy|terminate|drop|purge|erase|wipe|revoke|deregister|unregister|trash|cancel|void)$"
)
_WHETHER = re.compile(
    r"\b(?:whether|if|who|what|which)\b(?!\s+you\b)[^,.;:!?]{0,200}?"
    r"\b(?:can|could|may|might|would|able\s+to|allowed\s+to)\s+[a-z]+",
    re.IGNORECASE,
)
"""A deed that somebody may do, and that is not asked for: "check whether Eve could delete it"."""


_THING = re.compile(r"\b(?:the|a|an)\s+[a-z]+", re.IGNORECASE)
"""A word that no verb is: "before the release"."""


@lru_cache(maxsize=4_096)
def verb_stem(word: str) -> str:
    """The stem of an English verb: `stopping`, `stopped` and `stops` are `stop`."""
    lower = word.lower()
    for ending, instead in _ENDINGS:
        if lower.endswith(ending) and len(lower) - len(ending) >= _LEAST_STEM:
            stem = lower[: -len(ending)] + instead
            return stem[:-1] if len(stem) > _LEAST_STEM and stem[-1] == stem[-2] else stem
    return lower[:-1] if len(lower) > _LEAST_STEM and lower[-1] == lower[-2] else lower


ACTIONS = frozenset(map(verb_stem, _ACTIONS.split())) | frozenset(map(verb_stem, _ENDING.split()))
"""Stems of verbs that ask for something."""
ACTION_WORDS = frozenset(word for word in (_ACTIONS + _ENDING).split() if len(word) > _LEAST_STEM)
"""The same verbs, as they are written."""
ENDING = frozenset(map(verb_stem, _ENDING.split()))
"""Stems of verbs that end something."""
_SAME = (
    "delete remove erase destroy drop trash purge wipe terminate kill",
    "disable deactivate disarm",
    "enable activate arm",
    "send post mail email",
    "stop halt",
    "cancel void abort end",
    "undo revert",
    "get read fetch retrieve view",
    "attach associate bind tie",
    "detach disassociate dissociate unbind untie",
)
SAME = tuple(frozenset(map(verb_stem, group.split())) for group in _SAME)
"""Verbs that mean one deed, where one of them is ruled out."""


def stems_of(text: str) -> tuple[str, ...]:
    """Stems of the words of a text, in their order."""
    return tuple(map(verb_stem, _WORD.findall(text)))


SWITCHES = frozenset({"turn", "switch", "power"})
"""Stems of verbs that say nothing without "on" or "off"."""
_SWITCHED = {"on": "enabl", "off": "disabl"}


def deed_of_name(words: Sequence[str]) -> str:
    """Stem of the verb that a name's words do; to turn something off is to disable it. Empty for none.

    The words are stems, in their order.
    """
    place = next((n for n, stem in enumerate(words) if stem in ACTIONS), len(words))
    verb = words[place] if place < len(words) else ""
    particle = next((_SWITCHED[word] for word in words[place + 1 :] if word in _SWITCHED), "")
    return particle if verb in SWITCHES and particle else verb


def deeds(stems: frozenset[str]) -> frozenset[str]:
    """The stems with those that mean the same deed."""
    return stems.union(*(group for group in SAME if group & stems))


def asks_to_end(text: str) -> bool:
    """Whether a request may want something ended: by a verb, or by a phrase such as "get rid of"."""
    asked = _WHETHER.sub(" ", text)
    return (
        not ENDING.isdisjoint(stems_of(_THING.sub(" ", asked))) or _ENDING_PHRASES.search(asked) is not None
    )


def destroys(api: str, effect: Effect) -> bool:
    """Whether calling an API ends something for good, by what it says of itself and by its name."""
    words = split_identifier(api.rpartition(".")[2] or api).split()
    if any(_NAMES_OF_END.match(word.lower()) for word in words[:3]):
        return True
    return effect is Effect.DESTRUCTIVE and effect_of_name(api) in (Effect.DESTRUCTIVE, Effect.UNKNOWN)
