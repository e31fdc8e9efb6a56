"""Tables of text and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_NUMBER = re.compile(r"^[-+–]?[\d.,]*%?$")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways on a narrow screen; cells that are numbers stand to the right."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(_cell(text) for text in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    kind = ' class="number"' if _NUMBER.match(text) else ""
    return f"<td{kind}>{escape(text)}</td>"
