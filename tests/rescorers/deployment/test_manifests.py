"""What is deployed fits its schemas, and the service it deploys. No container engine runs here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitpick.settings import read_service_settings
from kitpick_rescorers.service.app import ENDPOINTS
from kitpick_rescorers.service.metrics import Metrics

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = sorted(ROOT.glob("docker-compose*.yml"))
DOCKERFILE = ROOT / "rescorers" / "Dockerfile"
MANIFESTS = sorted((ROOT / "rescorers" / "kubernetes").glob("*.yaml"))
pytestmark = pytest.mark.needs("serve")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def manifest(kind: str) -> Any:
    return next(found for found in map(read, MANIFESTS) if found["kind"] == kind)


@pytest.mark.needs("clients")
def test_compose_files_are_valid() -> None:
    """By the Compose specification's own schema."""
    command = ["check_jsonschema", "--builtin-schema", "vendor.compose-spec", *map(str, COMPOSE)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.needs("clients")
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_manifests_are_valid(path: Path) -> None:
    """By the schemas of the Kubernetes API, strictly: unknown fields are errors."""
    import kubernetes_validate

    found = read(path)
    kubernetes_validate.validate(found, "1.33", strict=True)
    assert found["metadata"]["name"], "what it does not ask for"


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


def test_paths_and_variables_are_those_of_the_service() -> None:
    container = manifest("Deployment")["spec"]["template"]["spec"]["containers"][0]
    paths = {endpoint.path for endpoint in ENDPOINTS}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    explained = read_service_settings(
        {}, environment={item["name"]: item["value"] for item in container["env"]}
    )
    assert explained.settings.host == "0.0.0.0"
    assert explained.settings.port == container["ports"][0]["containerPort"]
    assert explained.settings.keys == "/keys/keys.toml"


def test_a_copy_has_time_to_drain() -> None:
    seconds = manifest("Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert seconds > read_service_settings({}, environment={}).settings.drain_seconds + 5


def test_nothing_may_write_outside_of_its_scratch() -> None:
    container = manifest("Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_every_part_selects_the_copies_of_the_deployment() -> None:
    labels = manifest("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert manifest("Service")["spec"]["selector"] == labels
    assert manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    assert manifest("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == "kitpick-rescorer"


@pytest.mark.needs("weights", "onnxruntime")
def test_the_autoscaler_reads_a_metric_that_is_told() -> None:
    from kitpick_rescorers.service.core import Service

    service = Service(read_service_settings({}, environment={}).settings)
    wanted = manifest("HorizontalPodAutoscaler")["spec"]["metrics"][0]["pods"]["metric"]
    line = f'{wanted["name"]}{{model="{wanted["selector"]["matchLabels"]["model"]}"}}'
    assert line in service.metrics.text().decode()
    assert isinstance(service.metrics, Metrics)
    service.close()
