"""The quickstart, as `scripts/quickstart` runs it: a catalog of real APIs and three searches."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from kitpick.catalog import Catalog
from kitpick.cli.console import OUT
from kitpick.cli.main import guarded
from kitpick.cli.progress import progress
from kitpick.cli.search import print_hits
from kitpick.settings import Settings

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
    ("one tool", "turn off the alarm"),
    ("several tools", "translate a document and send the result as a message to a queue"),
    ("nothing here can do it", "play some music in the kitchen"),
)


CATALOG = Path("var/quickstart.db")
NEXT = (
    ("search {asked} -c {catalog}", "nothing can do it yet"),
    ("ingest botocore:transcribe --name transcribe -c {catalog}", "takes in one more service"),
    ("search {asked} -c {catalog} --explain", "finds it, and says why"),
)
"""Commands to try afterwards, and what each of them shows."""
ASKED = "transcribe an audio recording"


def main() -> None:
    """Takes the operations of a dozen AWS services into a catalog, and searches it for three requests."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--catalog", type=Path, default=CATALOG, help="File of the catalog. Default: %(default)s."
    )
    catalog = parser.parse_args().catalog
    catalog.parent.mkdir(parents=True, exist_ok=True)
    run(catalog, Settings(embedding_cache=catalog.with_suffix(".embeddings.db")))
    OUT.print(f"The catalog is kept in {catalog}. Three commands to try next:\n", soft_wrap=True)
    for command, shows in next_commands(catalog):
        OUT.print(f"  {command}", markup=False, soft_wrap=True)
        OUT.print(f"      [dim]{shows}[/]", soft_wrap=True)


def run(place: Path, settings: Settings) -> None:
    """Runs the quickstart in the catalog at `place`; known documents are not embedded again."""
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        OUT.print(f"[bold]Taking in {len(SERVICES)} AWS services[/] from botocore's service models")
        report = catalog.ingest(f"botocore:{','.join(SERVICES)}", progress=progress())
        apis = report.added + report.changed + report.unchanged
        OUT.print(f"{apis:,} APIs in {report.seconds['total']:.0f} s\n")
        for kind, request in REQUESTS:
            OUT.print(f"[bold cyan]{request}[/] [dim]({kind})[/]", soft_wrap=True)
            print_hits(catalog.search(request))
            OUT.print()


def next_commands(catalog: Path) -> list[tuple[str, str]]:
    """Commands to try next in this folder, with explanations."""
    program = Path(sys.executable).with_name("kitpick")
    if program.is_relative_to(Path.cwd()):
        program = program.relative_to(Path.cwd())
    filled = {"asked": shlex.quote(ASKED), "catalog": shlex.quote(str(catalog))}
    return [(f"{program} {command.format(**filled)}", shows) for command, shows in NEXT]


if __name__ == "__main__":
    guarded(main)
