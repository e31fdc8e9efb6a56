"""Where the product's own modules are, for tests that read them."""

from __future__ import annotations

PACKAGES = (
    "kitpick",
    "evaluation",
    "rescorers",
    "ingest",
    "engines",
    "onnx_models",
    "foundation",
    "training",
)
"""Folders of the checkout."""
