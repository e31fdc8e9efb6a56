"""What counts as a double: another tool's copy or near-duplicate, and nothing of the own tool."""

from __future__ import annotations

import numpy as np
from doubles import doubles

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.health.duplicates import WordWeights
from kitpick_training.data.operations import copies


def api(tool: str, name: str, description: str) -> ApiDocument:
    return ApiDocument(f"mcp/{tool}/{name}", "mcp", "", tool, name, description)


HITS = [
    api("maps", "geocode", "Finds the coordinates of an address"),
    api("maps", "geocode_again", "Finds the coordinates of an address"),
    api("atlas", "Geocode", "finds the  coordinates of an address"),
    api("globe", "geocode", "Finds coordinates of the address"),
    api("mail", "send", "Sends a message to a recipient"),
]


def test_copies_and_near_ones_of_other_tools_are_doubles() -> None:
    vectors = {hit.id: np.eye(2, dtype=np.float32)[int(hit.tool == "mail")] for hit in HITS}
    assert doubles(HITS, copies(HITS), WordWeights(HITS), vectors) == {2: "copy", 3: "near"}
