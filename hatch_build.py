"""The long description of the package: the README with links that work outside the repository."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?=[^)])")


class LongDescription(MetadataHookInterface):
    """Puts the address of the repository before the relative links of the README."""

    def update(self, metadata: dict[str, object]) -> None:
        """Sets `readme`."""
        urls = metadata["urls"]
        assert isinstance(urls, dict)
        text = (Path(self.root) / "README.md").read_text("utf-8")
        said = _RELATIVE.sub(f"{urls['Source']}/blob/main/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": said}
