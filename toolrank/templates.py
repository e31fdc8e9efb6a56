"""The requests in `plugin/templates`: ways to let a cluster's own searches be reranked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from toolrank.errors import InvalidAddress
from toolrank_engines.remote.setup import Step

Way = Literal["opensearch-plugin", "opensearch-ml-commons", "elasticsearch-inference"]


def template_steps(way: Way) -> list[Step]:
    """The requests of one way, in order."""
    entries = sorted((_folder() / way).iterdir(), key=lambda entry: entry.name)
    return [msgspec.json.decode(entry.read_bytes(), type=Step) for entry in entries]


def template_values(name: str, rescorer: str, key: str) -> dict[str, str]:
    """What is filled into the requests for a catalog of this name and a rescorer at this URL.

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
    }


def _folder() -> Path:
    """Inside the installed package, or in the checkout it runs from."""
    here = Path(__file__).parent
    installed = here / "plugin_templates"
    return installed if installed.is_dir() else here.parent / "plugin" / "templates"
