"""Fetches artifacts from Maven Central into folders, through a pom written for what is wanted."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_DEPENDENCY_PLUGIN = "3.8.1"
_LOOKED_AT = 4_000
"""Characters of Maven's output that an error shows."""


def fetch(
    into: Path, lib: Sequence[str], copied: Mapping[str, Sequence[str]], unpacked: Mapping[str, str]
) -> None:
    """Fills `into/lib` with artifacts and their dependencies, and other folders with exactly what is named.

    Args:
        into: an empty folder.
        lib: coordinates `group:artifact:version[:type]`.
        copied: coordinates by folder below `into`.
        unpacked: the coordinate of an archive by folder below `into`.
    """
    executions = [_dependencies()]
    executions += [_items("copy", folder, coordinates) for folder, coordinates in copied.items()]
    executions += [_items("unpack", folder, [coordinate]) for folder, coordinate in unpacked.items()]
    pom = into / "pom.xml"
    pom.write_text(_pom(lib, executions), "utf-8")
    command = ["mvn", "-B", "-q", "-ntp", "-f", str(pom), "process-resources", f"-Ddist={into}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Maven could not fetch the artifacts:\n{done.stdout[-_LOOKED_AT:]}")


def _pom(lib: Sequence[str], executions: Sequence[str]) -> str:
    dependencies = "".join(f"<dependency>{_coordinate(each)}</dependency>" for each in lib)
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>kitpick.test</groupId><artifactId>node</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{dependencies}</dependencies>
<build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
<version>{_DEPENDENCY_PLUGIN}</version>
<executions>{"".join(executions)}</executions>
</plugin></plugins></build>
</project>
"""


def _dependencies() -> str:
    configuration = "<outputDirectory>${dist}/lib</outputDirectory><includeScope>runtime</includeScope>"
    return _execution("lib", "copy-dependencies", configuration)


def _items(goal: str, folder: str, coordinates: Sequence[str]) -> str:
    items = "".join(f"<artifactItem>{_coordinate(each)}</artifactItem>" for each in coordinates)
    configuration = (
        f"<outputDirectory>${{dist}}/{escape(folder)}</outputDirectory>"
        f"<markersDirectory>${{dist}}/.markers</markersDirectory><artifactItems>{items}</artifactItems>"
    )
    return _execution(folder, goal, configuration)


def _execution(name: str, goal: str, configuration: str) -> str:
    return (
        f"<execution><id>{escape(name)}</id><phase>process-resources</phase>"
        f"<goals><goal>{goal}</goal></goals><configuration>{configuration}</configuration></execution>"
    )


def _coordinate(text: str) -> str:
    named = zip(("groupId", "artifactId", "version", "type"), text.split(":"), strict=False)
    return "".join(f"<{name}>{escape(part)}</{name}>" for name, part in named)
