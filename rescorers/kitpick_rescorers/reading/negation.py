"""What a request rules out: "stop the servers, but do not terminate them" wants them stopped.

What is ruled out is cut from what is searched and scored. A thing that only it names stays: "don't delete the
channel, archive it" is searched as "the channel, archive it". Only deeds and alternatives are ruled out; what
describes a thing ("servers that are not running", "users without a role") is a part of what is wanted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kitpick_engines.lexical import STOP_WORDS
from kitpick_rescorers.reading.verbs import ACTIONS, verb_stem

MAX_READ = 2_000
"""Characters of a request in which a negation is looked for: nobody rules out more in words."""
MAX_RULED_OUT = 6

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
LINE_END = r"(?<!n['’]t)(?<!\bnot)(?<!\bnever)(?<!\bno)(?<!\bwithout)(?<!\bto)\s*\n\s*"
"""Between lines: as good as a full stop, unless the first one ends within "do not …"."""
_BREAK = re.compile(
    rf"{LINE_END}|\s[(\[]|[,;:.!?()\[\]]+(?=\s|$)|\s[–—-]+\s"
    r"|(?<!\bnot )(?=\b(?:but|and then|and|then|just|only|so that|because)\b)",
    re.I,
)
_LEADING = re.compile(
    r"^\s*(?:(?:please|but|and|just|so|also|then|only|yet|ok|okay|oh|now|whatever you do|be careful"
    r"|make sure you|make sure to|make sure|careful|remember|(?:can|could|would|will) you please)\s+)*",
    re.I,
)
_DO_NOT = re.compile(
    r"(?:(?:i|we)\s+(?:[a-z]+ly\s+|also\s+)?(?:do\s*not|don['’]?t|would\s*n['’]?t|never)\s+(?:want|wish|need|like)\s+(?:to|you\s+to|it|them|this|that|anything)?\s*"
    r"(?:to\s+)?(?:be\s+)?"
    r"|(?:you\s+)?(?:do\s*not|don['’]?t|dont)\s+(?:(?:have|need)\s+to|you\s+dare(?:\s+to)?)\s+"
    r"|(?:you\s+)?(?:do\s*not|don['’]?t|dont|never|must\s+not|mustn['’]?t|should\s+not|shouldn['’]?t|may\s+not|must\s+never|need\s+not|needn['’]?t)\s+"
    r"|(?:there(?:['’]s|\s+is)\s+)?no\s+need\s+to\s+|under\s+no\s+circumstances\s+(?:(?:should|may)\s+you\s+)?)"
    r"(?!\s*(?:just|only|merely|simply)\b)"
    r"(?:ever|actually|yet|accidentally|really|go\s+and|fully|permanently|completely)?\s*(?P<verb>[a-z]+)",
    re.I,
)
_NOT = re.compile(
    r"(?:not|no|nor)\s+(?!(?:only|just|sure|yet|working|later|until|before|more|less|necessarily|matter|longer|problem|idea"
    r"|worries|thanks|rush|hurry|need|one|a\s+problem|urgent|long|many|much|all|every|that\s+it|because|able|available"
    r"|possible|enough|even|so)\b)(?:to\s+)?(?P<rest>\S.*)",
    re.I | re.S,
)
_PARTICLES = frozenset({"off", "on", "up", "down", "in", "out"})
_NOT_ONLY = re.compile(r"not\s+(?:just|only|merely|simply)\s+(?P<rest>\S.*)", re.IGNORECASE | re.DOTALL)
_NOTHING = re.compile(
    r"(?:[a-z]+\s+(?:nothing|none|nobody|no\s+one)\b|never\s+mind\s+[a-z]+ing\b)", re.IGNORECASE
)
_DEED_TO_NONE = re.compile(
    r"(?P<verb>[a-z]+)\s+no\s+(?!more\b|longer\b|one\b|less\b|later\b)\w", re.IGNORECASE
)
"""A deed that is done to nothing: "change no record"."""
_STATES_LIST = """
know think care mind worry understand forget need see remember have want like believe hesitate wait bother
panic exist work seem get find feel expect recall trust agree let hear mean own hold speak belong appear look
matter make we you they i he she it the there people his her my our
"""
_STATES = frozenset(_STATES_LIST.split())
"""Verbs behind "don't" that rule nothing out: "don't forget the attachment"."""
_WITHOUT = re.compile(
    r"\b(?:without|w/o|avoid(?:ing)?|refrain(?:ing)?\s+from|and\s+not)\s+(?:ever\s+|actually\s+|accidentally\s+)?"
    r"(?:having\s+to\s+)?(?P<verb>(?<=having\sto\s)[a-z]+|[a-z]+ing)\b",
    re.I,
)
_INSTEAD = re.compile(
    r"\b(?:instead\s+of|rather\s+than|as\s+opposed\s+to|in\s+lieu\s+of)\s+(?P<verb>[a-z']+)", re.I
)
_UNWANTED = re.compile(
    r"(?P<verb>[a-z]+ing)\b[^,;.!?]*\b(?:is|are|was)(?:(?:\s+not|n['’]t)\s+"
    r"(?:wanted|needed|necessary|required|desired|allowed|ok(?:ay)?|an\s+option|the\s+idea)"
    r"|\s+(?:forbidden|prohibited|off\s+limits))\W*\Z",
    re.IGNORECASE,
)
"""A deed that is said not to be wanted: "terminating them is not wanted"."""
_MUST_NOT_BE = re.compile(
    r"(?:it|they|this|that|these|those|(?:the|its|my|our|their)\s+[a-z]+)\s+"
    r"(?:(?:must|should|may|shall)(?:\s+(?:not|never)|n['’]t)|(?:is|are)\s+(?:not|never)\s+to)\s+"
    r"(?:ever\s+)?(?:be|get)\s+(?:[a-z]+ly\s+)?(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
"""A deed that must not be done to a thing: "it must not be terminated"."""
_ASKS_INSTEAD = re.compile(r"\s*(?:what|which|who)(?:['’]s)?\b", re.IGNORECASE)
"""How a clause begins that asks what may stand in place of a thing: "what can I use instead of butter"."""
_POINTS_BACK = re.compile(r"[^,;.!?]*\b(?:it|them)\b", re.IGNORECASE)
"""A first clause that speaks of a thing which stands before it."""
_KEEP = re.compile(
    r"(?:(?:keep|keeping|preserve|retain)\s+(?P<kept>it|them|(?:the|its|my|our|their|that|those|this|these)\s+[a-z]+)"
    r"|(?:leave|leaving)\s+(?P<left>it|them|(?:the|its|my|our|their|that|those|this|these)\s+[a-z]+)"
    r"\s+(?:alone|in\s+place|intact|untouched|as\s+(?:it|they)\s+(?:is|are)|as\s+is|there))"
    r"(?:\s+(?:itself|alone|in\s+place|intact|untouched|as\s+(?:it|they)\s+(?:is|are)|as\s+is|there|please))?\W*",
    re.IGNORECASE,
)
"""What is to stay, and so is not to be deleted: "empty the queue, but keep it"."""
_KEPT = "delete {}"
_PRONOUN_LIST = """
it them this that these those him her one ones any anything everything something nothing none all both either
me us you they he she there here now yet still again please too instead permanently forever completely fully
"""
_PRONOUNS = frozenset(_PRONOUN_LIST.split())


class Ruled(NamedTuple):
    """A request without what it rules out, and that."""

    wanted: str
    out: tuple[str, ...] = ()


def split_ruled_out(text: str) -> Ruled:
    """The request without what it rules out; as it is where it rules out nothing, or nothing else is left.

    Of a text longer than `MAX_READ` nothing is cut.
    """
    if len(text) > MAX_READ:
        return Ruled(text)
    spans = _spans(text)
    if not spans:
        return Ruled(text)
    out = tuple(_said(text[start:end]) for start, end in spans)[:MAX_RULED_OUT]
    wanted = _without(text, spans)
    if not _says_something(wanted) or _points_into(wanted, spans):
        wanted = _with_things(text, spans)
    return Ruled(wanted, out) if _says_something(wanted) or _has_verb(wanted) else Ruled(text)


def _points_into(wanted: str, spans: list[tuple[int, int]]) -> bool:
    """Whether what is wanted is done to a thing that only the ruled out beginning names."""
    return spans[0][0] == 0 and _POINTS_BACK.match(wanted) is not None


def _said(part: str) -> str:
    """What a part of the text rules out: its words, or that what is to stay be deleted."""
    kept = _kept(part)
    return _KEPT.format(kept) if kept else part.strip(" ,;.")


def _kept(clause: str) -> str:
    """What a clause says is to stay; empty for none."""
    lead = _LEADING.match(clause)
    found = _KEEP.fullmatch(clause[lead.end() :] if lead else clause)
    return (found["kept"] or found["left"]) if found else ""


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the text rules something out: begin and end of each part, in order, apart from each other."""
    found: list[tuple[int, int]] = []
    for start, end in _clauses(text):
        clause = text[start:end]
        lead = _LEADING.match(clause)
        begin = start + (lead.end() if lead else 0)
        if _rules_out_all(text[begin:end], first=not text[:begin].strip(), rest=text[end:]):
            found.append((start, end))
            continue
        cue = _first(_WITHOUT.search(clause), _INSTEAD.search(clause))
        if cue is not None and not _asks_instead(clause, cue):
            found.append((start + cue.start(), end))
    return found


def _rules_out_all(clause: str, first: bool, rest: str) -> bool:
    """Whether a clause says nothing but what is not wanted."""
    none = _DEED_TO_NONE.match(clause) or _UNWANTED.match(clause) or _MUST_NOT_BE.match(clause)
    if _kept(clause) or _NOTHING.match(clause) or (none and verb_stem(none["verb"]) in ACTIONS):
        return not first
    said = _DO_NOT.match(clause)
    if said is not None:
        told = clause[:1].lower() not in "iw"  # "don't …", and not "I don't want to …"
        return said["verb"].lower() not in _STATES if told else verb_stem(said["verb"]) in ACTIONS
    more = _NOT_ONLY.match(clause)
    if more is not None and not first and not re.search(r"\bbut\b", rest, re.IGNORECASE):
        return any(word.lower() not in STOP_WORDS for word in _WORD.findall(more["rest"]))
    other = _NOT.match(clause)
    if other is None or (first and not rest.strip(" .!?")):
        return False  # a request that is only "no …" rules out everything it says
    if other["rest"].strip(" .!?").lower() in _PARTICLES:
        return not first  # "switch it on, not off"
    words = [word for word in _WORD.findall(other["rest"]) if word.lower() not in STOP_WORDS]
    return bool(words) and len(words) <= 8


def _first(one: re.Match[str] | None, other: re.Match[str] | None) -> re.Match[str] | None:
    if one is not None and verb_stem(one["verb"]) not in ACTIONS:
        one = None
    both = [match for match in (one, other) if match is not None]
    return min(both, key=lambda match: match.start(), default=None)


def _asks_instead(clause: str, cue: re.Match[str]) -> bool:
    """Whether a question is about what may stand in place of a thing."""
    return _ASKS_INSTEAD.match(clause) is not None and not _has_verb(clause[cue.start() :])


def _clauses(text: str) -> list[tuple[int, int]]:
    """Begin and end of the clauses of a text; a conjunction belongs to the clause that it opens."""
    cuts = [0]
    ends = []
    for gap in _BREAK.finditer(text):
        if gap.end() > cuts[-1] and text[cuts[-1] : gap.start()].strip():
            ends.append(gap.start())
            cuts.append(gap.end())
    ends.append(len(text))
    return [(start, end) for start, end in zip(cuts, ends, strict=True) if start < end]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    kept, last = [], 0
    for start, end in spans:
        kept.append(text[last:start].rstrip(" ,;(-–—"))
        last = end
    kept.append(text[last:])
    joined = " ".join(part.strip() for part in kept if part.strip(" ,;.!?)("))
    return re.sub(r"\s+(?:but|and|or|then)$", "", joined.strip(" ,;(")).strip()


def _with_things(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with the things of what it rules out, and without the deeds."""
    things = []
    for start, end in spans:
        words = _WORD.findall(text[start:end])
        first = next((n for n, word in enumerate(words) if verb_stem(word) in ACTIONS), None)
        if first is not None:
            things += [word for word in words[first + 1 :] if word.lower() not in _PRONOUNS]
    return " ".join((_without(text, spans), *things)).strip()


def _says_something(text: str) -> bool:
    """Whether a thing is named: a word that is no verb, no pronoun and no stop word."""
    return any(
        word.lower() not in STOP_WORDS and word.lower() not in _PRONOUNS and verb_stem(word) not in ACTIONS
        for word in _WORD.findall(text)
    )


def _has_verb(text: str) -> bool:
    return any(verb_stem(word) in ACTIONS for word in _WORD.findall(text))
