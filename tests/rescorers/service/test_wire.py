"""The native protocol against `tests/data/wire/*.json`, which the OpenSearch plugin's tests read too.

Run as a script, this writes the fixtures anew: do so when the protocol or a shipped model changes.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from kitpick_service.dialects.native import NATIVE
from kitpick_service.errors import (
    DeadlinePassed,
    Overloaded,
    ServiceError,
    Unauthorized,
    Unready,
    failure_of,
)
from kitpick_service.protocol import RescoreAnswer, RescoreCall, SearchAnswer, SearchCall

HERE = Path(__file__).resolve().parent
WIRE = HERE.parents[1] / "data" / "wire"
pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = _load("wire_cases")
REFUSALS: dict[str, ServiceError] = {
    "error-unauthorized": Unauthorized(),
    "error-overloaded": Overloaded("12,000 tokens are waiting", retry_after=1.2),
    "error-unavailable": Unready("this copy is about to stop"),
    "error-deadline": DeadlinePassed("not done within 500 ms"),
}


def fixture(name: str) -> Any:
    return json.loads((WIRE / f"{name}.json").read_text("utf-8"))


def exchanged(service: Any, name: str) -> dict[str, Any]:
    """The fixture of a case as the service answers it now."""
    path, body = CASES.BODIES[name]
    answer = service.post(path, body, headers={"x-request-id": name})
    return {
        "request": {"method": "POST", "path": path, "body": body},
        "response": {"status": answer.status_code, "body": CASES.settled(answer.json())},
    }


def refused(name: str) -> dict[str, Any]:
    """The fixture of a refusal that depends on the state of the service."""
    failure = failure_of(REFUSALS[name])
    response: dict[str, Any] = {"status": failure.status}
    if failure.retry_after is not None:
        response["headers"] = {"retry-after": str(failure.retry_after)}
    response["body"] = msgspec.to_builtins(NATIVE.error(failure, name))
    return {"request": {"method": "POST", "path": "/v1/rescore"}, "response": response}


WORDING = {"message", "reason", "reasons", "abstained_because", "note", "identity", "timings", "details"}
"""What may be worded otherwise, or says how long something took: its type counts."""


def alike(found: Any, expected: Any) -> bool:
    """The same keys, types, order, codes, flags. Numbers and words are a model's and a profile's matter."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            isinstance(found[key], type(expected[key]))
            if key in WORDING
            else alike(found[key], expected[key])
            for key in expected
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float)
    return bool(found == expected)


@pytest.mark.parametrize("name", sorted(CASES.BODIES))
def test_answers_as_the_fixture_says(name: str, service: Any) -> None:
    found, expected = exchanged(service, name), fixture(name)
    assert found["request"] == expected["request"]
    assert alike(found["response"], expected["response"]), found["response"]


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_refuses_as_the_fixture_says(name: str) -> None:
    assert refused(name) == fixture(name)


def test_every_fixture_has_its_case() -> None:
    assert {path.stem for path in WIRE.glob("*.json")} == {*CASES.BODIES, *REFUSALS}


@pytest.mark.parametrize("name", sorted(name for name in CASES.RESCORE if name.startswith("rescore-")))
def test_requests_and_answers_survive_a_round_trip(name: str) -> None:
    """Nothing is lost between the wire and the typed form."""
    kept = fixture(name)
    call = msgspec.convert(kept["request"]["body"], RescoreCall)
    assert msgspec.json.decode(msgspec.json.encode(call), type=RescoreCall) == call
    answer = msgspec.convert(kept["response"]["body"], RescoreAnswer)
    assert json.loads(msgspec.json.encode(answer)) == kept["response"]["body"]


@pytest.mark.parametrize("name", sorted(name for name in CASES.SEARCH if not name.startswith("error-")))
def test_searches_and_their_answers_survive_a_round_trip(name: str) -> None:
    kept = fixture(name)
    call = msgspec.json.decode(json.dumps(kept["request"]["body"]), type=SearchCall)
    assert msgspec.json.decode(msgspec.json.encode(call), type=SearchCall) == call
    answer = msgspec.convert(kept["response"]["body"], SearchAnswer)
    assert json.loads(msgspec.json.encode(answer)) == kept["response"]["body"]
    assert bool(answer.searches) is not bool(call.found), "a ranking only of what was found"
    assert (answer.ranking is None) is bool(answer.searches or answer.missing)


if __name__ == "__main__":
    fixtures = _load("conftest")
    with fixtures.running(fixtures.ServiceSettings(port=0)) as at_work:
        found = {name: exchanged(at_work, name) for name in CASES.BODIES}
    found |= {name: refused(name) for name in REFUSALS}
    WIRE.mkdir(parents=True, exist_ok=True)
    for file_name, content in found.items():
        text = json.dumps(content, indent=2, ensure_ascii=False)
        (WIRE / f"{file_name}.json").write_text(text + "\n", "utf-8")
