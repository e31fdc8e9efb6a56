"""OpenSearch's own plugin installer, from Maven Central: what `bin/opensearch-plugin` starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from distribution import assembled
from jdk import INSTALL, find_jdk
from maven import fetch

# First published at 3.6.0. With a node's libraries on its class path it installs for that node's version.
_ARTIFACTS = [
    "org.opensearch:opensearch-plugin-cli:3.6.0",
    "org.bouncycastle:bc-fips:2.1.2",
    "org.bouncycastle:bcpg-fips:2.1.11",
    "org.apache.commons:commons-compress:1.28.0",
    "commons-io:commons-io:2.16.0",
]


def opensearch_plugin(folder: Path, *arguments: str) -> str:
    """Runs `opensearch-plugin ARGUMENTS` on a node that is laid out in `folder`; returns what it printed.

    Raises:
        RuntimeError: it refused; the message ends with what it said last.
    """
    java = find_jdk()
    if java is None:
        raise RuntimeError(INSTALL)
    tool = assembled(
        "opensearch-plugin", [Path(__file__)], lambda into: fetch(into, [], {"cli": _ARTIFACTS}, {})
    )
    home, config = folder.resolve() / "home", folder.resolve() / "config"
    command = [
        str(java / "bin" / "java"), f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={config}",
        "-Dopensearch.distribution.type=docker", "-cp", f"{home}/lib/*:{tool}/cli/*",
          "org.opensearch.tools.cli.plugin.PluginCli", *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"opensearch-plugin {' '.join(arguments)} failed:\n{done.stdout[-2000:]}")
    return done.stdout
