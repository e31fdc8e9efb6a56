"""An encoder without a graph of its own: a model folder that names its part of a joined one.

`python -m kitpick_training.export.part FOLDER PAIR NUMBER VERSION` lets the model in FOLDER, which PAIR was
joined from as its NUMBER-th encoder (0 or 1), be that part of it from now on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from kitpick_models.errors import UnsupportedModel
from kitpick_models.manifest import (
    MODEL,
    PART_FORMAT,
    REFERENCE,
    GraphPart,
    Manifest,
    digest,
    read_manifest,
    write_manifest,
)
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import EncoderReference, pack, read_reference
from kitpick_training.export.apart import holds_pair, outputs_of
from kitpick_training.export.stored import stored_model


def become_part(folder: Path, pair: Path, number: int, version: str) -> Manifest:
    """Takes the graph out of a model folder, which says from now on where it is in the pair's.

    The stored texts keep their place, and their vectors are those of the pair's graph. What the manifest says
    of origin, training and figures stays.

    Args:
        folder: of an encoder, beside the pair or to be put there.
        pair: folder of the joined encoder; the name of the folder is what the part will look for.
        number: which of both it is.
        version: of the model from now on.

    Raises:
        ModelError: one of them is damaged, or the pair is none.
    """
    manifest, whole = read_manifest(folder), read_manifest(pair)
    model = stored_model(pair, whole)
    stored = read_reference(folder, manifest)
    if not holds_pair(model.graph) or not isinstance(stored, EncoderReference):
        raise UnsupportedModel(f"{pair}: not two encoders that were joined into one")
    part = GraphPart(pair.resolve().name, outputs_of(model)[number])
    files = {**manifest.files, MODEL: whole.files[MODEL]}
    changed = msgspec.structs.replace(manifest, version=version, format=PART_FORMAT, part=part, files=files)
    (folder / MODEL).unlink(missing_ok=True)
    return _with_answers(folder, changed, stored.texts)


def _with_answers(folder: Path, manifest: Manifest, texts: tuple[str, ...]) -> Manifest:
    """Writes the folder, with the vectors of its texts."""
    write_manifest(folder, manifest)
    vectors = load_encoder(folder).encode(texts)
    reference = msgspec.json.encode(EncoderReference(texts, pack(vectors)))
    (folder / REFERENCE).write_bytes(reference)
    files = {**manifest.files, REFERENCE: digest(reference)}
    manifest = msgspec.structs.replace(manifest, files=files)
    write_manifest(folder, manifest)
    return manifest


if __name__ == "__main__":
    print(become_part(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]).identity)
