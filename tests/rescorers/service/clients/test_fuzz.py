"""Every endpoint, fuzzed from its own description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "serve", "clients"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow,
]
PATHS = (
    "/v1/rescore",
    "/v2/rerank",
    "/v1/rerank",
    "/rerank",
    "/v1/embeddings",
    "/v1/models",
    "/health/live",
    "/health/ready",
)


@pytest.fixture(scope="module")
def target(start: Any) -> Iterator[Any]:
    with start(deadline_seconds=20, body_seconds=2) as found:
        yield found


@pytest.mark.parametrize("path", PATHS)
def test_answers_conform_to_the_description(target: Any, path: str) -> None:
    """No 5xx but those described, no undescribed status, every body as its schema says."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    schema = schemathesis.openapi.from_url(f"{target.url}/openapi.json")
    operation = next(iter(schema[path].values()))
    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]

    @given(case=operation.as_strategy())
    @settings(
        max_examples=40,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    def conforms(case: Any) -> None:
        case.validate_response(case.call(timeout=30), checks=checks)

    conforms()
    assert target.get("/health/ready").status_code == 200
