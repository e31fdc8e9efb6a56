"""The way of one search, traced: the modules that `docs/architecture.md` lists are those that it visits."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import FrameType

import pytest

from kitpick import Catalog

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
MOST = 53
TOOLS = {
    "get_weather": "Current weather and forecast for a city",
    "send_email": "Send an email message to a recipient",
    "list_invoices": "List the invoices of a customer",
}


def listed() -> list[str]:
    (block,) = re.findall(r"```modules of one search\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return block.split()


def visited(catalog: Catalog, request: str) -> list[str]:
    """Modules of ours whose code the calling thread enters, in the order of the first time."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("kitpick"):
            seen.setdefault(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        catalog.search(request, k=1)
    finally:
        sys.setprofile(before)
    return list(seen)


@pytest.mark.needs("weights", "onnxruntime")
def test_the_page_lists_the_modules_that_a_default_search_visits(tmp_path: Path) -> None:
    definitions = [{"name": name, "description": text, "parameters": {}} for name, text in TOOLS.items()]
    (tmp_path / "tools.json").write_text(json.dumps(definitions))
    with Catalog.open(f"sqlite:{tmp_path / 'tools.db'}") as catalog:
        catalog.ingest(f"functions:{tmp_path / 'tools.json'}")
        catalog.search("list invoices", k=1)  # loads the models
        # No other test asks this: what is remembered of a request would not be entered again.
        found = visited(catalog, "will it rain in Trondheim on Thursday?")
    # With numba the kernels of the solver are compiled, and nobody sees them entered.
    compiled = {"kitpick_rescorers.nnn.gram"} if importlib.util.find_spec("numba") else set()
    assert [name for name in listed() if name not in compiled] == found
    assert len(found) <= MOST
