"""A node's keystore: the one place where the plugin looks for the rescorer's key."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jdk import find_jdk

_PROGRAM = Path(__file__).parent / "Keystore.java"


def write_key(folder: Path, key: str) -> None:
    """Writes the keystore of a node that is laid out in `folder` and not started yet."""
    java = find_jdk()
    assert java is not None
    classes = f"{folder.resolve()}/home/lib/*"
    arguments = [str(_PROGRAM), str(folder.resolve() / "config"), "kitpick.key", key]
    subprocess.run([str(java / "bin" / "java"), "-cp", classes, *arguments], check=True, capture_output=True)
