"""The Compose files: nothing without bounds, versions fixed, a GPU that is used. No container runs here."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILES = [ROOT / "rescorers" / "Dockerfile", ROOT / "plugin" / "Dockerfile"]
EXACT = re.compile(r"^[a-z0-9/.-]+:\d+\.\d+\.\d+[\w.-]*$|@sha256:[0-9a-f]{64}$")


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / name).read_text("utf-8"))["services"]
    return found


def merged(base: Any, other: Any, name: str = "") -> Any:
    """As `docker compose -f BASE -f OTHER` merges two files: commands are replaced, other lists add up."""
    if isinstance(base, dict) and isinstance(other, dict):
        return {key: merged(base.get(key), other.get(key), key) for key in base | other}
    if isinstance(base, list) and isinstance(other, list) and name not in {"test", "command", "entrypoint"}:
        return [*base, *other]
    return base if other is None else other


SERVICES = read("docker-compose.yml")
WITH_GPU = merged(SERVICES, read("docker-compose.gpu.yml"))
USERS = ("writer", "reader", "operator")
SECURED = merged(SERVICES, read("docker-compose.secured.yml"))


@pytest.mark.parametrize("services", [SERVICES, WITH_GPU, SECURED], ids=["cpu", "gpu", "secured"])
def test_no_container_takes_more_than_its_share_or_gains_rights(services: dict[str, Any]) -> None:
    for name, service in services.items():
        limits = service["deploy"]["resources"]["limits"]
        assert {"memory", "pids"} <= set(limits), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["logging"]["options"].keys() >= {"max-size", "max-file"}, name
        if name != "opensearch":
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name


def test_what_serves_comes_back_and_what_is_done_does_not() -> None:
    policies = {name: service.get("restart", "no") for name, service in SERVICES.items()}
    assert policies == {
        "opensearch": "unless-stopped",
        "rescorer": "unless-stopped",
        "setup": "on-failure:5",
        "ingest": "no",
    }


def test_the_server_locks_its_heap_which_is_half_of_its_memory() -> None:
    server = SERVICES["opensearch"]
    (heap,) = re.findall(r"-Xms(\d+)g -Xmx\1g", server["environment"]["OPENSEARCH_JAVA_OPTS"])
    assert server["deploy"]["resources"]["limits"]["memory"] == f"{2 * int(heap)}g"
    assert server["environment"]["bootstrap.memory_lock"] == "true"
    assert server["ulimits"]["memlock"] == {"soft": -1, "hard": -1}
    assert server["ulimits"]["nofile"]["soft"] >= 65_536


def test_only_this_machine_reaches_the_ports() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_opensearch_asks_the_service_that_has_the_gpu() -> None:
    endpoint = WITH_GPU["opensearch"]["environment"]["kitpick.endpoint"]
    asked = WITH_GPU[re.fullmatch(r"http://([\w-]+):8080", endpoint)[1]]  # type: ignore[index]
    assert asked["build"]["target"] == "gpu"
    (device,) = asked["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert asked["image"] != SERVICES["rescorer"]["image"]
    jobs = [WITH_GPU[name] for name in ("setup", "ingest")]
    assert all(job["build"]["target"] == "cpu" for job in jobs), "no job waits for a card"


def test_the_secured_variant_speaks_nothing_without_tls_and_holds_no_secret() -> None:
    text = (ROOT / "docker-compose.secured.yml").read_text("utf-8")
    server = SECURED["opensearch"]["environment"]
    assert server["DISABLE_SECURITY_PLUGIN"] == "false"
    assert server["plugins.security.ssl.http.enabled"] == "true"
    assert server["kitpick.endpoint"].startswith("https://")
    assert all("https://" in str(SECURED[name]["healthcheck"]["test"]) for name in ("opensearch", "rescorer"))
    for name in ("setup", "ingest"):
        assert SECURED[name]["environment"]["KITPICK_CATALOG"].startswith(
            "opensearch+https://opensearch:9200/"
        )
        assert SECURED[name]["env_file"] == ["secrets/writer.env"]
    assert not re.search(r"(?i)password\s*[:=]|\bkey:", text)
    assert "http://" not in text
    assert "/secrets/" in (ROOT / ".gitignore").read_text("utf-8").split()


def test_what_the_secured_variant_mounts_is_made_by_the_script(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    command = [ROOT / "scripts" / "secrets", folder]
    subprocess.run(command, check=True, capture_output=True)
    assert folder.stat().st_mode & 0o077 == 0, "nobody else on the machine gets in"
    mounts = [m for service in SECURED.values() for m in service.get("volumes", ()) if m.startswith("./")]
    assert len(mounts) == 5
    for source in (mount.split(":")[0] for mount in mounts):
        assert (tmp_path / source if source.startswith("./secrets") else ROOT / source).is_dir(), source
    assert all(mount.endswith(":ro") for mount in mounts)
    assert not (folder / "opensearch" / "keys.toml").exists(), "each gets what it needs"
    assert not list(folder.glob("*/authority.key")), "no container can sign"
    for name in ("opensearch", "rescorer"):
        check = ["openssl", "verify", "-x509_strict", "-CAfile", folder / "authority" / "ca.pem"]
        subprocess.run([*check, folder / name / f"{name}.pem"], check=True, capture_output=True)
    (key,) = tomllib.loads((folder / "rescorer" / "keys.toml").read_text("utf-8"))["keys"]
    secret = (folder / "opensearch" / "kitpick.key").read_bytes()
    assert key["sha256"] == hashlib.sha256(secret).hexdigest()
    assert len({(folder / "opensearch" / f"{user}.password").read_text() for user in USERS}) == len(USERS)
    again = subprocess.run(command, capture_output=True, check=False)
    assert again.returncode == 2, "what is in use is not replaced"


def test_every_user_of_the_secured_variant_has_a_role() -> None:
    files = {name: ROOT / "plugin" / "secured" / f"{name}.yml" for name in ("roles", "roles_mapping")}
    roles, mapping = (yaml.safe_load(file.read_text("utf-8")) for file in files.values())
    assert roles.keys() == mapping.keys()
    mapped = {name: entry["users"] for name, entry in mapping.items() if name != "_meta"}
    assert mapped == {f"kitpick_{user}": [f"kitpick_{user}"] for user in USERS}


def test_images_that_are_fetched_have_an_exact_version() -> None:
    for file in DOCKERFILES:
        text = file.read_text("utf-8")
        arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
        bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
        assert bases
        for base in bases:
            image = arguments[base.removeprefix("${").removesuffix("}")]
            assert EXACT.search(image), image


def test_every_package_in_an_image_has_a_fixed_version() -> None:
    """All that the extras of both images need, as far as it is installed here, and what builds the wheel."""
    text = (ROOT / "scripts" / "constraints.txt").read_text("utf-8")
    fixed = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    dockerfile = DOCKERFILES[0].read_text("utf-8")
    installs = re.findall(r"pip install ((?:.|\\\n)+?)(?: \\\n|\n)", dockerfile)
    assert len(installs) == 3
    assert all("--constraint" in install for install in installs[1:])
    assert "ENV PIP_CONSTRAINT=/constraints.txt\n" in dockerfile
    extras = {
        extra for found in re.findall(r"\.whl\)\[([a-z,]+)\]", dockerfile) for extra in found.split(",")
    }
    assert {"build", "hatchling", "onnxruntime-gpu"} <= fixed
    assert needed(extras) - fixed == set()


def needed(extras: set[str]) -> set[str]:
    """Names of what ours needs with these extras, and of what that needs, as installed here."""
    found: set[str] = set()
    waiting = [("kitpick", extra) for extra in (*extras, "")]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for line in lines:
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                found.add(canonicalize_name(wanted.name))
                fresh = {(wanted.name, each) for each in ("", *wanted.extras)} - seen
                seen |= fresh
                waiting += fresh
    assert {"onnxruntime", "tokenizers", "uvicorn"} <= found
    return found
