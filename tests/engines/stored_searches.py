"""The stored searches of `plugin/templates/elasticsearch-basic`, filled in as Mustache does.

Our Elasticsearch node has no module for templates: what it would run is rendered here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "plugin" / "templates" / "elasticsearch-basic"


def rendered(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a stored search for these parameters.

    Raises:
        KeyError: a parameter is missing.
    """
    source: str = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["body"]["script"]["source"]
    source = re.sub(r"\{\{#toJson}}(\w+)\{\{/toJson}}", lambda found: json.dumps(values[found[1]]), source)
    source = re.sub(r"\{\{ (\w+) }}", lambda found: json.dumps(values[found[1]])[1:-1], source)
    filled: dict[str, Any] = json.loads(source)
    return filled
