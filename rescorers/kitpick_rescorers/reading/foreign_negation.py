"""What a request rules out in the languages of the glossary, by their words for "not" and "without".

Only an order rules out ("lösch sie nicht"), and an alternative behind what is wanted ("…, keine Tabelle").
A statement ("the server does not start", "nobody uses it any longer") may be all that says what is wanted.
"""

from __future__ import annotations

import re

from kitpick_rescorers.reading.glossary import common_words, gloss
from kitpick_rescorers.reading.negation import LINE_END, MAX_READ, MAX_RULED_OUT, Ruled
from kitpick_rescorers.reading.verbs import ACTIONS, stems_of

_BREAK = re.compile(
    rf"[,;:.!?()]+(?=\s|$|[^\x00-\x7f])\s*|[。、，；！？،؛]+\s*|\s\(|{LINE_END}|\s+(?=(?:aber|und|sondern|mais|et|pero|y|sino|mas|ma|e|però|maar|en|men|och|ale|i|но|а|и"
    r"|ama|ancak|لكن|ولكن)\s)|(?=但是|但|而是|でも|けど|하지만)|(?<!m[ea])\s+(?=ve\s)"
)
"""Splits clauses. Turkish nouns of deeds end as its "do not" does, and are joined by "ve"."""
_LEADING = {
    "de": r"aber|und|sondern|bitte|doch|jedoch|dabei|ja|auch|nur",
    "fr": r"mais|et|surtout|donc|s['’]il (?:te|vous) pla[iî]t|non",
    "es": r"pero|y|sino|por favor|solo|sólo",
    "pt": r"mas|e|por favor|só",
    "it": r"ma|e|però|per favore|solo",
    "nl": r"maar|en|alsjeblieft|graag|dus|wel|ook",
    "sv": r"men|och|snälla|bara",
    "pl": r"ale|i|a|oraz|proszę|tylko|ich|go|jej|ją|je|im|niczego|nic|nikogo|żadn\w+",
    "ru": r"но|и|а|пожалуйста|только|просто|его|её|ее|их|ничего|никого|ничто|никак\w+",
    "ar": r"لكن|ولكن|و|من فضلك|رجاء",
}
"""What may stand before an order."""
_NOT = {
    "de": r"nicht|nichts|keine?[nmrs]?|niemals|nie",
    "fr": r"ne|n['’](?=\w)|pas|jamais|aucune?",
    "es": r"no|nunca|ningun[oa]?|ningún",
    "pt": r"não|nunca|nenhuma?",
    "it": r"non|mai|nessun[oa]?",
    "nl": r"niet|niets|geen|nooit",
    "sv": r"inte|aldrig|ingen|inget|inga",
    "pl": r"nie|nigdy",
    "ru": r"не|никогда",
    "ar": r"لا|ولا|ليس",
}
_DEED_FIRST = frozenset({"de", "nl", "sv"})
"""Languages whose orders have the word for "not" behind the verb."""
_STATES = {
    "es": r"\w+(?:o|é|í|ó|ste|mos)|hay|es|son|está\w*|tien\w+|pued\w+|hace\w*|sirve\w*",
    "pt": r"\w+(?:o|ei|ou|eu|iu|mos)|há|é|são|está\w*|tem|têm|pod\w+|consegu\w+|funciona\w*",
    "it": r"\w+(?:o|[^aei]re|[^r]e|mo)|è|ha|può|va|vanno|c['’]è|funziona\w*",
    "pl": r"\w+(?:ę|am|em|ł|ła|ło|li|ły|my)|ma|jest|są|może|można|działa\w*|wie",
    "ru": r"\w+(?:ю|у|ет|ит|ют|ят|ут|ем|им|л|ла|ло|ли)|есть",
    "ar": r"[^ت]\w*",
}
"""Verbs that state something, and order nothing."""
_CLITICS = re.compile(
    r"\A\s*(?:(?:l[aeo]s?|me|te|se|nos|os|as|a|o|lh[eo]s?|ci|vi|ne|gli|li|mi|ti|si|się)\s+)*", re.IGNORECASE
)
"""Pronouns between "not" and its verb."""
_INFINITIVE = {"de": "n", "nl": "n", "sv": "a"}
_SUBJECT_WORDS = "ich wir er sie es man ihr ik we wij hij zij ze het jag vi han hon det de"
_SUBJECTS = frozenset(_SUBJECT_WORDS.split())
_WANT_WORDS = "will möchte wollen wil willen vill darfst darf dürfen sollst soll sollen mag mogen ska får"
_WANTS = frozenset(_WANT_WORDS.split())
"""Verbs that order something beside a subject: "ich will die Daten nicht löschen"."""
_CAN = frozenset(["kann", "können", "könnte", "konnte", "kan", "kunnen", "kon", "kunna", "kunde"])
"""What says that something does not work."""
_BECAUSE = {
    "de": r"weil|denn|dass|wenn|falls|ob|damit",
    "nl": r"want|omdat|die|dat|als|of|zodat",
    "sv": r"eftersom|som|att|om|därför|när",
}
"""What begins a part of a clause that says something of the rest."""
_NO_LONGER = re.compile(
    r"\b(?:mehr|länger|plus|más|ya|mais|já|più|meer|langer|längre|mer|już|więcej|больше|уже|artık)\b"
    r"|بعد الآن|再|もう"
)
"""What was so, and is not wanted any more: that it end is often what is asked."""
_NOT_ONLY = re.compile(
    r"\bnicht (?:nur|bloß)\b|\b(?:pas|non) (?:seulement|uniquement)\b"
    r"|\bno (?:solo|sólo|solamente|únicamente)\b"
    r"|\bnão (?:só|apenas|somente)\b|\bnon (?:solo|soltanto|solamente)\b|\bniet (?:alleen|enkel|slechts)\b"
    r"|\binte (?:bara|endast|enbart)\b|\bnie tylko\b|\bне (?:только|просто)\b"
    r"|\b(?:sadece|yalnızca)\b.*\bdeğil\b"
    r"|ليس فقط|不要?[仅只光]|だけで(?:は)?なく|だけじゃなく|뿐만? ?아니라",
    re.IGNORECASE,
)
"""What is wanted, and something beside it that follows."""
_ALTERNATIVE = 6
"""Words of a clause that names what is wanted in place of something."""
_WITHOUT = {
    "de": r"ohne(?=.*(?:\bzu\s|zu\w{1,30}en\b|\bdass\b))|statt|anstatt|anstelle",
    "fr": r"sans(?=\s+(?:\S+\s+|l['’])?\S+(?:er|ir|re)\b)|au lieu d[e'’]|plutôt que",
    "es": r"sin(?=\s+\w+[aeií]r(?:l[aeo]s?|se)?\b)|en vez de|en lugar de",
    "pt": r"sem(?=\s+(?:[oa]s?\s+)?\w+(?:[aei]r|[áêí]-l[oa]s?)\b)|em vez de|ao invés de",
    "it": r"senza(?=\s+\w+(?:[aei]re|[aei]r(?:l[aeio]|ne|ci|vi|si))\b)|invece di|anziché",
    "nl": r"zonder(?=.*\bte\s)|in plaats van",
    "sv": r"utan att|istället för|i stället för",
    "pl": r"bez|zamiast",
    "ru": r"без|вместо",
    "ar": r"بدلا من|بدلاً من|بدون|دون|ودون|ولا(?=\s+ت)",
}
_ANYWHERE = {
    "zh": re.compile(
        r"不要|(?<![类分特级性个区鉴判识告差辨])别(?![人的处名称针])|(?<!是)不是|而不|不用|无需"
    ),
    "ja": re.compile(r"(?<!つ)ないで|(?<!必)ずに|ではなく|じゃなく|(?<=る)代わりに"),
    "ko": re.compile(r"지 ?말고|지 ?마|지 ?않고|(?<=[가-힣])(?<![가이]) ?대신"),
}
"""In these languages the words stand beside the deed, before or behind it."""
_NOT_THIS = {
    "zh": re.compile(r"(?<!是)不是|而非"),
    "ja": re.compile(r"(?:では|じゃ)なくて?"),
    "ko": re.compile(r"[이가]? ?아니라|(?<!지) ?말고"),
}
"""What says of a thing that it is not meant."""
_BEFORE_THING = {"ja": re.compile(r".*[をはがに]"), "ko": re.compile(r".*(?:[을를은는이가의]|에서)\s")}
"""What stands before that thing, and is meant."""
_OBJECT = {"ja": re.compile(r"(.+)を(?!.*を)"), "ko": re.compile(r"(.*\w[을를])\s(?!.*[을를]\s)")}
"""What is done to something: it stands once, before both deeds, where the second one has none of its own."""

_MORE = re.compile(r"\A(?!\W*(?:ください|下さい|くれ|ほしい|欲しい|ね|よ))\W*\w{2}")
"""What Japanese wants behind "without doing", known to the glossary or not: more than "please"."""
_CONVERB = re.compile(
    r"(?:(?<!\w)(?P<noun>\w+)\s+)?\b(?P<verb>\w{2,}(?:(?:meden|madan)|(?:mek|mak)\s+yerine))\b(?!\s+önce)",
    re.IGNORECASE,
)
"""What Turkish says for "without doing" and "instead of doing": a verb, perhaps with its noun before it."""
_NOT_BEFORE = re.compile(r"\b\w+m(?:[ıiuü]yor|[ae]z)\w*\W*\Z", re.IGNORECASE)
"""A verb that says that something does not happen without another thing."""
_NEGATED_TURKISH = re.compile(
    r"(?:değil|(?<!\bbir\s)\b\w+(?:me|ma|meyin|mayın|meyiniz|mayınız)\W*\Z)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")


def split_foreign(text: str, language: str) -> Ruled:
    """The request without what it rules out, which comes with its English words; as `split_ruled_out`."""
    if len(text) > MAX_READ or language not in (*_NOT, *_ANYWHERE, "tr"):
        return Ruled(text)
    kept: list[str] = []
    out: list[str] = []
    clauses = _clauses(text)
    for number, clause in enumerate(clauses, start=1):
        more = number < len(clauses) or len(clauses) == 1
        if more and _NOT_ONLY.search(clause):
            kept.append(clause)
            continue
        wanted, ruled = _parted(clause, language, first=not kept and not out)
        kept += [wanted] if wanted.strip() else []
        out += [ruled] if ruled else []
    if not out or not gloss(" ".join(kept), language):
        return Ruled(text)
    words = (f"{part.strip()} ({' '.join(gloss(part, language))})" for part in out)
    return Ruled(" ".join(part.strip() for part in kept), tuple(words)[:MAX_RULED_OUT])


def _clauses(text: str) -> list[str]:
    return [part for part in _BREAK.split(text) if part and part.strip()]


def _parted(clause: str, language: str, *, first: bool) -> tuple[str, str]:
    """What a clause wants and what it rules out; one of them may be empty."""
    if language in _ANYWHERE:
        return _parted_anywhere(clause, language)
    if language == "tr":
        return _parted_turkish(clause)
    without = re.search(rf"(?<!\w)(?:{_WITHOUT[language]})(?!\w).*", clause, re.IGNORECASE | re.DOTALL)
    if without is not None and _has_deed(without.group(), language):
        return clause[: without.start()], without.group()
    return ("", clause) if _rules_out_all(clause, language, first=first) else (clause, "")


def _rules_out_all(clause: str, language: str, *, first: bool) -> bool:
    """Whether a clause is an order not to do something, or an alternative that is not wanted."""
    if _NO_LONGER.search(clause):
        return False
    said = re.sub(rf"\A\W*(?:(?:{_LEADING[language]})\s+)*", "", clause, flags=re.IGNORECASE)
    cue = re.search(rf"(?<!\w)(?:{_NOT[language]})(?:(?<=['’])|(?!\w))", said, re.IGNORECASE)
    if cue is None:
        return False
    if cue.start() > 0:
        return language in _DEED_FIRST and _is_order(said, cue, language)
    rest = _CLITICS.sub("", said[cue.end() :])
    if language in _STATES and re.match(rf"\s*(?:{_STATES[language]})(?!\w)", rest, re.IGNORECASE):
        return False
    ordered = _has_deed(_first_words(rest), language)
    short = len(_WORD.findall(rest)) <= _ALTERNATIVE
    return (ordered or (not first and short)) and bool(gloss(rest, language))


def _first_words(text: str) -> str:
    return " ".join(_WORD.findall(text)[:3])


def _is_order(said: str, cue: re.Match[str], language: str) -> bool:
    """Whether a clause begins with the verb that is not to be done, or ends with it."""
    before, behind = _WORD.findall(said[: cue.start()]), _WORD.findall(said[cue.end() :])
    if len(behind) == 1 and behind[0].endswith(_INFINITIVE[language]) and _has_deed(behind[0], language):
        return _CAN.isdisjoint(before) and (
            before[0].lower() not in _SUBJECTS or not _WANTS.isdisjoint(before)
        )
    if before[0].lower() in common_words()[language]:
        return False
    if re.search(rf"\b(?:{_BECAUSE[language]})\b", said[: cue.start()], re.IGNORECASE):
        return False
    bare = (*before, *behind)
    pairs = (bare[0], *(f"{bare[0]} {each}" for each in (*bare[1:2], *bare[-1:], *behind[:1])))
    return any(_has_deed(each, language) for each in pairs)


def _parted_turkish(clause: str) -> tuple[str, str]:
    converb = _CONVERB.search(clause)
    if converb is not None and not _NOT_BEFORE.search(clause):
        start = _start_of(converb, "tr")
        if start >= 0:
            return f"{clause[:start]}{clause[converb.end() :]}", clause[start : converb.end()]
    ruled = _NEGATED_TURKISH.search(clause) and _has_deed(clause, "tr") and not _NO_LONGER.search(clause)
    return ("", clause) if ruled else (clause, "")


def _start_of(converb: re.Match[str], language: str) -> int:
    """Where a deed begins that is not to be done: with the verb, or with its noun; -1 if it is no deed."""
    if _has_deed(converb["verb"], language):
        return converb.start("verb")
    return converb.start() if converb["noun"] and _has_deed(converb.group(), language) else -1


def _parted_anywhere(clause: str, language: str) -> tuple[str, str]:
    if not _has_deed(clause, language):
        return _without_thing(clause, language)
    cue = _ANYWHERE[language].search(clause)
    if cue is None or _NO_LONGER.search(clause):
        return clause, ""
    before, behind = clause[: cue.start()], clause[cue.end() :]
    if language == "zh":
        return (before, clause[cue.start() :]) if _has_deed(before, language) else ("", clause)
    if not _has_deed(before, language):
        return _without_thing(clause, language)
    wanted = _has_deed(behind, language) or (language == "ja" and _MORE.search(behind) is not None)
    return (_object_of(before, behind, language) + behind, clause[: cue.end()]) if wanted else ("", clause)


def _without_thing(clause: str, language: str) -> tuple[str, str]:
    """A clause that names a thing and says that it is not meant: "バケットではなく", "不是存储桶"."""
    cue = _NOT_THIS[language].search(clause)
    if cue is None:
        return clause, ""
    if language == "zh":
        start, end = cue.start(), len(clause)
    else:
        meant = _BEFORE_THING[language].match(clause[: cue.start()])
        start, end = meant.end() if meant else 0, cue.end()
    ruled = clause[start:end]
    return (clause[:start] + clause[end:], ruled) if gloss(ruled, language) else (clause, "")


def _object_of(before: str, behind: str, language: str) -> str:
    """What the deed that is ruled out would be done to, where the wanted one names nothing of its own."""
    held = _OBJECT[language].search(before)
    own = re.search("[をがに]" if language == "ja" else r"[을를만]\s", behind)
    return f"{held[0]} " if held is not None and own is None else ""


def _has_deed(text: str, language: str) -> bool:
    return any(stem in ACTIONS for word in gloss(text, language) for stem in stems_of(word))
