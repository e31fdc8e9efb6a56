"""Converts published prose (HTML) to plain text of limited length."""

from __future__ import annotations

import html
import re

MAX_PARAMETER_DESCRIPTION = 500
"""Characters kept of what is said about one parameter: retrieval needs its meaning, not its manual."""
MAX_RETURNS = 2_000
"""Characters kept of what an operation returns."""

_BLOCK = re.compile(
    r"</?(?:p|br|div|li|[uod]l|d[dt]|h[1-6]|t[rdh]|table|pre|note|important|section|blockquote)\b[^<>]*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MARKUP_PER_TEXT = 4
"""An HTML text is cut to this many times the wanted length before its markup is removed."""


def html_text(markup: str, limit: int | None = None) -> str:
    """Text of an HTML fragment on one line, at most `limit` characters; block elements separate words."""
    if limit is not None:
        markup = markup[: _MARKUP_PER_TEXT * limit]
    if "<" in markup:
        uncommented = _COMMENT.sub(" ", markup) if "<!--" in markup else markup
        markup = _TAG.sub("", _BLOCK.sub(" ", uncommented))
    if "&" in markup:
        markup = html.unescape(markup)
    return clip(" ".join(markup.split()), limit)


def clip(text: str, limit: int | None) -> str:
    """The text, or its beginning with an ellipsis, at most `limit` characters."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + "…"
