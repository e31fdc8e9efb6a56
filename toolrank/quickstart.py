"""The main job on real input, as `scripts/quickstart` runs it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from toolrank.catalog import Catalog
from toolrank.cli.console import OUT
from toolrank.cli.progress import progress
from toolrank.cli.search import print_hits
from toolrank.settings import Settings

SERVICES = (
    "s3",
    "ec2",
    "lambda",
    "dynamodb",
    "sqs",
    "sns",
    "iam",
    "rds",
    "cloudwatch",
    "route53",
    "secretsmanager",
    "translate",
)
"""A dozen well-known AWS services."""
REQUESTS = (
    ("one tool", "make a copy of a file in a bucket under another name"),
    ("several tools", "translate a document and send the result as a message to a queue"),
    ("nothing here can do it", "book a table for two at an Italian restaurant tonight"),
)


def main() -> None:
    """Ingests the operations of a dozen services into a fresh catalog and asks it three requests."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--catalog", type=Path, help="keep the catalog in this file")
    kept = parser.parse_args().catalog
    with tempfile.TemporaryDirectory() as folder:
        catalog = kept or Path(folder) / "quickstart.db"
        run(catalog, Settings(embedding_cache=catalog.with_suffix(".embeddings.db")))


def run(place: Path, settings: Settings) -> None:
    """The same into the catalog at `place`."""
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        OUT.print(f"[bold]Taking in {len(SERVICES)} AWS services[/] from botocore's service models")
        report = catalog.ingest(f"botocore:{','.join(SERVICES)}", progress=progress())
        OUT.print(f"{report.added:,} APIs in {report.seconds['total']:.0f} s\n")
        for kind, request in REQUESTS:
            OUT.print(f"[bold cyan]{request}[/] [dim]({kind})[/]", soft_wrap=True)
            print_hits(catalog.search(request))
            OUT.print()


if __name__ == "__main__":
    main()
