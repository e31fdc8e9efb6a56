"""docs/service.md and docs/protocol.md say what the service does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kitpick_service.errors import Invalid, failure_of
from kitpick_service.protocol import RescoreAnswer, RescoreCall
from kitpick_service.settings import ServiceSettings

pytestmark = pytest.mark.needs("serve")
DOCS = Path(__file__).resolve().parents[3] / "docs"
SERVICE = (DOCS / "service.md").read_text("utf-8")
PROTOCOL = (DOCS / "protocol.md").read_text("utf-8")


def test_every_setting_is_documented() -> None:
    section = SERVICE.partition("## Settings")[2].partition("\n## ")[0]
    documented = {
        name
        for row in re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert documented == {field.name for field in msgspec.structs.fields(ServiceSettings)}


@pytest.mark.parametrize(("heading", "struct"), [("## Request", RescoreCall), ("## Answer", RescoreAnswer)])
def test_every_field_of_the_protocol_is_documented(heading: str, struct: type[msgspec.Struct]) -> None:
    section = PROTOCOL.partition(heading)[2].partition("\n## ")[0]
    documented = {
        name
        for row in re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert documented == {field.name for field in msgspec.structs.fields(struct)}


def test_every_code_of_an_error_is_documented() -> None:
    section = PROTOCOL.partition("## Errors")[2]
    assert f"`{failure_of(Invalid('x')).code}`" in section
    for code in ("malformed", "unauthorized", "too_slow", "too_large", "overloaded", "internal", "deadline"):
        assert f"`{code}`" in section


@pytest.mark.needs("weights", "onnxruntime")
def test_every_path_is_documented_and_answers(service: Any) -> None:
    paths = service.get("/openapi.json").json()["paths"]
    assert all(f"{path}`" in SERVICE for path in paths)
    for path in ("/metrics", "/openapi.json", "/docs"):
        assert f"GET {path}`" in SERVICE
        assert service.get(path).status_code == 200


@pytest.mark.needs("weights", "onnxruntime")
def test_the_request_of_the_protocol_page_works(service: Any) -> None:
    script = re.search(r"```sh\n(curl .*?)```", PROTOCOL, re.DOTALL)
    assert script
    body = shlex.split(script[1])[-1]
    answer = service.post("/v1/rescore", json.loads(body)).json()
    assert [hit["id"] for hit in answer["results"]] == ["demo/weather/forecast", "demo/hotels/search"]
