"""`kitpick setup`: prepares a search server for a catalog.

Also with the requests in `plugin/templates`: ways to let a cluster's own searches be reranked, and its agents
search.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
import typer

from kitpick.cli.console import OUT, note, print_json, require_agreement
from kitpick.cli.options import CatalogOption, JsonOption
from kitpick.errors import InvalidAddress, NotAServer
from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_engines.opening import open_engine, without_secrets
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.setup import SetupStep, index_template, send_steps
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.embedder import schema_of

Way = Literal[
    "opensearch-plugin",
    "opensearch-ml-commons",
    "opensearch-agents",
    "elasticsearch-basic",
    "elasticsearch-inference",
]


def template_steps(way: Way) -> list[SetupStep]:
    """The requests of one way, in order."""
    entries = sorted((_folder() / way).iterdir(), key=lambda entry: entry.name)
    return [decode_as(entry.read_bytes(), SetupStep) for entry in entries]


def template_values(name: str, rescorer: str, key: str, model: str) -> dict[str, str]:
    """Values for the requests of a setup, for a catalog of this name and a rescorer at this URL.

    `model` is the identity of the encoder behind the catalog's vectors.

    Raises:
        InvalidAddress: the URL names no host.
    """
    parts = urlsplit(rescorer)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise InvalidAddress("the rescorer's address is http(s)://HOST[:PORT], and its key is no part of it")
    return {
        "pipeline": name,
        "inference_id": name,
        "index": name,
        "scheme": parts.scheme,
        "host": parts.netloc,
        "host_regex": re.escape(parts.netloc),
        "key": key,
        "vector_model": model,
    }


def _folder() -> Path:
    """The folder of templates, in the installed package or in the checkout."""
    package = Path(__file__).parents[1]
    installed = package / "plugin_templates"
    return installed if installed.is_dir() else package.parent / "plugin" / "templates"


_HIDDEN = "***"


def setup(
    catalog: CatalogOption = None,
    way: Annotated[
        Way | None, typer.Option("--with", help="Also let the server use kitpick, in this way.")
    ] = None,
    rescorer: Annotated[
        str,
        typer.Option(
            "--rescorer",
            help="Address of the rescorer service, for --with; of `kitpick mcp --http` for agents.",
            metavar="URL",
        ),
    ] = "http://localhost:8080",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests without sending them.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Change settings of the whole cluster without asking.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Prepares OpenSearch or Elasticsearch for a catalog.

    Creates the index template, and with --with what lets the server use kitpick. Ingesting works without the
    template; the server's defaults then decide shards and replicas. What is there already is not made twice.
    Where settings of the whole cluster have to change, the change is shown and asked about; lists are added
    to. The key of the rescorer is read from KITPICK_RESCORER_KEY and never printed.
    """
    settings = Settings()
    url = catalog or settings.catalog
    with closing(open_engine(url)) as engine:
        if not isinstance(engine, RemoteEngine):
            raise NotAServer(without_secrets(url))
        live = None if dry_run else engine.live()  # a dry run needs no server
        schema = live[1] if live else schema_of(ModelSet(settings).encoder)
        steps = [index_template(engine.address, engine.dialect, schema.dimensions)]
        key = os.environ.get("KITPICK_RESCORER_KEY", "")
        values = template_values(engine.address.name, rescorer, key, schema.model)
        steps += template_steps(way) if way else []
        if not dry_run:
            steps = send_steps(engine.server, steps, values, _agree if yes else _ask)
    shown = [step.filled(values | {"key": _HIDDEN}) for step in steps]
    print_json(shown) if as_json else _print(shown, dry_run)


def _agree(step: SetupStep) -> None:
    """`--yes`."""


def _ask(step: SetupStep) -> None:
    """Shows a change of the whole cluster's settings, and goes on only if the user wants it."""
    note(step.does)
    note(_indented(step))
    otherwise = "the cluster's settings were left as they are; --yes changes them without asking"
    require_agreement("Change these settings of the whole cluster?", otherwise)


def _print(steps: list[SetupStep], dry_run: bool) -> None:
    for step in steps:
        made = "an example" if step.example else "would be made" if dry_run else "made"
        note(f"{made}: {step.does}")
        OUT.print(f"{step.method} {step.path}", markup=False)
        OUT.print(_indented(step), markup=False, soft_wrap=True)


def _indented(step: SetupStep) -> str:
    return msgspec.json.format(msgspec.json.encode(step.body), indent=2).decode()
