"""Recognises the language of a request by script, commonest words and letters: no library, no model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kitpick_rescorers.reading.glossary import common_words, word_rows
from kitpick_rescorers.reading.scripts import UNKNOWN, language_by_script
from kitpick_rescorers.reading.short_texts import language_of_few, likeliest

ENGLISH = "en"
_MAX_READ = 1_000
_QUOTED = re.compile(
    r"(?<!\w)(?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»)"
)
_IDENTIFIER = re.compile(r"[\d@_/=]|\w\.\w")
"""What a word does not have."""
_TURKISH_ENDING = re.compile(r"'(?:y?[ıiuü]|n?[ıiuü]n|[dt][ae]n?|[yn]?[ae]|s[ıiuü])\b(?!')")
_WORD = re.compile(r"[^\W\d_]+")

_BEFORE_SENTENCES = frozenset(".!?:;\n\"'“”„«»()-–—*•…¿¡|")
_POLITE = frozenset(["Sie", "Ihnen", "Ihr", "Ihre", "Ihren", "Ihrem", "Ihrer", "Ihres"])

_DEEDS = """
de:zeig lösche erstelle storniere nimm hol mach setz lege prüfe trag schick liste suche
fr:supprime affiche donne montre crée ajoute annule envoie trouve liste enlève vérifie sors mets vire
es:muestra borra crea cancela añade envía busca quita manda haz pon elimina dime restaura muestre elimine
pt:mostra serviço apaga cria cancela adiciona envia procura manda faz põe tira liste mostre crie exclua
it:mostra cancella crea annulla aggiungi invia trova togli manda elenca prendi interrompi
nl:toon verwijder maak annuleer voeg stuur zoek haal laat zet geef bekijk gooi
sv:visa radera skapa avbryt lägg skicka hitta ta ge hämta lista stäng skriv sök kolla
pl:pokaż usuń utwórz anuluj dodaj wyślij znajdź daj wypisz odczytaj zapisz opisz zrób powiedz otwórz
tr:göster sil oluştur ekle gönder bul getir listele kaldır aç kapat yap söyle oku yaz al
"""
"""How requests begin: they tell a language as function words do."""
_WORDS = {
    "en": common_words()["en"],
    **{
        language: common_words()[language] | frozenset(words.split())
        for language, words in re.findall(r"^(\w\w):(.*)$", _DEEDS, re.MULTILINE)
    },
}


class Unread(NamedTuple):
    """What tells a language in Latin script that no glossary reads, so that answers can name it."""

    name: str
    marks: str
    """Letters that none of the other languages has."""
    letters: frozenset[str]
    """All its letters beyond those of English."""
    words: frozenset[str]
    """Function words."""
    deeds: frozenset[str]
    """Words with which requests begin, none of them English: one of them is enough."""


def unread_languages() -> Mapping[str, Unread]:
    """Languages by their codes of ISO 639-1 (`unread.txt`); those that are much alike have one entry."""
    return {
        code: Unread(name, marks, frozenset(letters), frozenset(words.split()), frozenset(deeds.split()))
        for code, name, marks, letters, words, deeds in word_rows("unread.txt")
    }


_UNREAD = unread_languages()
_FUNCTION_WORDS = _WORDS | {
    language: (each.words | each.deeds) - _WORDS["en"] for language, each in _UNREAD.items()
}
"""Common words of each language in Latin script, and how requests begin in it."""
_MARKS = "de:äöüß fr:çèêëîïôœùûàâ es:ñ¿¡ pt:ãõ it:ìò sv:åäö pl:ąćęłńśźż tr:ğışİ"
_LETTERS = dict(pair.split(":") for pair in _MARKS.split()) | {
    language: each.marks for language, each in _UNREAD.items()
}
_ALPHABETS = """
de:äöüß fr:àâæçéèêëîïôœùûüÿ es:áéíñóúü pt:ãáàâçéêíóôõúü it:àèéìíîòóùú nl:áéèëêïíóöôüú sv:åäöéàü pl:ąćęłńóśźż
tr:çğıöşüâîû
"""
_ALPHABET = {
    language: frozenset(letters) for language, letters in (each.split(":") for each in _ALPHABETS.split())
} | {language: each.letters for language, each in _UNREAD.items()}
"""Letters beyond those of English that a language writes: a word with another one is not of it."""
_NAMES = """
am:Amharic ar:Arabic be:Belarusian bg:Bulgarian bn:Bengali bo:Tibetan de:German el:Greek en:English es:Spanish
fa:Persian fr:French gu:Gujarati he:Hebrew hi:Hindi hy:Armenian it:Italian ja:Japanese ka:Georgian kk:Kazakh
km:Khmer kn:Kannada ko:Korean lo:Lao mk:Macedonian ml:Malayalam mn:Mongolian mr:Marathi my:Burmese ne:Nepali
nl:Dutch or:Odia pa:Punjabi pl:Polish pt:Portuguese ru:Russian si:Sinhala sr:Serbian sv:Swedish ta:Tamil
te:Telugu th:Thai tr:Turkish uk:Ukrainian ur:Urdu zh:Chinese
"""
NAMES = (
    dict(pair.split(":") for pair in _NAMES.split())
    | {language: each.name for language, each in _UNREAD.items()}
    | {UNKNOWN: "a language that is not known"}
)
"""Languages that are recognised, by their codes of ISO 639-1."""


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
    return _by_script(read) or _by_script(unquoted(read)) or _latin(read)


def _by_script(text: str) -> str:
    return "" if text.isascii() else language_by_script(text, _WORDS["en"] & _said_words(text))


def _latin(text: str) -> str:
    said = unquoted(text)
    words = _said_words(said)
    counts = {language: len(words & common) for language, common in _FUNCTION_WORDS.items()}
    english = counts.pop("en")
    worth = {language: count + _beside(words, said, language) for language, count in counts.items()}
    most = max(worth.values())
    if most >= 2 and most > english:
        return _best(said, [language for language, each in worth.items() if each == most])
    shared = words & _WORDS["en"]
    sharing = {each for each, common in _WORDS.items() if each != "en" and shared <= common}
    few = (
        language_of_few(said, {each: worth[each] for each in sharing}, 2 if english else 1) if sharing else ""
    )
    return few if few in sharing and not _strange(said, few) else ENGLISH


def _best(said: str, languages: Sequence[str]) -> str:
    """Of languages for which equally much speaks, one that is read, if it is one."""
    read = [language for language in languages if language not in _UNREAD]
    return likeliest(said, read) if read else languages[0]


def _beside(words: set[str], said: str, language: str) -> int:
    """What speaks for a language beside its words: its letters, and less what it does not write."""
    speaks = _marked(said, language) - _strange(said, language)
    own = _UNREAD.get(language)
    if own is None:
        return speaks
    foreign = () if said.isascii() else [word for word in words if not word.isascii()]
    fitting = any(own.letters.issuperset(_beyond(word)) for word in foreign)
    return speaks + (not own.deeds.isdisjoint(words)) + (fitting and not words.isdisjoint(own.words))


def _strange(said: str, language: str) -> int:
    """Words with letters that this language does not write, two at most."""
    words = () if said.isascii() else {word for word in _WORD.findall(said) if word[0].islower()}
    return min(2, sum(not _ALPHABET[language].issuperset(_beyond(word)) for word in words))


def _beyond(word: str) -> set[str]:
    """Its letters beyond those of English."""
    return {letter for letter in word if not letter.isascii()}


def _said_words(said: str) -> set[str]:
    """Its words; a single letter is none where no other letter speaks for another language.

    Nor is what is written as a name within a sentence, "the Met", where the sentence has small words.
    """
    found = list(_WORD.finditer(said))
    has_small = any(match[0].islower() for match in found)
    words = {
        match[0].lower()
        for match in found
        if (not match[0].isupper() or said.isupper()) and not (has_small and _is_name(match, said))
    }
    return {word for word in words if len(word) > 1} if said.isascii() else words


def _is_name(match: re.Match[str], said: str) -> bool:
    """Whether a word has a capital, and neither begins a sentence nor is a polite German "Sie"."""
    word, before = match[0], said[: match.start()].rstrip()
    return word[0].isupper() and bool(before) and before[-1] not in _BEFORE_SENTENCES and word not in _POLITE


def _marked(said: str, language: str) -> int:
    """Words with letters of this language alone, two at most; names may have them in any language."""
    marks = [mark for mark in _LETTERS.get(language, "") if mark in said]
    found = _WORD.findall(said) if marks else ()
    words = {word for word in found if word[0].islower() and any(mark in word for mark in marks)}
    endings = len(_TURKISH_ENDING.findall(said)) if language == "tr" else 0
    return min(2, len(words) + endings)


def passed_over(language: str) -> frozenset[str]:
    """Function words of a language; few languages in another script than Latin have some."""
    return _FUNCTION_WORDS.get(language) or common_words().get(language, frozenset())


def unquoted(text: str) -> str:
    """A text without quotations, addresses and identifiers; the text itself if nothing else is left."""
    said = " ".join(map(_without_identifier, _QUOTED.sub(" ", text).split()))
    return said if _WORD.search(said) else text


def _without_identifier(token: str) -> str:
    """A word; of an identifier only what Turkish writes behind it: "9981'in"."""
    head, mark, ending = token.partition("'")
    return mark + ending if _IDENTIFIER.search(head) else token
