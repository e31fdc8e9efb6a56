"""Whether evidence holds: two reports of one evaluation, planted duplicates.

Reports: the same evaluation twice, each from nothing. Duplicates: copies of APIs planted into a catalog of
AWS operations, in another tool, verbatim or changed in four ways; and what is found in the untouched catalog.

`--part NAME` (repeatable) takes only `repeat` or `duplicates`; `--limit N` so many requests; `--list`
prints every finding in the untouched catalog, for a reader to judge.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Plan, judged_dataset, measure
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import retrieval_text
from kitpick_evaluation.health.duplicates import near_duplicates
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_rescorers import DEFAULT_PROFILE

PARTS = ("repeat", "duplicates")
SERVICES = (
    "s3",
    "ec2",
    "lambda",
    "dynamodb",
    "sqs",
    "sns",
    "iam",
    "rds",
    "route53",
    "translate",
    "glue",
    "ecs",
)
PLANTED = 200
"""Copies of each kind."""

Figures = dict[str, float | int | bool]


def main() -> None:
    """Prints tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    figures: Figures = {}
    for part in arguments.part or PARTS:
        figures |= globals()[part](arguments)
    print(json.dumps(figures))


def repeat(arguments: argparse.Namespace) -> Figures:
    """Whether two evaluations, each with models and caches of its own, report the same but for times."""
    plan = Plan(profiles=(DEFAULT_PROFILE,), limit=min(arguments.limit or 60, 60), timed=3)
    reports = [_report(arguments.data, plan) for _ in range(2)]
    same = reports[0] == reports[1]
    Console().print(
        f"two reports of {plan.limit} requests are {'equal, byte by byte' if same else 'different'}"
    )
    return {"reports_equal": same}


def _report(data: Path, plan: Plan) -> bytes:
    with judged_dataset("toolbench", data, plan, progress()) as judged:
        report = measure(judged, plan, progress())
    return msgspec.json.encode(msgspec.structs.replace(report, timings=()))


def duplicates(arguments: argparse.Namespace) -> Figures:
    """Share of planted copies that are found as a pair with what they copy, and pairs found without any."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(embedding_cache=Path(folder) / "embeddings.db")
        with Catalog.open(f"sqlite:{folder}/catalog.db", settings=settings) as catalog:
            catalog.ingest(BotocoreSource(SERVICES), progress=progress())
            live = catalog.engine.live()
            assert live is not None
            items = list(catalog.engine.documents(live[0]))
            documents = [item.document for item in items]
            vectors = np.stack([item.vector for item in items])
            planted = _planted(documents)
            copies = [copy for kind in planted.values() for _, copy in kind]
            texts = [retrieval_text(copy) for copy in copies]
            copied = np.concatenate(
                [catalog.models.encoder.encode(texts[i : i + 256]) for i in range(0, len(texts), 256)]
            )
    untouched = list(near_duplicates(documents, vectors))
    together = [*documents, *copies]
    pairs = {
        (together[one].id, together[other].id)
        for one, other, _, _ in near_duplicates(together, np.concatenate([vectors, copied]))
    }
    return _findings(documents, untouched, planted, pairs, arguments.list)


def _findings(
    documents: Sequence[ApiDocument],
    untouched: Sequence[tuple[int, int, float, float]],
    planted: dict[str, list[tuple[ApiDocument, ApiDocument]]],
    pairs: set[tuple[str, str]],
    listed: bool,
) -> Figures:
    table = Table("planted copies", "number", "found")
    found = {
        kind: sum((one.id, copy.id) in pairs for one, copy in copies) / len(copies)
        for kind, copies in planted.items()
    }
    for kind, share in found.items():
        table.add_row(kind, str(len(planted[kind])), f"{share:.1%}")
    Console().print(table)
    console = Console(width=160)
    console.print(f"{len(untouched)} pairs in the untouched catalog of {len(documents):,} APIs")
    for one, other, words, meaning in untouched if listed else untouched[:10]:
        console.print(f"  {documents[one].id} | {documents[other].id} | {words:.2f} {meaning:.2f}")
    return {
        "planted_found": round(float(np.mean(list(found.values()))), 4),
        "planted_found_worst": round(min(found.values()), 4),
        "untouched_pairs": len(untouched),
        "apis": len(documents),
    }


def _planted(documents: Sequence[ApiDocument]) -> dict[str, list[tuple[ApiDocument, ApiDocument]]]:
    """Kinds of copies, each with pairs of original and copy; originals have a description of some length."""
    rng = random.Random(0)
    able = [document for document in documents if len(document.description.split()) >= 8]
    kinds: dict[str, Callable[[ApiDocument], ApiDocument]] = {
        "verbatim": lambda document: document,
        "another style of name": _renamed,
        "an opening phrase before": _opened,
        "without its last sentences": _shortened,
        "some words replaced or dropped": lambda document: _reworded(document, rng),
    }
    return {
        kind: [
            (original, _moved(change(original), f"{number}-{index}"))
            for index, original in enumerate(rng.sample(able, min(PLANTED, len(able))))
        ]
        for number, (kind, change) in enumerate(kinds.items())
    }


def _moved(document: ApiDocument, key: str) -> ApiDocument:
    return msgspec.structs.replace(
        document, id=f"zz-copy/{key}", source="zz-copy", tool="Cloud Toolbox", category="Copies"
    )


def _renamed(document: ApiDocument) -> ApiDocument:
    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in document.api).strip("_")
    return msgspec.structs.replace(document, api=name)


def _opened(document: ApiDocument) -> ApiDocument:
    return msgspec.structs.replace(
        document, description=f"Use this endpoint if you want it: {document.description}"
    )


def _shortened(document: ApiDocument) -> ApiDocument:
    sentences = document.description.split(". ")
    kept = ". ".join(sentences[: max(1, (len(sentences) + 1) // 2)])
    return msgspec.structs.replace(document, description=kept)


def _reworded(document: ApiDocument, rng: random.Random) -> ApiDocument:
    """One word of ten gone, one of ten replaced by another of the text."""
    words = document.description.split()
    kept = [word if rng.random() > 0.1 else rng.choice(words) for word in words if rng.random() > 0.1]
    return msgspec.structs.replace(document, description=" ".join(kept) or document.description)


if __name__ == "__main__":
    main()
