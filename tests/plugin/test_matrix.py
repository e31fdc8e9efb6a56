"""Which releases the plugin is built for, and what is published of each."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from building import build

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    sys.path.insert(0, str(PLUGIN))
    try:
        import matrix as found
    finally:
        sys.path.remove(str(PLUGIN))
    return found


def test_every_release_from_the_oldest_and_the_last_of_the_long_term_line(matrix: ModuleType) -> None:
    served = [
        "2.18.0", "2.19.0", "2.19.10", "2.19.9", "3.0.0-beta1", "3.0.0", "3.1.0", "3.2.0", "3.10.0", "3.9.0",
        "4.0.0-alpha1",
    ]  # fmt: skip
    assert matrix.supported(served) == ["2.19.10", "3.2.0", "3.9.0", "3.10.0"]


def test_a_failed_build_is_named_by_maven_s_first_error(matrix: ModuleType) -> None:
    said = "mvn verify failed:\n[INFO] ok\n[ERROR] A.java:[3,1] cannot find symbol\n[ERROR] -> [Help 1]"
    assert matrix.cause_of(said) == "A.java:[3,1] cannot find symbol"
    assert matrix.cause_of("there is no JDK") == "there is no JDK"


def test_each_release_has_the_sources_of_its_major_version(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "log4j_of", lambda release: "2.21.0")
    assert matrix.differences("2.19.7") == ["-Dserver.sources=opensearch-2", "-Dlog4j.version=2.21.0"]
    assert matrix.differences("3.10.0")[0] == "-Dserver.sources=opensearch-3"
    folders = {each.name for each in (PLUGIN / "src").glob("opensearch-*")}
    assert folders == {
        f"opensearch-{line.partition('.')[0]}" for line in matrix.supported(["2.19.7", "3.2.0"])
    }
    for name in ("NodeRequest", "Server", "ServerHandler", "ServerPlugin"):
        assert len(list((PLUGIN / "src").glob(f"opensearch-*/java/**/{name}.java"))) == len(folders)


@pytest.mark.needs("jdk")
@pytest.mark.release
@pytest.mark.timeout(1200)
def test_two_builds_in_different_places_are_equal_bit_by_bit(tmp_path: Path) -> None:
    """Neither the place nor the time of a build is in the zip."""
    zips = []
    for place in ("here", "elsewhere/and/deeper"):
        copied = tmp_path / place / "plugin"
        shutil.copytree(PLUGIN, copied, ignore=shutil.ignore_patterns("target"))
        for name in ("LICENSE", "NOTICE"):
            shutil.copy(PLUGIN.parent / name, copied.parent)
        zips.append(build("package", "-DskipTests", plugin=copied))
    digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in zips]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "said",
    [
        "Could not find artifact org.opensearch.test:framework:jar:3.9.0 in central (https://…)",
        "Failure to find org.opensearch:opensearch-common:jar:3.9.0 in https://…",
        "org.opensearch.test:framework:jar:3.9.0 was not found in https://… during a previous attempt",
    ],
)
def test_a_release_without_a_test_framework_is_built_without_tests(
    matrix: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    said: str,
) -> None:
    asked = []

    def build(*goals: str, version: str) -> Path:
        asked.append(goals)
        if "-Duntested" not in goals:
            raise RuntimeError(f"[ERROR] {said}")
        (tmp_path / "kitpick-0.1.0.zip").write_bytes(b"a zip")
        return tmp_path / "kitpick-0.1.0.zip"

    monkeypatch.setattr(matrix, "build", build)
    monkeypatch.setattr(matrix, "differences", lambda release: ["-Dserver.sources=opensearch-3"])
    built = matrix.build_for("3.9.0", ("verify",), tmp_path / "matrix")
    assert not built.tested
    assert asked[-1] == ("verify", "-Dserver.sources=opensearch-3", "-Duntested", "-Dmaven.test.skip=true")
    assert "no unit tests" in capsys.readouterr().out


def test_a_release_that_fails_does_not_stop_the_others(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "kitpick-0.1.0.zip"
    made.write_bytes(b"a zip")

    def build(*goals: str, version: str) -> Path:
        if version == "3.2.0":
            raise RuntimeError("[ERROR] no such class")
        return made

    monkeypatch.setattr(matrix, "build", build)
    monkeypatch.setattr(matrix, "differences", lambda release: [])
    into = tmp_path / "matrix"
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--releases", "3.2.0,3.5.0", "--into", str(into)])
    assert matrix.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "3.2.0    failed: no such class",
        f"3.5.0    {hashlib.sha256(b'a zip').hexdigest()} kitpick-0.1.0-opensearch-3.5.0.zip",
    ]
    checked = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=into, capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
