"""A node's keystore: the one place where the plugin looks for the rescorer's key."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jdk import find_jdk

_PROGRAM = Path(__file__).parent / "Keystore.java"


def write_key(folder: Path, key: str, **passwords: str) -> None:
    """Writes the keystore of a node that is laid out in `folder`: the key, and passwords of TLS by name."""
    java = find_jdk()
    assert java is not None
    classes = f"{folder.resolve()}/home/lib/*"
    entries = {"kitpick.key": key, **{f"kitpick.tls.{name}": value for name, value in passwords.items()}}
    said = [part for entry in entries.items() for part in entry]
    arguments = [str(_PROGRAM), str(folder.resolve() / "config"), *said]
    subprocess.run([str(java / "bin" / "java"), "-cp", classes, *arguments], check=True, capture_output=True)
