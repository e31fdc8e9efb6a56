"""The language of a request, told by its script, its commonest words and letters; no library, no model."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from kitpick_rescorers.reading.short_texts import language_of_few

ENGLISH = "en"
_MAX_READ = 1_000
_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ar", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
"""Scripts that tell a language. Kana come before Han, which Japanese uses as well."""
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")

_COMMON = """
en: the of and to for in is my me a with what which how show get list from this that on it please can
    all are i no by or as at be do if but not
de: der die das und ist ein eine einen mit für von zu den dem im ich wie bitte mir nicht auf alle welche
    meine mein zeig was kannst du an aus bei nach noch vom zum zur hat haben sind lösche erstelle
    storniere wir uns aber ohne sie ihn es statt als
fr: le la les des du un une et est pour dans avec sur je mon ma mes quel quels quelle quelles moi ce
    cette au aux peux tu sont par pas qui que en il comment nous notre l d ne sans mais ou n y
es: el la los las de del un una y es para en con por mi mis que qué cuál cuáles cómo quiero al se está
    son puedes todos me lo como necesito nuestro no sin pero le a o
pt: o os as um uma e é para em com por meu minha meus que qual quais como quero ao do da dos das no na
    nos está são podes pode todos preciso nosso não a sem mas se lhe ou
it: il lo la gli le di del della dei un una e è per in con su mio mia miei che quale quali come voglio
    al alla sono puoi tutti mi nel nella ho questo non ma i se li ogni dal sul alle
nl: de het een en is van voor in met op mijn ik hoe wat welke kun je alle dat die niet naar aan bij zijn
    wij ons graag hoi of mij onze dit deze zonder ze te er geen maar mag wil
sv: och är en ett för med på av att jag min mina hur vad vilka alla som till den det kan du inte i om
    från vill mig vår vi de utan men eller
pl: i w na do z ze jest są dla mój moje moja jak co który które wszystkie się nie proszę mi to czy po od
    chcę pokaż możesz o nasz bez ale albo oraz
tr: ve bir bu için ile benim nasıl ne hangi tüm bana lütfen mi mı mu olan var da de en son kadar bizim
    şu değil ama veya her
"""
_WORDS: dict[str, frozenset[str]] = {
    language.strip(): frozenset(words.split())
    for language, words in re.findall(r"^(\w\w):((?:.*\n    )*.*)$", _COMMON, re.MULTILINE)
}
_MARKS = "de:äöüß fr:çèêëîïôœùûàâ es:ñ¿¡ pt:ãõ it:ìò sv:åäö pl:ąćęłńśźż tr:ğışİ"
_LETTERS = dict(pair.split(":") for pair in _MARKS.split())
_NAMES = """
ar:Arabic de:German el:Greek en:English es:Spanish fr:French he:Hebrew hi:Hindi it:Italian ja:Japanese
ko:Korean nl:Dutch pl:Polish pt:Portuguese ru:Russian sv:Swedish th:Thai tr:Turkish zh:Chinese
"""
NAMES = dict(pair.split(":") for pair in _NAMES.split())
"""Languages that are told, by their codes of ISO 639-1."""


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """The code of a text's language; "en" where nothing says that it is another.

    Another script tells it from a third of the letters on. In Latin script at least two common words, or one
    and a letter that English lacks, must speak for the other language, and more than for English; of a short
    text without any common word, words of the glossary.
    """
    read = unicodedata.normalize("NFC", text[:_MAX_READ])
    if read.isascii() and not _WORD.search(read):
        return "en"
    letters = len(_LETTER.findall(read))
    for language, script in _SCRIPTS:
        if (count := len(script.findall(read))) and 3 * count >= letters:
            return language
    return _latin(read)


def _latin(text: str) -> str:
    words = [word.lower() for word in _WORD.findall(text)]
    lower = text.lower()
    plain = lower.isascii()  # a single letter is no word where no other speaks for the language
    long = {word for word in words if len(word) > 1 or not plain}
    counts = {language: sum(word in common for word in long) for language, common in _WORDS.items()}
    english = counts.pop("en")
    marks = {language: sum(mark in lower for mark in found) for language, found in _LETTERS.items()}
    worth = {language: count + min(2, marks.get(language, 0)) for language, count in counts.items()}
    best = max(worth, key=lambda language: worth[language])
    if worth[best] >= 2 and counts[best] >= 1 and worth[best] > english:
        return best
    few: str = "" if english else language_of_few(text)
    return few or ENGLISH
