"""What is deployed fits its schemas, and the service it deploys. No container engine runs here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = sorted(ROOT.glob("docker-compose*.yml"))
DOCKERFILE = ROOT / "rescorers" / "Dockerfile"
pytestmark = pytest.mark.needs("serve")


@pytest.mark.needs("clients")
def test_compose_files_are_valid() -> None:
    """By the Compose specification's own schema."""
    command = ["check_jsonschema", "--builtin-schema", "vendor.compose-spec", *map(str, COMPOSE)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_everything_the_image_is_built_from_exists() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    sources = [source for line in copied for source in line.split()[:-1]]
    assert len(sources) > 6
    assert all((ROOT / source).exists() for source in sources)


def test_everything_the_wheel_holds_is_in_the_image_that_builds_it() -> None:
    stage = DOCKERFILE.read_text("utf-8").partition(" AS wheel\n")[2].partition("\nFROM ")[0]
    copied = [name for line in re.findall(r"^COPY (.+)$", stage, re.MULTILINE) for name in line.split()[:-1]]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    wheel = project.partition("[tool.hatch.build.targets.wheel]")[2].partition("\n[tool.ruff]")[0]
    wanted = re.findall(r'^ *"([^"]+)"[, ]', wheel, re.MULTILINE)
    assert {"kitpick", "plugin/templates"} <= set(wanted)
    assert all(any(f"{name}/".startswith(f"{each}/") for each in copied) for name in wanted)


def test_images_run_as_nobody_special_and_know_how_they_are() -> None:
    text = DOCKERFILE.read_text("utf-8")
    for target in ("cpu", "gpu"):
        stage = text.partition(f" AS {target}\n")[2].partition("\nFROM ")[0]
        assert "USER 10001" in stage
        assert "/health/ready" in stage
        assert 'ENTRYPOINT ["kitpick"]\nCMD ["serve"]\n' in stage


def test_the_extras_an_image_installs_exist() -> None:
    extras = re.findall(r"\.whl\)\[([a-z,]+)\]", DOCKERFILE.read_text("utf-8"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert len(extras) == 2
    assert all(
        re.search(rf"^{name} = \[", project, re.MULTILINE) for found in extras for name in found.split(",")
    )
