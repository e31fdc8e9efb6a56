"""Files in pieces, for a machine that takes and gives only small files; checked when they are joined."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kitpick_training.errors import BrokenPieces

MOST_SENT = 40_000_000
"""Bytes of a piece that goes to the card."""
MOST_RETURNED = 15_000_000
"""Bytes of a piece that comes back."""


def split_file(content: bytes, folder: Path, name: str, limit: int) -> list[Path]:
    """Writes `NAME.000`, `NAME.001`, … of at most `limit` bytes each, and `NAME.json`, which describes them.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}.[0-9][0-9][0-9]"):
        old.unlink()
    paths = []
    for number, start in enumerate(range(0, len(content), limit)):
        paths.append(folder / f"{name}.{number:03}")
        paths[-1].write_bytes(content[start : start + limit])
    described = {"pieces": len(paths), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / f"{name}.json").write_text(json.dumps(described), encoding="utf-8")
    return paths


def join_file(folder: Path, name: str) -> bytes:
    """The content that was split.

    Raises:
        BrokenPieces: a piece is missing, or the whole is not what was split.
    """
    try:
        described = json.loads((folder / f"{name}.json").read_bytes())
        count, digest = int(described["pieces"]), str(described["sha256"])
        content = b"".join((folder / f"{name}.{number:03}").read_bytes() for number in range(count))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BrokenPieces(folder, name, f"a piece is missing or cannot be read ({error})") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise BrokenPieces(folder, name, "the pieces are not those that were written together")
    return content
