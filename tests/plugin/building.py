"""Builds the plugin with Maven, once a session: format, lint, unit tests, zip."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from jdk import INSTALL, find_jdk
from node_process import as_nobody

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
_LOOKED_AT = 8_000
"""Characters of Maven's output that an error shows."""


def build(*goals: str, version: str | None = None, plugin: Path = PLUGIN) -> Path:
    """Runs Maven on the plugin's sources and returns the zip; offline where all has been fetched before.

    With a `version` of OpenSearch it is built for that one, in a folder of its own. OpenSearch's test
    framework refuses to run as root, just as the server does.

    Raises:
        RuntimeError: no JDK, or the build failed; the message ends with what Maven said last.
    """
    java = find_jdk()
    if java is None:
        raise RuntimeError(INSTALL)
    folder = "target" if version is None else f"target/{version}"
    chosen = [f"-Dbuild.folder={folder}", *([] if version is None else [f"-Dopensearch.version={version}"])]
    said = ""
    for network in (["-o"], []):
        command = [*as_nobody(), "mvn", "-q", "-B", "-ntp", *network, *chosen, *goals]
        done = subprocess.run(
            command, cwd=plugin, env={**os.environ, "JAVA_HOME": str(java), "MAVEN_OPTS": at_home()},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            (built,) = (plugin / folder / "releases").glob("kitpick-*.zip")
            return built
        said = done.stdout
        if "offline" not in said:
            break
    raise RuntimeError(f"mvn {' '.join(goals)} failed:\n{said[-_LOOKED_AT:]}")


def at_home() -> str:
    """Maven's settings and artifacts are those of who started the tests, not those of nobody."""
    return f"{os.environ.get('MAVEN_OPTS', '')} -Duser.home={Path.home()}"
