"""The Helm chart: rendered by Helm itself, valid by the schemas of Kubernetes, and right for the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from helm_program import CHART, Refused, helm, rendered

from kitpick.settings import read_service_settings
from kitpick_service.app import ENDPOINTS

DIGEST = "sha256:" + "a1" * 32
EVERYTHING = [
    *("--set", f"image.digest={DIGEST}", "--set", "image.pullSecrets={registry}", "--set", "gpus=2"),
    *("--set", "tls.secret=certificate", "--set", "autoscaling.enabled=false", "--set", "replicas=3"),
    *("--set", "network.from[0].namespaceSelector.matchLabels.team=search", "--set", "nodeSelector.disk=ssd"),
    *("--set", "tolerations[0].key=gpu", "--set", "tolerations[0].operator=Exists"),
    *("--set", "network.egress[0].ports[0].port=4318", "--set", "disruption.minAvailable=50%"),
]
pytestmark = [pytest.mark.needs("helm", "serve"), pytest.mark.slow]


def container(manifests: dict[str, Any]) -> Any:
    (only,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    return only


def values(tmp_path: Path, **chosen: Any) -> list[str]:
    """A file of values, as an operator keeps it."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(chosen), "utf-8")
    return ["--values", str(file)]


@pytest.mark.needs("clients")
@pytest.mark.parametrize("arguments", [[], EVERYTHING], ids=["defaults", "everything"])
def test_what_is_rendered_is_valid(arguments: list[str]) -> None:
    """By Helm's own check, and by the schemas of the Kubernetes API, strictly: unknown fields are errors."""
    import kubernetes_validate

    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), *arguments)
    found = rendered(*arguments)
    assert {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"} <= set(found)
    for manifest in found.values():
        for version in ("1.30", "1.33"):
            kubernetes_validate.validate(manifest, version, strict=True)


def test_two_releases_do_not_share_copies() -> None:
    first, second = rendered(release="one"), rendered(release="two")
    for kind in first:
        assert first[kind]["metadata"]["name"] != second[kind]["metadata"]["name"]
    assert first["Service"]["spec"]["selector"] != second["Service"]["spec"]["selector"]
    for found in (first, second):
        labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
        assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
        assert found["Service"]["spec"]["selector"] == labels
        assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
        assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
        name = found["Deployment"]["metadata"]["name"]
        assert found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == name


def test_the_service_reads_every_setting_as_it_was_written(tmp_path: Path) -> None:
    chosen = {
        "profile": "hybrid",
        "max_body_bytes": 67_108_864,
        "warm_up_seconds": 2.5,
        "log_queries": True,
        "drain_seconds": 90,
    }
    found = rendered(*values(tmp_path, settings=chosen, tls={"secret": "certificate"}))
    environment = {item["name"]: item["value"] for item in container(found)["env"]}
    read = read_service_settings({}, environment=environment).settings
    assert {name: getattr(read, name) for name in chosen} == chosen
    assert (read.tls_certificate, read.tls_key) == ("/tls/tls.crt", "/tls/tls.key")
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > read.drain_seconds + 5


def test_secrets_are_named_and_their_files_are_where_the_service_looks() -> None:
    found = rendered("--set", "tls.secret=certificate", "--set", "keys.secret=mine")
    assert "Secret" not in found
    pod = found["Deployment"]["spec"]["template"]["spec"]
    secrets = {each["name"]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    mounts = {each["name"]: each for each in container(found)["volumeMounts"]}
    assert secrets == {"keys": "mine", "tls": "certificate"}
    assert all(mounts[name]["readOnly"] for name in secrets)
    assert (mounts["keys"]["mountPath"], mounts["tls"]["mountPath"]) == ("/keys", "/tls")
    probes = [container(found)[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")]
    assert {probe["scheme"] for probe in probes} == {"HTTPS"}


def test_probes_and_settings_are_those_of_the_service() -> None:
    only = container(rendered())
    paths = {endpoint.path for endpoint in ENDPOINTS}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert only[probe]["httpGet"]["path"] in paths
    told = {item["name"]: item["value"] for item in only["env"]}
    settings = read_service_settings({}, environment=told).settings
    assert (settings.host, settings.keys) == ("0.0.0.0", "/keys/keys.toml")
    assert settings.port == only["ports"][0]["containerPort"]
    assert only["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_the_autoscaler_reads_a_metric_that_is_told() -> None:
    from kitpick_service.core import Service

    service = Service(read_service_settings({}, environment={}).settings)
    wanted = rendered()["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["pods"]["metric"]
    line = f'{wanted["name"]}{{model="{wanted["selector"]["matchLabels"]["model"]}"}}'
    assert line in service.metrics.text().decode()
    service.close()


def test_an_image_is_named_by_its_digest_where_one_is_given() -> None:
    assert container(rendered())["image"] == "kitpick-rescorer:0.1.0"
    named = container(rendered("--set", f"image.digest={DIGEST}"))["image"]
    assert named == f"kitpick-rescorer:0.1.0@{DIGEST}"


def test_copies_are_added_by_the_time_that_work_waits() -> None:
    found = rendered("--set-json", "autoscaling.queueSeconds=0.4")
    assert "replicas" not in found["Deployment"]["spec"], "an upgrade would undo what the autoscaler did"
    (metric,) = found["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == "kitpick_queue_seconds"
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "400m"}
    fixed = rendered("--set", "autoscaling.enabled=false", "--set", "replicas=3")
    assert "HorizontalPodAutoscaler" not in fixed
    assert fixed["Deployment"]["spec"]["replicas"] == 3


def test_a_graphics_card_is_asked_for_and_used() -> None:
    found = rendered("--set", "gpus=1")
    assert container(found)["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert {"name": "KITPICK_SERVE_PROVIDER", "value": "cuda"} in container(found)["env"]
    assert "nvidia.com/gpu" not in container(rendered())["resources"]["limits"]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("image.digest=latest", "digest"),
        ("replicas=0", "replicas"),
        ("settings.keys=abc", "keys"),
        ("autoscaling.queueSeconds=soon", "queueSeconds"),
        ("resources.limits=null", "limits"),
        ("pdb.enabled=true", "pdb"),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_name(wrong: str, named: str) -> None:
    with pytest.raises(Refused, match=named):
        rendered("--set", wrong)


def test_the_chart_is_of_this_version() -> None:
    project = (CHART.parents[1] / "pyproject.toml").read_text("utf-8")
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert f'\nversion = "{chart["appVersion"]}"\n' in project
