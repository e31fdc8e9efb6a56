"""Time and memory of a sync of all operations of AWS services: first, again unchanged, and at three sizes.

Each sync runs in a process of its own, so that its peak memory is its own: a quarter and a half of the
services and all of them, EC2 among them every time, since the largest model has to be parsed as a whole.
`peak_mb` holds the three peaks. Shipped encoder, fresh catalog and cache. The last row reads the unchanged
models again, as a sync does that lost its memory of the last one.

`--services N` takes only so many services, spread evenly over the alphabet.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from kitpick_foundation.decoding import decode_as

LARGEST = "ec2"
SHARES = (0.25, 0.5, 1.0)


class Measured(msgspec.Struct):
    """One sync in its process."""

    documents: int
    embedded: int
    seconds: dict[str, float]
    peak_mb: float
    vectors_mb: float


def child(folder: Path, services: list[str], reread: bool) -> None:
    """Syncs once, and prints what it took."""
    from kitpick_engines.sqlite import SqliteEngine
    from kitpick_ingest.embedder import EmbeddingCache
    from kitpick_ingest.progress import LineProgress
    from kitpick_ingest.sources.botocore_models import BotocoreSource
    from kitpick_ingest.sync import SyncOptions, sync
    from kitpick_models.runtime import load_encoder

    encoder = load_encoder()
    report = sync(
        BotocoreSource(services),
        SqliteEngine(folder / "catalog.db"),
        encoder,
        EmbeddingCache(folder / "embeddings.db"),
        SyncOptions(locks=folder / "locks", reread=reread),
        LineProgress(interval=30),
    )
    documents = report.added + report.unchanged
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    vectors = documents * encoder.dimensions * 4 / 1024**2
    print(msgspec.json.encode(Measured(documents, report.embedded, report.seconds, peak, vectors)).decode())


def measure(folder: Path, services: list[str], reread: bool = False) -> Measured:
    """One sync in a new process."""
    command = [sys.executable, __file__, "--child", str(folder), ",".join(services)]
    command += ["--reread"] if reread else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return decode_as(done.stdout, Measured)


def chosen_services(count: int | None, share: float) -> list[str]:
    """A share of `count` services, spread evenly, the largest among them."""
    from botocore.loaders import create_loader

    names = [name for name in create_loader().list_available_services("service-2") if name != LARGEST]
    wanted = max(1, round((count or len(names) + 1) * share)) - 1
    step = len(names) / max(wanted, 1)
    return sorted([LARGEST, *(names[int(number * step)] for number in range(wanted))])


def show(label: str, measured: Measured) -> None:
    """One row of the table."""
    seconds = " ".join(
        f"{measured.seconds.get(phase, 0):8.1f}" for phase in ("read", "embed", "write", "total")
    )
    rest = measured.peak_mb - measured.vectors_mb
    print(
        f"{label:<10} {measured.documents:>9,} {measured.embedded:>8,} {seconds} "
        f"{measured.peak_mb:8.0f} {measured.vectors_mb:8.1f} {rest:8.0f}",
        flush=True,
    )


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--services", type=int)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--reread", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(Path(arguments.child[0]), arguments.child[1].split(","), arguments.reread)
        return
    print(f"{'':<10} documents embedded   read s  embed s  write s  total s  peak MB  vectors     rest")
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for share in SHARES:
            place = Path(folder) / str(share)
            place.mkdir()
            services = chosen_services(arguments.services, share)
            sizes.append(measure(place, services))
            show(f"{share:.0%}", sizes[-1])
        again = measure(place, services)
        show("again", again)
        reread = measure(place, services, reread=True)
        show("reread", reread)
    first = sizes[-1]
    figures = {
        "documents": first.documents,
        "first_sync_s": round(first.seconds["total"], 1),
        "resync_s": round(again.seconds["total"], 2),
        "resync_embeddings": again.embedded,
        "resync_time_ratio": round(again.seconds["total"] / first.seconds["total"], 4),
        "reread_s": round(reread.seconds["total"], 2),
        "peak_mb": [round(measured.peak_mb) for measured in sizes],
        "vectors_mb": [round(measured.vectors_mb, 1) for measured in sizes],
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
