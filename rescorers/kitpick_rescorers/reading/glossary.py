"""A glossary of deeds and things of APIs in fourteen languages: the English words of a foreign request.

This is no translation: it gives the known words in the order of the request, with names, numbers and loan
words as they are. A model that reads English then comes near to the request; it does not read the language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources

LANGUAGES = ("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "ru", "tr", "ar", "zh", "ja", "ko")
"""Languages of the glossary, in the order of its columns."""
_MARKED = frozenset({"sv"})
UNSPACED = frozenset({"zh", "ja", "ko"})
_OTHER_SCRIPTS = frozenset({"ru", "ar"})
_JOINING = frozenset({"de", "nl", "sv"})
"""Languages that write words together: "Kundenkonto"."""
_MAX_READ = 1_000
_MOST_ENDING = 10
"""Letters that a word may have beyond its stem, in any language."""
_LONGEST = {"tr": _MOST_ENDING}
_ENDING = 4
"""Letters that a word may have beyond its stem; twice as many where the stem is twice as long."""
_LEAST_PREFIX = 3
_LEAST_PARTED = 3
"""Words of a clause with a parted verb: verb, thing and particle."""
_LEAST_PART = 4
"""Letters that a part of a compound has at least."""
_ELIDED = re.compile(
    r"^(?:[ldjmtsnc]|qu|dell|all|nell|sull|dall|un|quell|quest|lorsqu|jusqu)['’](?=\w)", re.I
)
_ARABIC_LIST = "وبال ولل هال وال بال كال فال لل ال وسي وست وسن وب وت ول وي ون سي ست سن و ب ل ف س ي ت ن ا"
_ARABIC = tuple(_ARABIC_LIST.split())
"""What Arabic writes before a word without a space: article, conjunctions, prepositions, persons."""
_PARTED = {
    "de": "ab an auf aus ein hoch runter rauf raus rein hinzu zu zurück um weg vor nach fest los frei heraus",
    "nl": "aan af uit op in toe weg terug om mee",
}
_PARTICLES = {language: frozenset(words.split()) for language, words in _PARTED.items()}
"""What German and Dutch part from a verb and put at the end: "schalte das Licht aus"."""
_BY_PARTICLE = {
    "de": {"zu": "close", "auf": "open", "an": "turn on", "aus": "turn off", "weg": "remove"},
    "nl": {"dicht": "close", "open": "open", "aan": "turn on", "uit": "turn off", "weg": "remove"},
}
"""What they ask for without their verb: "Fenster zu"."""
_CLAUSE = re.compile(r"[,;.!?:]\s|\s(?=(?:und|oder|aber|en|maar)\s)")
_SWITCHED = frozenset({"light", "lamp", "heating", "television", "tv", "fan", "oven"})
"""Things that are switched: to delete or close one, as many languages say, is to turn it off."""
_SWITCHING = {"delete": "turn off", "close": "turn off", "open": "turn on"}
_LINK = re.compile(r"^(?:s|es|n|en|e|er)?$")
"""What stands between the parts of a compound."""
_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_NAME = re.compile(r"^(?:[A-Za-z]*\d[\w.-]*|[A-Z][\w-]*|[a-z]+[A-Z]\w*)$")
_ASCII_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@/:#-]*")
_BEFORE_LATIN = re.compile(r"(?<=[\u0621-\u064a])(?=[A-Za-z])")
"""The gap between an Arabic article or conjunction and a name in Latin letters."""
_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670\u0640]")
"""What Arabic writes over and under letters, and draws between them."""
_FOLDED = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "ı": "i", "ة": "ه", "ى": "ي", "ـ": ""})


@lru_cache(maxsize=1)
def common_words() -> Mapping[str, frozenset[str]]:
    """Code of a language → its function words, in small letters, from `common.txt`."""
    return {language: frozenset(words.split()) for language, words in word_rows("common.txt", ":")}


def gloss(text: str, language: str) -> tuple[str, ...]:
    """The English words for a request, with what it holds of names and numbers; empty if no word is known."""
    if language not in LANGUAGES:
        return ()
    read = _BEFORE_LATIN.sub(" ", _VOWEL_SIGNS.sub("", unicodedata.normalize("NFC", text[:_MAX_READ])))
    words = list(_unspaced(read, language) if language in UNSPACED else _spaced(read, language))
    if not any(known for _, known in words):
        return ()
    deed = _deed_of_particle(read, language)
    return _switched(tuple(dict.fromkeys((*([deed] if deed else []), *(word for word, _ in words)))))


def _deed_of_particle(text: str, language: str) -> str:
    """The deed of two or three words that end with the particle of a verb, which they leave out."""
    tokens = _TOKEN.findall(text)
    if tokens != _tokens(text, language):  # it is the particle of a verb that stands there
        return ""
    deed = _BY_PARTICLE.get(language, {}).get(tokens[-1].lower(), "") if len(tokens) in (2, 3) else ""
    return "" if _meant(folded(" ".join(tokens[-2:]), language), language, whole=True) else deed


def _switched(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, with what is done to a light in English words for it."""
    return words if _SWITCHED.isdisjoint(words) else tuple(_SWITCHING.get(word, word) for word in words)


def _spaced(text: str, language: str) -> Iterator[tuple[str, bool]]:
    """English words by the beginnings of words, longest first; of two words together before one."""
    tokens = [token for clause in _CLAUSE.split(text) for token in _tokens(clause, language)]
    place = 0
    while place < len(tokens):
        pair = folded(" ".join(tokens[place : place + 2]), language)
        if place + 1 < len(tokens) and (meant := _meant(pair, language, whole=True)):
            yield meant, True
            place += 2
            continue
        passed = tokens[place].lower() in common_words().get(language, ())
        words = () if passed else _meanings(folded(tokens[place], language), language)
        yield from ((word, True) for word in words)
        if not words and not passed and _as_it_stands(tokens[place], language, place):
            yield tokens[place], False
        place += 1


def _tokens(clause: str, language: str) -> list[str]:
    """The words of a clause; a verb with the particle that stands at its end, if the glossary knows both."""
    tokens = [_ELIDED.sub("", match.group()) for match in _TOKEN.finditer(clause)]
    if len(tokens) < _LEAST_PARTED or tokens[-1].lower() not in _PARTICLES.get(language, ()):
        return tokens
    for place, token in enumerate(tokens[:-2]):
        together = f"{token} {tokens[-1]}"
        joined = folded(tokens[-1] + token, language)
        if _meant(folded(together, language), language, whole=True):
            return [*tokens[:place], token, tokens[-1], *tokens[place + 1 : -1]]
        if len(known_stem(joined, language)[0]) > len(tokens[-1]) + _LEAST_PREFIX:
            return [*tokens[:place], joined, *tokens[place + 1 : -1]]
    return tokens


def _as_it_stands(token: str, language: str, place: int) -> bool:
    """Whether a word is a name, a number or English: in another script, every word in Latin letters."""
    return token.isascii() and (
        language in _OTHER_SCRIPTS
        or (place > 0 and _NAME.match(token) is not None)
        or token.lower() in _english_words()
    )


def _meanings(word: str, language: str) -> tuple[str, ...]:
    """The English words for a word: one, or for a compound two; none if it is unknown."""
    written = (each for each in _ARABIC if word.startswith(each) and len(word) > len(each) + 2)
    heard = [word, *(word[len(each) :] for each in written if language == "ar")]
    _, meant = max((known_stem(each, language) for each in heard), key=lambda found: len(found[0]))
    return (meant,) if meant else of_compound(word, language)


def _meant(word: str, language: str, *, whole: bool = False) -> str:
    """The English word whose stem is the longest beginning of a word; empty if none is."""
    return known_stem(word, language, whole=whole)[1]


def known_stem(word: str, language: str, *, whole: bool = False, shared: bool = False) -> tuple[str, str]:
    """The longest stem with which a word begins, and its English word; both empty if none is known.

    The word is folded. With `whole` only the whole word counts, or two together; with `shared` only stems of
    the glossary of all languages.
    """
    stems = _stems(language, shared=shared)
    for length in range(len(word), max(0, len(word) - 1 - _MOST_ENDING), -1):
        stem = word[:length]
        long_enough = length == len(word) or " " in stem or (length >= _LEAST_PREFIX and not whole)
        if long_enough and stem in stems:
            ending = _LONGEST.get(language, _ENDING if length < 2 * _ENDING else 2 * _ENDING)
            if len(word) - length <= ending:
                return stem, stems[stem]
    return "", ""


def of_compound(word: str, language: str) -> tuple[str, ...]:
    """The English words for the parts of a compound: both, or the last one, which says what it is."""
    if language not in _JOINING:
        return ()
    stems = _stems(language)
    for cut in range(_LEAST_PART, len(word) - _LEAST_PART + 1):
        last = _meant(word[cut:], language)
        if not last:
            continue
        first = next(
            (stems[word[:end]] for end in range(cut, _LEAST_PREFIX - 1, -1)
             if word[:end] in stems and _LINK.match(word[end:cut])),
            "",
        )  # fmt: skip
        return (first, last) if first else (last,)
    return ()


def _unspaced(text: str, language: str) -> Iterator[tuple[str, bool]]:
    """English words by what stands anywhere in a text without spaces, and its runs of Latin letters."""
    known = _stems(language)
    longest = max(map(len, known))
    place = 0
    while place < len(text):
        run = _ASCII_RUN.match(text, place)
        if run is not None:
            yield run.group(), False
            place = run.end()
            continue
        stem = next(
            (text[place : place + n] for n in range(longest, 0, -1) if text[place : place + n] in known), ""
        )
        if stem:
            yield known[stem], True
        place += max(1, len(stem))


def folded(word: str, language: str = "") -> str:
    """A word in small letters without marks: "Übersicht" and "ubersicht" are one.

    In Swedish they are letters of their own: "år" is a year, "är" is "is".
    """
    if language in _MARKED:
        return unicodedata.normalize("NFC", word.lower())
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).translate(_FOLDED)


@lru_cache(maxsize=2 * len(LANGUAGES))
def _stems(language: str, *, shared: bool = False) -> Mapping[str, str]:
    """Beginning of a foreign word → English word; of equal ones the first counts."""
    column = 1 + LANGUAGES.index(language)
    found: dict[str, str] = {}
    own = () if shared else _own_rows(language)
    for english, stems in (*own, *((row[0], row[column]) for row in _rows())):
        for stem in stems.split(","):
            plain = stem.strip().lower()
            key = plain if language in UNSPACED else folded(plain, language)
            found.setdefault(unicodedata.normalize("NFC", key), english.partition(" (")[0])
    found.pop("", None)
    return found


@lru_cache(maxsize=1)
def _english_words() -> frozenset[str]:
    return frozenset(row[0].partition(" (")[0] for row in _rows())


def _own_rows(language: str) -> Sequence[tuple[str, str]]:
    """English words and the beginnings that only this language has for them."""
    return tuple((row[0], row[1]) for row in word_rows(f"words_{language}.txt"))


@lru_cache(maxsize=1)
def _rows() -> Sequence[Sequence[str]]:
    return word_rows("glossary.txt")


def word_rows(name: str, between: str = "|", most: int = -1) -> Sequence[Sequence[str]]:
    """The rows of a file of words beside this module, without comments: each cut `most` times at most."""
    text = (resources.files(__package__) / name).read_text("utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(tuple(line.split(between, most)) for line in lines)
