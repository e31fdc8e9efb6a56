"""What stops a command: one sentence with the cure and its exit code, never a traceback."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick_models.locate import find_model
from kitpick_models.manifest import digest, read_manifest, write_manifest

pytestmark = pytest.mark.needs("weights", "onnxruntime")
PROJECT = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text("utf-8")
SERVED_BY = re.findall(r'"([a-z-]+)', re.findall(r"^serve = \[(.*)\]$", PROJECT, re.MULTILINE)[0])
"""Packages of the extra `serve`."""


@pytest.mark.parametrize("package", sorted({*SERVED_BY} - {"pyjwt"}))  # needed where tokens are verified
def test_a_service_that_lacks_any_package_of_its_extra_says_what_to_install(
    package: str, kitpick, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra `mcp` brings all of them but one."""
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    refused = kitpick("serve")
    assert refused.code == ExitCode.UNAVAILABLE
    assert "needs the extra 'serve'" in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize("option", [("--tenant", "acme"), ("--allow", "admins")])
def test_documents_become_public_only_where_that_is_said(
    catalog: Catalog, functions_file: Path, kitpick, option: tuple[str, str]
) -> None:
    source = (f"functions:{functions_file}", "--name", "money")
    assert kitpick("ingest", *source, *option).code == ExitCode.OK

    refused = kitpick("ingest", *source)

    assert refused.code == ExitCode.REFUSED
    assert "--public" in refused.err
    assert "Traceback" not in refused.err
    assert kitpick("ingest", *source, "--public").code == ExitCode.OK


@pytest.mark.parametrize("graph", [b"", b"no graph", bytes(range(256)) * 40])
def test_a_damaged_model_is_named_even_if_its_digest_agrees(
    catalog: Catalog,
    functions_file: Path,
    tmp_path: Path,
    kitpick,
    graph: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(find_model("encoder-pair"), folder)
    (folder / "model.onnx").write_bytes(graph)
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, files={**manifest.files, "model.onnx": digest(graph)}))

    monkeypatch.setenv("KITPICK_ENCODER", str(folder))
    refused = kitpick("ingest", f"functions:{functions_file}")

    assert refused.code == ExitCode.UNAVAILABLE
    assert f"{folder}/model.onnx: cannot be loaded" in "".join(refused.err.split("\n"))
    assert "Traceback" not in refused.err
