"""ToolLens, trained on its training split: the table from the recorded runs, beside the published one.

Prints what `benchmarks/training/toollens-*.json` recorded. `--train` runs it all again: it goes on from the
checkpoints in RUN (default `var/train/toollens`), some hours on two cores. Weights of these runs are not
shipped: ToolLens states no licence.
"""

# needs: train with --train
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from shared_data import DATA

RECORDS = Path(__file__).parent / "training"
FIGURES = ("R@3", "R@5", "C@3", "C@5")
PUBLISHED = {
    "dense": (80.0, 90.9, 53.3, 78.3),
    "MMR": (83.9, 93.8, 64.1, 86.1),
    "COLT": (87.8, 96.2, 68.3, 90.0),
    "NNN-Fix": (83.8, 94.4, 62.1, 87.0),
    "NNN-Tr": (95.7, 98.4, 90.7, 96.7),
}
"""MiniLM-L6 column of the NNN paper, in percent."""
ROWS = {
    "dense": ("toollens-dense", "dense"),
    "MMR": ("toollens-dense", "MMR"),
    "NNN-Fix": ("toollens-dense", "NNN"),
    "NNN-Tr": ("toollens-nnn", "NNN"),
    "dense vectors, votes of training requests": ("toollens-dense", "votes"),
    "dense vectors, votes and cosine": ("toollens-dense", "ours"),
    "NNN-Tr vectors, cosine": ("toollens-nnn", "dense"),
    "NNN-Tr vectors, votes and cosine": ("toollens-nnn", "ours"),
}
"""Row of the table → record and method."""


def main() -> int:
    """Prints the table, the learning curves and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--run", type=Path, default=Path("var/train/toollens"))
    parser.add_argument("--half", action="store_true", help="train in bfloat16")
    arguments = parser.parse_args()
    if arguments.train:
        from toollens_training import train

        train(arguments.data, arguments.run, half=arguments.half)
    records = {path.stem: json.loads(path.read_bytes()) for path in RECORDS.glob("toollens-*.json")}
    if not records:
        print("no run is recorded: scripts/bench toollens --train", file=sys.stderr)
        return 1
    figures = printed_table(records)
    for name, record in records.items():
        printed_curve(name, record)
    print(json.dumps(figures))
    return 0


def printed_table(records: dict[str, Any]) -> dict[str, float]:
    """The table; returns its figures by method and measure, in percent."""
    table = Table("ToolLens test, %", *FIGURES, "published", title="MiniLM-L6, trained on ToolLens train")
    figures: dict[str, float] = {}
    for row, (record, method) in ROWS.items():
        found = records.get(record, {}).get("figures", {}).get(method)
        published = "/".join(map(str, PUBLISHED.get(row, ())))
        if found is None:
            table.add_row(row, *["not run"] * len(FIGURES), published)
            continue
        values = {name: round(100 * found[name], 1) for name in FIGURES}
        table.add_row(row, *map(str, values.values()), published)
        figures |= {f"{row}.{name}": value for name, value in values.items()}
    table.add_row("COLT", *["—"] * len(FIGURES), "/".join(map(str, PUBLISHED["COLT"])))
    Console(width=120).print(table)
    return figures


def printed_curve(name: str, record: dict[str, Any]) -> None:
    """Settings and learning curve of one run."""
    recipe = record["recipe"]
    table = Table(
        "step",
        "loss",
        "R@5",
        "C@5",
        title=f"{name}: seed {recipe['seed']}, {record['date']}, {record['machine']}, best step "
        f"{record['best_step']}; on requests held out from training",
    )
    for point in record["curve"]:
        loss, recall, complete = point["loss"], 100 * point["recall5"], 100 * point["complete5"]
        table.add_row(str(point["step"]), f"{loss:.3f}", f"{recall:.1f}", f"{complete:.1f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    sys.exit(main())
