"""What a request rules out in the languages of the glossary, by their words for "not" and "without".

A clause counts only if the glossary knows a deed in it: "the servers that do not run" describes a thing.
"""

from __future__ import annotations

import re

from kitpick_rescorers.reading.glossary import gloss
from kitpick_rescorers.reading.negation import MAX_READ, MAX_RULED_OUT, Ruled
from kitpick_rescorers.reading.verbs import ACTIONS, stems_of

_BREAK = re.compile(
    r"[,;:.!?()。、，；！？،؛]+\s*|\s+(?=(?:aber|und|sondern|mais|et|pero|y|sino|mas|ma|e|però|maar|en|men|och|ale|i|но|а|и"
    r"|ama|ancak|لكن|ولكن)\s)|(?=但是|但|而是|でも|けど|하지만)|(?<!m[ea])\s+(?=ve\s)"
)
"""Between clauses. Turkish nouns of deeds end as its "do not" does, and are joined by "ve"."""
_NOT = {
    "de": r"nicht|keine?[nmrs]?|niemals|nie",
    "fr": r"ne|n['’]|pas|jamais|aucune?",
    "es": r"no|nunca|ningun[oa]?|ningún",
    "pt": r"não|nunca|nenhuma?",
    "it": r"non|mai|nessun[oa]?",
    "nl": r"niet|geen|nooit",
    "sv": r"inte|aldrig|ingen|inga",
    "pl": r"nie|nigdy",
    "ru": r"не|никогда",
    "tr": r"değil|(?<!\bbir\s)\b\w+(?:me|ma|meyin|mayın|meyiniz|mayınız)\W*\Z",
    "ar": r"لا|دون|بدون|ليس",
}
_WITHOUT = {
    "de": r"ohne|statt|anstatt|anstelle",
    "fr": r"sans|au lieu d[e'’]|plutôt que",
    "es": r"sin|en vez de|en lugar de",
    "pt": r"sem|em vez de|ao invés de",
    "it": r"senza|invece di|anziché",
    "nl": r"zonder|in plaats van",
    "sv": r"utan att|istället för|i stället för",
    "pl": r"bez|zamiast",
    "ru": r"без|вместо",
    "tr": r"yerine",
    "ar": r"بدلا من|بدلاً من|بدون|دون|ودون|ولا",
}
_ANYWHERE = {
    "zh": re.compile(r"不要|别|不是|而不|不用|无需"),
    "ja": re.compile(r"しないで|せずに|ないで|ではなく|じゃなく|代わりに|しない"),
    "ko": re.compile(r"하지 ?말고|하지 ?마|지 ?말고|지 ?않고|대신"),
}
"""In these languages the words stand beside the deed, before or behind it."""


_MORE = re.compile(r"\A(?!\W*(?:ください|下さい|くれ|ほしい|欲しい|ね|よ))\W*\w{2}")
"""What Japanese wants behind "without doing", known to the glossary or not: more than "please"."""
_CONVERB = re.compile(
    r"(?:(?<!\w)(?P<noun>\w+)\s+)?\b(?P<verb>\w{2,}(?:meden|madan))\b(?!\s+önce)", re.IGNORECASE
)
"""What Turkish says for "without doing": one word, or the verb behind its noun ("iptal etmeden")."""


def split_foreign(text: str, language: str) -> Ruled:
    """The request without what it rules out, which comes with its English words; as `split_ruled_out`."""
    if len(text) > MAX_READ or language not in (*_NOT, *_ANYWHERE):
        return Ruled(text)
    kept: list[str] = []
    out: list[str] = []
    for clause in _clauses(text):
        wanted, ruled = _parted(clause, language)
        kept += [wanted] if wanted.strip() else []
        out += [ruled] if ruled else []
    if not out or not kept:
        return Ruled(text)
    words = (f"{part.strip()} ({' '.join(gloss(part, language))})" for part in out)
    return Ruled(" ".join(part.strip() for part in kept), tuple(words)[:MAX_RULED_OUT])


def _clauses(text: str) -> list[str]:
    return [part for part in _BREAK.split(text) if part and part.strip()]


def _parted(clause: str, language: str) -> tuple[str, str]:
    """What a clause wants and what it rules out; one of them may be empty."""
    if language in _ANYWHERE:
        return _parted_anywhere(clause, language)
    if language == "tr" and (converb := _CONVERB.search(clause)) is not None:
        start = _start_of(converb, language)
        if start >= 0:
            return f"{clause[:start]}{clause[converb.end() :]}", clause[start : converb.end()]
    without = re.search(rf"(?<!\w)(?:{_WITHOUT[language]})(?!\w).*", clause, re.IGNORECASE | re.DOTALL)
    if without is not None and _has_deed(without.group(), language):
        return clause[: without.start()], without.group()
    if re.search(rf"(?<!\w)(?:{_NOT[language]})(?!\w)", clause, re.IGNORECASE) and _has_deed(
        clause, language
    ):
        return "", clause
    return clause, ""


def _start_of(converb: re.Match[str], language: str) -> int:
    """Where a deed begins that is not to be done: with the verb, or with its noun; -1 if it is no deed."""
    if _has_deed(converb["verb"], language):
        return converb.start("verb")
    return converb.start() if converb["noun"] and _has_deed(converb.group(), language) else -1


def _parted_anywhere(clause: str, language: str) -> tuple[str, str]:
    cue = _ANYWHERE[language].search(clause)
    if cue is None or not _has_deed(clause, language):
        return clause, ""
    before, behind = clause[: cue.start()], clause[cue.end() :]
    if language == "zh":
        return (before, clause[cue.start() :]) if _has_deed(before, language) else ("", clause)
    wanted = _has_deed(behind, language) or (language == "ja" and _MORE.search(behind) is not None)
    return (behind, clause[: cue.end()]) if wanted else ("", clause)


def _has_deed(text: str, language: str) -> bool:
    return any(stem in ACTIONS for word in gloss(text, language) for stem in stems_of(word))
