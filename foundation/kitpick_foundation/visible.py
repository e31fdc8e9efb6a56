"""What of a text is seen: texts that say nothing, and characters that do something else than be seen."""

from __future__ import annotations

import unicodedata

_NOTHING = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0") | {
    chr(code) for codes in ((0x180B, 0x1810), (0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for code in range(*codes)
}
"""Letters, symbols and marks that are drawn as nothing: fillers, blank Braille, variation selectors."""
_PUNCTUATION = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"})
_OPERATORS = frozenset("#%&*/@\\")
"""Punctuation that names something by itself."""

_HARMFUL = {
    code: "\ufffd"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\t\n"
}
"""Control characters, which a terminal obeys, and marks that turn the direction of what follows."""


def is_blank(text: str) -> bool:
    """Whether a text has no visible character."""
    return all(char in _INVISIBLE or unicodedata.category(char) in _NOTHING for char in text)


def says_nothing(text: str) -> bool:
    """Whether a text has neither letters, digits nor symbols: it is blank, or stands for one (`-`, `...`)."""
    return all(
        char in _INVISIBLE
        or (category := unicodedata.category(char)) in _NOTHING
        or (category in _PUNCTUATION and char not in _OPERATORS)
        for char in text
    )


def printable(text: str) -> str:
    """The text with U+FFFD for every character that a terminal would obey instead of showing it."""
    return text.translate(_HARMFUL)
