"""No door of a service or gateway shows its callers where the operator keeps things."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from kitpick.catalog import Catalog
from kitpick.places import places_of
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_rescorers.intents.store import Intent

pytestmark = pytest.mark.needs("weights", "onnxruntime")


@pytest.fixture
def broken(catalog: Catalog, settings: Settings, tmp_path: Path) -> Catalog:
    """A catalog whose answers and samples cannot be read."""
    catalog.add_intents([Intent("is it wet", "functions/functions/get_weather")])
    samples, answers = catalog.intents.votes.samples, tmp_path / "kept" / "answers.db"
    assert samples is not None
    answers.parent.mkdir()
    for file in (samples.path, answers):
        file.write_bytes(b"garbage" * 1_000)
    return Catalog.open(settings=Settings(catalog=settings.catalog, answers=answers))


def test_what_is_degraded_names_files_and_no_folder(broken: Catalog, tmp_path: Path) -> None:
    result = broken.search("will it rain", profile="kitpick")
    reasons = {each.stage: each.reason for each in result.degraded}
    assert {"intent", "feedback"} <= reasons.keys()
    assert str(tmp_path) in reasons["feedback"], "whoever runs it is told where"
    told = [places_of(broken).hidden(reason) for reason in reasons.values()]
    assert not [text for text in told if str(tmp_path) in text]
    assert any(text.startswith("answers.db: answers: ") for text in told)


def test_feedback_that_cannot_be_stored_is_refused_without_a_folder(broken: Catalog, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as failed:
        broken.feedback("is it wet", ["functions/functions/get_weather"], filter=Filter())
    assert str(tmp_path) in str(failed.value)
    assert str(tmp_path) not in places_of(broken).hidden(str(failed.value))


@pytest.mark.needs("mcp")
@pytest.mark.parametrize("guarded", [True, False])
def test_a_gateway_with_callers_tells_them_no_folder(broken: Catalog, tmp_path: Path, guarded: bool) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.server import CatalogServer

    callers = (Caller("ann", sha256="0" * 64),) if guarded else ()
    server = CatalogServer(broken, McpConfig(callers=callers), Caller("local"))
    said = [
        anyio.run(server._tools.answer, name, given, Caller("ann")).content[0].text
        for name, given in (
            ("search_tools", {"query": "will it rain"}),
            ("feedback", {"answer": "is it wet", "chosen": ["functions/functions/get_weather"]}),
        )
    ]
    assert [str(tmp_path) in text for text in said] == [not guarded, not guarded]
