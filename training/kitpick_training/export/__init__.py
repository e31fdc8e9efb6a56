"""From trained weights to a model folder that runs without torch. Needs the extra `train`."""

from __future__ import annotations

from kitpick_training.export.package import export_cross_encoder, export_encoder

__all__ = ["export_cross_encoder", "export_encoder"]
