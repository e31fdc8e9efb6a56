"""The language of a request, told by its script, its commonest words and letters; no library, no model."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from kitpick_rescorers.reading.glossary import common_words
from kitpick_rescorers.reading.short_texts import language_of_few, likeliest

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
_KANA = dict(_SCRIPTS)["ja"]
_SIGNS = frozenset({"ja", "ko", "zh"})
"""Scripts of which a sign says as much as several letters."""
_QUOTED = re.compile(
    r"(?<!\w)(?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»)"
)
_IDENTIFIER = re.compile(r"[\d@_/=]|\w\.\w")
"""What a word does not have."""
_TURKISH_ENDING = re.compile(r"'(?:y?[ıiuü]|n?[ıiuü]n|[dt][ae]n?|[yn]?[ae]|s[ıiuü])\b(?!')")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")

_DEEDS = """
de:zeig lösche erstelle storniere nimm hol mach setz lege prüfe trag schick liste suche
fr:supprime affiche donne montre crée ajoute annule envoie trouve liste enlève vérifie sors mets vire
es:muestra borra crea cancela añade envía busca quita manda haz pon elimina dime restaura
pt:mostra serviço apaga cria cancela adiciona envia procura manda faz põe coloca tira puxa
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
    return _by_script(read) or _by_script(unquoted(read)) or _latin(read)


def _by_script(text: str) -> str:
    letters = len(_LETTER.findall(text))
    for language, script in _SCRIPTS:
        enough = 3 if language not in _SIGNS or _WORDS["en"] & _said_words(text) else 9
        if (count := len(script.findall(text))) and enough * count >= letters:
            return "ja" if language == "zh" and _KANA.search(text) else language
    return ""


def _latin(text: str) -> str:
    said = unquoted(text)
    words = _said_words(said)
    counts = {language: len(words & common) for language, common in _WORDS.items()}
    english = counts.pop("en")
    worth = {language: count + _marked(said, language) for language, count in counts.items()}
    most = max(worth.values())
    if most >= 2 and most > english:
        return likeliest(said, [language for language, each in worth.items() if each == most])
    few: str = "" if english else language_of_few(said, worth)
    return few or ENGLISH


def _said_words(said: str) -> set[str]:
    """Its words; a single letter is none where no other letter speaks for another language."""
    words = {word.lower() for word in _WORD.findall(said)}
    return {word for word in words if len(word) > 1} if said.isascii() else words


def _marked(said: str, language: str) -> int:
    """Words with letters of this language alone, two at most; names may have them in any language."""
    marks = _LETTERS.get(language, "")
    words = {
        word for word in _WORD.findall(said) if word[0].islower() and any(mark in word for mark in marks)
    }
    endings = len(_TURKISH_ENDING.findall(said)) if language == "tr" else 0
    return min(2, len(words) + endings)


def unquoted(text: str) -> str:
    """A text without quotations, addresses and identifiers; the text itself if nothing else is left."""
    said = " ".join(map(_without_identifier, _QUOTED.sub(" ", text).split()))
    return said if _WORD.search(said) else text


def _without_identifier(token: str) -> str:
    """A word; of an identifier only what Turkish writes behind it: "9981'in"."""
    head, mark, ending = token.partition("'")
    return mark + ending if _IDENTIFIER.search(head) else token
