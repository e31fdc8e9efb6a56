"""What the decoders of msgspec raise for bytes, or a text, that are not what was asked for."""

from __future__ import annotations

import msgspec

UNDECODABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Not of the form or the type; not UTF-8, which is no error of msgspec's own; nested too deep."""
