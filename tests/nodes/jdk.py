"""Finds a JDK that the search engines run on: beyond PATH, whose `java` is often an older one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

OLDEST = 21
WITH_SECURITY_MANAGER = range(17, 24)
"""What OpenSearch 2 can be started with."""
INSTALL = f"install a JDK >= {OLDEST} and Maven, e.g.: apt-get install openjdk-21-jdk-headless maven"
INSTALL_GUARDED = "install a Java 17 to 23, e.g.: apt-get install openjdk-17-jre-headless"


def find_jdk() -> Path | None:
    """Home of a JDK (not a mere JRE) of version `OLDEST` or newer, None where there is none."""
    return next((home for home in _homes() if _version(home) >= OLDEST and _can_compile(home)), None)


def find_guarded_java() -> Path | None:
    """Home of a Java with a security manager that the plugin runs on, None where there is none."""
    return next((home for home in _homes() if _version(home) in WITH_SECURITY_MANAGER), None)


def has_jdk_and_maven() -> bool:
    """Whether a node can be assembled and started here."""
    return shutil.which("mvn") is not None and find_jdk() is not None


def _homes() -> Iterator[Path]:
    given = (os.environ.get(name) for name in ("KITPICK_JAVA_HOME", "JAVA_HOME"))
    yield from (Path(home) for home in given if home)
    compiler = shutil.which("javac")
    if compiler:
        yield Path(compiler).resolve().parents[1]
    for folder in (Path("/usr/lib/jvm"), Path.home() / ".sdkman/candidates/java", Path.home() / ".jdks"):
        if folder.is_dir():
            yield from sorted(folder.iterdir())
    yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))


def _version(home: Path) -> int:
    """Major version by the `release` file that every Java has; 0 for what is no Java."""
    release = home / "release"
    if not (home / "bin" / "java").is_file() or not release.is_file():
        return 0
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text("utf-8"), re.MULTILINE)
    return int(found.group(1)) if found else 0


def _can_compile(home: Path) -> bool:
    return (home / "bin" / "javac").is_file()
