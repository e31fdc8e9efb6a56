"""Halves of requests: rules are chosen on one, and the other is only measured."""

from __future__ import annotations

import hashlib


def half_of(request: str) -> str:
    """`a`, on which rules were chosen, or `b`, by a digest of a request's id."""
    return "ab"[hashlib.sha256(request.encode()).digest()[0] % 2]
