"""Builds the plugin for every release of OpenSearch that Maven Central serves, beside each other.

    python plugin/matrix.py                       every release from 3.2, and the newest 2.19
    python plugin/matrix.py --list                only says which there are
    python plugin/matrix.py --releases 3.5.0,3.6.0 --skip-tests

Each zip goes to `plugin/target/matrix/`, as `kitpick-VERSION-opensearch-RELEASE.zip`, with its SHA-256 in
`SHA256SUMS`. The same sources give the same zip, bit by bit. A release that cannot be built does not stop the
others: its line says why, and the exit status is 1. Where Maven Central lacks a part of a release's test
framework, the zip is built without unit tests, and its line says so. Needs Maven and a JDK 21 or newer.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / each) for each in ("nodes", "plugin")]

from building import at_home, build  # noqa: E402
from jdk import find_jdk  # noqa: E402

SERVER = "org.opensearch:opensearch"
OLDEST = (3, 2)
LONG_TERM = (2, 19)
_NO_FRAMEWORK = re.compile(
    r"(?:not find artifact|Failure to find) org\.opensearch|org\.opensearch[.:]\S+ was not found"
)
"""What Maven says of an artifact of OpenSearch that is not there, while the server itself is."""
_CAUSE = 200
"""Characters of a failure that the table shows."""


class Built(NamedTuple):
    """What became of one release."""

    release: str
    zip: Path | None
    cause: str = ""
    tested: bool = True


def main() -> int:
    """Reads the command line, builds, and prints a line a release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--releases", help="with commas between them; by default all that are supported")
    parser.add_argument("--skip-tests", action="store_true")
    parser.add_argument("--into", type=Path, default=HERE / "target" / "matrix")
    options = parser.parse_args()
    releases = options.releases.split(",") if options.releases else supported(served())
    if options.list:
        print("\n".join(releases))
        return 0
    goals = ("package", "-DskipTests") if options.skip_tests else ("verify",)
    built = [build_for(release, goals, options.into) for release in releases]
    (options.into / "SHA256SUMS").write_text(sums([each.zip for each in built if each.zip]), "utf-8")
    return 1 if any(each.zip is None for each in built) else 0


def served() -> list[str]:
    """Every version of the server on Maven Central, as Maven's own metadata lists them.

    Raises:
        RuntimeError: Maven cannot reach it.
    """
    folder = fetched("RELEASE")
    return re.findall(
        "<version>([^<]+)</version>", (folder / "maven-metadata-central.xml").read_text("utf-8")
    )


def log4j_of(release: str) -> str:
    """The version of log4j that a release of the server has: its test framework needs the same.

    Raises:
        RuntimeError: Maven cannot fetch the release's description, or it names none.
    """
    pom = (fetched(release) / release / f"opensearch-{release}.pom").read_text("utf-8")
    found = re.search(r"<artifactId>log4j-api</artifactId>\s*<version>([^<]+)</version>", pom)
    if found is None:
        raise RuntimeError(f"{SERVER}:{release} names no version of log4j")
    return found[1]


def fetched(release: str) -> Path:
    """Maven's folder of the server's releases, with the description of this one.

    Raises:
        RuntimeError: Maven cannot fetch it.
    """
    wanted = f"-Dartifact={SERVER}:{release}:pom"
    command = ["mvn", "-q", "-B", "-ntp", "dependency:get", "-Dtransitive=false", wanted]
    environment = {**os.environ, "JAVA_HOME": str(find_jdk()), "MAVEN_OPTS": at_home()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - Maven, by a release's name
    if done.returncode:
        raise RuntimeError(f"Maven could not fetch {SERVER}:{release}:\n{done.stdout[-2000:]}")
    group, _, artifact = SERVER.partition(":")
    return Path.home() / ".m2" / "repository" / Path(*group.split(".")) / artifact


def supported(versions: Sequence[str]) -> list[str]:
    """Releases from `OLDEST`, and the newest of the long-term line, oldest first; no previews."""
    numbers = sorted(
        tuple(map(int, each.split("."))) for each in versions if re.fullmatch(r"\d+\.\d+\.\d+", each)
    )
    long_term = [each for each in numbers if each[:2] == LONG_TERM][-1:]
    return [
        ".".join(map(str, each)) for each in (*long_term, *(each for each in numbers if each[:2] >= OLDEST))
    ]


def build_for(release: str, goals: Sequence[str], into: Path) -> Built:
    """Builds one release, and copies its zip under a name that says which it is for."""
    try:
        made, tested = built_if_can_be(release, goals)
    except RuntimeError as error:
        print(f"{release:<8} failed: {cause_of(str(error))}", flush=True)
        return Built(release, None, str(error))
    into.mkdir(parents=True, exist_ok=True)
    kept = into / f"{made.stem}-opensearch-{release}.zip"
    shutil.copyfile(made, kept)
    remark = "" if tested else "  (no unit tests: their framework is not served)"
    print(f"{release:<8} {digest(kept)} {kept.name}{remark}", flush=True)
    return Built(release, kept, tested=tested)


def built_if_can_be(release: str, goals: Sequence[str]) -> tuple[Path, bool]:
    """The zip, and whether the unit tests could be compiled, which every goal of ours does.

    Raises:
        RuntimeError: the build failed for another reason than a part of the test framework that is missing.
    """
    told = differences(release)
    try:
        return build(*goals, *told, version=release), True
    except RuntimeError as error:
        if not _NO_FRAMEWORK.search(str(error)):
            raise
    return build(*goals, *told, "-Duntested", "-Dmaven.test.skip=true", version=release), False


def differences(release: str) -> list[str]:
    """What Maven is told beside the version: the sources of its major version, and its log4j."""
    return [
        f"-Dserver.sources=opensearch-{release.partition('.')[0]}",
        f"-Dlog4j.version={log4j_of(release)}",
    ]


def cause_of(said: str) -> str:
    """The first error that Maven names."""
    errors = [line for line in said.splitlines() if "[ERROR]" in line] or said.splitlines()[-1:]
    return errors[0].replace("[ERROR]", "").strip()[:_CAUSE]


def sums(zips: Sequence[Path]) -> str:
    """Lines that `sha256sum --check` reads."""
    return "".join(f"{digest(each)}  {each.name}\n" for each in zips)


def digest(file: Path) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
