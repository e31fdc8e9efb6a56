"""The npm package's folder, with the packages that its tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the lock file names, installed.

    Skips where the registry cannot be reached; fails where `KITPICK_REQUIRE` names node.
    """
    installed = ROOT / "npm" / "node_modules"
    if installed.is_dir():
        return installed
    folder = tmp_path_factory.mktemp("npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "npm" / name, folder)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode:
        gone = pytest.fail if "node" in os.environ.get("KITPICK_REQUIRE", "").split(",") else pytest.skip
        gone(f"npm ci: {done.stderr.strip()[-300:]}")
    return folder / "node_modules"


@pytest.fixture
def package(node_modules: Path, tmp_path: Path) -> Path:
    """A copy of the package, with what its tests need."""
    folder = tmp_path / "npm"
    shutil.copytree(ROOT / "npm", folder, ignore=shutil.ignore_patterns("node_modules", "dist*"))
    (folder / "node_modules").symlink_to(node_modules)
    return folder
