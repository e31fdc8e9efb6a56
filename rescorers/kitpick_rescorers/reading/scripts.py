"""Recognises the language of a text that is not in Latin script, by its script and its letters."""

from __future__ import annotations

import re
from collections.abc import Collection

UNKNOWN = "und"
"""Code of a text in a script that nothing here knows."""
_RANGES = r"""
ja:\u3041-\u3096\u30a1-\u30fa ko:\uac00-\ud7af\u1100-\u11ff zh:\u3400-\u4dbf\u4e00-\u9fff
ar:\u0600-\u06ff\u0750-\u077f ru:\u0400-\u04ff el:\u0370-\u03ff\u1f00-\u1fff he:\u0590-\u05ff
hi:\u0900-\u097f th:\u0e00-\u0e7f bn:\u0980-\u09ff pa:\u0a00-\u0a7f gu:\u0a80-\u0aff or:\u0b00-\u0b7f
ta:\u0b80-\u0bff te:\u0c00-\u0c7f kn:\u0c80-\u0cff ml:\u0d00-\u0d7f si:\u0d80-\u0dff lo:\u0e80-\u0eff
bo:\u0f00-\u0fff my:\u1000-\u109f ka:\u10a0-\u10ff am:\u1200-\u139f km:\u1780-\u17ff mn:\u1800-\u18af
hy:\u0530-\u058f
"""
_SCRIPTS = [
    (language, re.compile(f"[{ranges}]"))
    for language, ranges in (each.split(":") for each in _RANGES.split())
]
"""Scripts that tell a language. Kana come before Han, which Japanese uses as well."""
_KANA = dict(_SCRIPTS)["ja"]
_SIGNS = frozenset({"ja", "ko", "zh"})
"""Scripts of which a sign says as much as several letters."""
_LETTER = re.compile(r"[^\W\d_]")
_KNOWN = re.compile(
    "|".join([r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]", *(script.pattern for _, script in _SCRIPTS)])
)

_CYRILLIC = (
    ("be", r"ў"),
    ("uk", r"[іїєґ]|\b(?:видали|зупини|надішли|знайди|створи|будь|ласка|мені|скільки|та|що)\b"),
    ("kk", r"[қғңәөұүһ]"),
    ("mk", r"[ѓќѕ]"),
    ("sr", r"[ђћљњџј]"),
    ("bg", r"ъ(?![еёюя])|\b(?:съм|със|всички|всичките|моля|кой|коя|кои|какво|какви|колко|къде|кога|имам|искам"
           r"|моят|моята|този|тази|тези|изтрий|създай|изпрати|намери|спри|утре|днес)\b"),
)  # fmt: skip
_ARABIC = (
    ("ur", r"[ٹڈڑںےھہ]"),
    ("fa", r"[کی].*[کی]|\b(?:را|این|است|برای|های|کنید?|بده)\b"),
)
_DEVANAGARI = (
    ("mr", r"आहे|माझ|मला|करा\b|ळ"),
    ("ne", r"\bछन?\b|गर्नु|मेरो|गर\b|लाई"),
)
_LETTERS = {
    script: tuple((language, re.compile(letters)) for language, letters in rows)
    for script, rows in (("ru", _CYRILLIC), ("ar", _ARABIC), ("hi", _DEVANAGARI))
}
"""Letters that tell the languages of one script apart; without any, it is the script's first language."""


def language_by_script(text: str, english: Collection[str]) -> str:
    """The code of the language in whose script a text is; empty for Latin script.

    A third of the letters tells it; of Chinese, Japanese and Korean signs a ninth, where no English is said.

    The text is in Normalization Form C; `english` are its English function words.
    """
    letters = len(_LETTER.findall(text))
    for language, script in _SCRIPTS:
        enough = 3 if language not in _SIGNS or english else 9
        if (count := len(script.findall(text))) and enough * count >= letters:
            return _told_by_letters(text, language)
    unknown = sum(not _KNOWN.match(letter) for letter in _LETTER.findall(text))
    return UNKNOWN if letters and 2 * unknown > letters else ""


def _told_by_letters(text: str, language: str) -> str:
    if language == "zh" and _KANA.search(text):
        return "ja"
    read = text.lower()
    found = (each for each, letters in _LETTERS.get(language, ()) if letters.search(read))
    return next(found, language)
