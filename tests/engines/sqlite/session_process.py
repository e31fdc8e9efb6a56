"""Run as a process of its own by the tests: writes generation after generation until it is killed.

Usage: python session_process.py CATALOG FIRST_GENERATION
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from asking import generation
from catalogs import SCHEMA

from kitpick_engines.sqlite import SqliteEngine, SqliteSettings


def main(path: str, first: int) -> None:
    """Every session replaces all documents, so that half of them are dead and compactions are common."""
    engine = SqliteEngine(Path(path), SqliteSettings(compact_above=0.2, compact_from=30))
    for number in count(first):
        with engine.writing(engine.ensure(SCHEMA)) as writer:
            batch = generation(number)
            writer.write(batch[:7])
            writer.write(batch[7:])
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
