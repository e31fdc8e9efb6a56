"""Plugins that stand in for others which are not on Maven Central: one file of Java each."""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from jdk import find_jdk
from maven import fetch
from opensearch_node import distribution, version

_HERE = Path(__file__).parent
_AGENT_INTERFACE = "org.opensearch:opensearch-ml-spi:3.0.0.0"


def agent_host(folder: Path, recipe: Path) -> Path:
    """The zip of what stands in for ml-commons on a node of this recipe."""
    fetch(folder, [], {"spi": [_AGENT_INTERFACE]}, {})
    interface = [*(folder / "spi").glob("*.jar")]
    return _built(folder, recipe, "opensearch-ml", _HERE / "AgentHost.java", interface)


def filter_host(folder: Path, recipe: Path) -> Path:
    """The zip of what stands in for the request processor `filter_query`."""
    return _built(folder, recipe, "filter-host", _HERE / "FilterHost.java", [])


def _built(folder: Path, recipe: Path, name: str, source: Path, beside: Sequence[Path]) -> Path:
    """The zip of a plugin of one class, with jars that it needs, for the oldest Java of its nodes."""
    java = find_jdk()
    assert java is not None
    path = ":".join([f"{distribution(recipe)}/lib/*", *map(str, beside)])
    release = "17" if version(recipe).startswith("2.") else "21"
    classes = folder / "classes"
    compiler = [str(java / "bin" / "javac"), "--release", release, "-cp", path, "-d", str(classes)]
    subprocess.run([*compiler, str(source)], check=True, capture_output=True)
    jar = folder / f"{name}.jar"
    subprocess.run([str(java / "bin" / "jar"), "cf", str(jar), "-C", str(classes), "."], check=True)
    (package,) = re.findall(r"^package (\S+);", source.read_text("utf-8"), re.MULTILINE)
    lines = {
        "name": name,
        "description": "stands in for another",
        "version": "1",
        "classname": f"{package}.{source.stem}",
        "java.version": release,
        "opensearch.version": version(recipe),
    }
    target = folder / f"{name}.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for each in (jar, *beside):
            archive.write(each, each.name)
        descriptor = "".join(f"{key}={value}\n" for key, value in lines.items())
        archive.writestr("plugin-descriptor.properties", descriptor)
    return target
