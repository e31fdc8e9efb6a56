"""Visible text: recognises blank texts, and characters that control the display instead of showing."""

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
_IN_JSON = {code: f"\\u{code:04x}" for code in (*_HARMFUL, 0x2028, 0x2029) if code >= 0x7F}


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


def harmless_json(text: str) -> str:
    """The same JSON, with escapes for what a terminal would obey or take for the end of a line."""
    return text.translate(_IN_JSON)


def one_line(text: str) -> str:
    """The text on one line: what a terminal would obey, or take for another line, is written as an escape."""
    return "".join(c.encode("unicode_escape").decode() if _is_unsafe(c) else c for c in text)


def _is_unsafe(char: str) -> bool:
    return ord(char) in _HARMFUL or char in "\t\n\x85\u2028\u2029" or 0xD800 <= ord(char) < 0xE000
