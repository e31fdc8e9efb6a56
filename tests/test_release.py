"""scripts/release expects of the parts that it tries what they print today."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")

WRITTEN = {
    "npm/package.json": r'"version": "(.+?)"',
    "plugin/pom.xml": r"<artifactId>kitpick-opensearch</artifactId>\s+<version>(.+?)<",
    "rescorers/helm/Chart.yaml": r"^(?:v|appV)ersion: (.+)$",
    "docker-compose.yml": r"image: kitpick-\w+:(\S+)",
    "docker-compose.gpu.yml": r"image: kitpick-\w+:(\S+)-gpu",
    "plugin/Dockerfile": r"kitpick-([\d.]+)\.zip",
    "README.md": r"kitpick-([\d.]+)-py3",
    "docs/plugin.md": r"kitpick-([\d.]+)\.zip",
    "docs/agents.md": r"kitpick-([\d.]+)\.tgz",
}
"""Where the version stands, and how."""
VERSIONS = {
    place: sorted(set(re.findall(pattern, (ROOT / place).read_text("utf-8"), re.MULTILINE)))
    for place, pattern in WRITTEN.items()
}


@pytest.fixture(scope="module")
def release() -> ModuleType:
    loader = SourceFileLoader("release_script", str(ROOT / "scripts" / "release"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_what_it_expects_of_the_quickstart_is_what_the_readme_shows(release: ModuleType) -> None:
    printed = README[README.index("$ scripts/quickstart") : README.index("$ scripts/test")]
    assert [each for each in release.FOUND if each not in printed] == []


def test_the_example_that_it_runs_is_the_first_one_of_the_readme(release: ModuleType) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:1]
    assert "def get_weather" in example
    assert "try_example" in {trial.__name__ for trial in release.TRIALS.values()}


def test_links_that_lead_nowhere_on_an_index_are_seen(release: ModuleType) -> None:
    text = "[a](docs/a.md) [b](https://b.org) [c](#c) [d](../d)"
    assert release._LINK.findall(text) == ["docs/a.md", "../d"]


def test_there_is_one_version() -> None:
    version = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[0]
    assert [place for place, found in VERSIONS.items() if found != [version]] == []
