"""`toolrank setup`: what an operator prepares on a search server."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Annotated

import msgspec
import typer

from toolrank.cli.console import OUT, note, print_json
from toolrank.cli.options import CatalogOption, JsonOption
from toolrank.errors import NotAServer
from toolrank.model_set import ModelSet
from toolrank.settings import Settings
from toolrank.templates import Way, template_steps, template_values
from toolrank_engines.opening import open_engine, without_secrets
from toolrank_engines.remote.engine import RemoteEngine
from toolrank_engines.remote.setup import Step, index_template, make

_HIDDEN = "***"


def setup(
    catalog: CatalogOption = None,
    way: Annotated[
        Way | None, typer.Option("--with", help="Also let the server's own searches be reranked, this way.")
    ] = None,
    rescorer: Annotated[
        str, typer.Option("--rescorer", help="Address of the rescorer, for --with.", metavar="URL")
    ] = "http://localhost:8080",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests instead of making them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Creates index template and search pipelines of a catalog in OpenSearch or Elasticsearch.

    Ingesting works without the template: the server's defaults decide shards and replicas then.
    The rescorer's key is read from TOOLRANK_RESCORER_KEY and never printed.
    """
    settings = Settings()
    url = catalog or settings.catalog
    with closing(open_engine(url)) as engine:
        if not isinstance(engine, RemoteEngine):
            raise NotAServer(without_secrets(url))
        dimensions = ModelSet(settings).encoder.dimensions
        steps = [index_template(engine.address, engine.dialect, dimensions)]
        values = template_values(engine.address.name, rescorer, os.environ.get("TOOLRANK_RESCORER_KEY", ""))
        steps += template_steps(way) if way else []
        if not dry_run:
            make(engine.server, steps, values)
    shown = [step.filled(values | {"key": _HIDDEN}) for step in steps]
    print_json(shown) if as_json else _print(shown, dry_run)


def _print(steps: list[Step], dry_run: bool) -> None:
    for step in steps:
        made = "an example" if step.example else "would be made" if dry_run else "made"
        note(f"{made}: {step.does}")
        OUT.print(f"{step.method} {step.path}", markup=False)
        body = msgspec.json.format(msgspec.json.encode(step.body), indent=2).decode()
        OUT.print(body, markup=False, soft_wrap=True)
