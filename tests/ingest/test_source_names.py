"""Names of sources that the user did not name."""

from __future__ import annotations

import pytest

from kitpick_ingest.source_names import default_name


@pytest.mark.parametrize(
    ("kind", "target", "name"),
    [
        ("openapi", "specs/petstore.json", "petstore"),
        ("openapi", "petstore/openapi.yaml", "petstore"),
        ("beir", "/data/toollens/", "toollens"),
        ("botocore", "", "botocore"),
        ("botocore", "s3,ec2", "botocore"),
        ("mcp", "https://user:pw@mcp.example.com/mcp?key=1", "mcp.example.com"),
        ("mcp", "https://example.com:8443/tools/mcp/", "example.com:8443/tools"),
        ("mcp", "stdio:npx -y @scope/server-files --token secret /tmp", "server-files"),
        ("mcp", "stdio:uv run my_server.py", "my_server"),
        ("mcp", "stdio:/usr/bin/weather-mcp --key secret", "weather-mcp"),
        ("mcp", "stdio:python", "python"),
        ("functions", "/", "functions"),
        ("functions", "work/functions.json", "functions"),
        ("functions", "work/tools.json", "tools"),
        ("functions", "work/my_functions", "my_functions"),
        ("beir", "/data/toollens/../beir", "beir"),
    ],
)
def test_a_name_is_short_and_tells_no_secret(kind: str, target: str, name: str) -> None:
    assert default_name(kind, target) == name
