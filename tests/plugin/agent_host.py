"""A plugin that stands in for ml-commons: one file, and the interface that is on Maven Central."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from jdk import find_jdk
from maven import fetch
from opensearch_node import distribution, version

_SOURCE = Path(__file__).parent / "AgentHost.java"
_INTERFACE = "org.opensearch:opensearch-ml-spi:3.0.0.0"


def agent_host(folder: Path, recipe: Path) -> Path:
    """The zip to install on a node of this recipe."""
    java = find_jdk()
    assert java is not None
    fetch(folder, [], {"spi": [_INTERFACE]}, {})
    (interface,) = (folder / "spi").glob("*.jar")
    classes = folder / "classes"
    path = f"{distribution(recipe)}/lib/*:{interface}"
    subprocess.run(
        [str(java / "bin" / "javac"), "-cp", path, "-d", str(classes), str(_SOURCE)],
        check=True, capture_output=True,
    )  # fmt: skip
    jar = folder / "agent-host.jar"
    subprocess.run([str(java / "bin" / "jar"), "cf", str(jar), "-C", str(classes), "."], check=True)
    lines = {
        "name": "opensearch-ml",
        "description": "stands in for ml-commons",
        "version": "1",
        "classname": "org.opensearch.ml.plugin.AgentHost",
        "java.version": "21",
        "opensearch.version": version(recipe),
    }
    target = folder / "opensearch-ml.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.write(jar, jar.name)
        archive.write(interface, interface.name)
        descriptor = "".join(f"{key}={value}\n" for key, value in lines.items())
        archive.writestr("plugin-descriptor.properties", descriptor)
    return target
