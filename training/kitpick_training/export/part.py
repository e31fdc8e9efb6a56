"""An encoder without a graph of its own: a model folder that names its part of a joined one.

`python -m kitpick_training.export.part FOLDER PAIR NUMBER VERSION` lets the model in FOLDER, which PAIR was
joined from as its NUMBER-th encoder (0 or 1), be that part of it from now on.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.errors import KitpickError
from kitpick_models.errors import UnsupportedModel
from kitpick_models.manifest import (
    MODEL,
    PART_FORMAT,
    REFERENCE,
    TOKENIZER,
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
    of origin, training and figures stays. Where it cannot be a part, the folder stays as it was.

    Args:
        folder: of an encoder, beside the pair or to be put there.
        pair: folder of the joined encoder; the name of the folder is what the part will look for.
        number: which of both it is.
        version: of the model from now on.

    Raises:
        ModelError: one of them is damaged, the pair is none, or the folder finds no pair of that name.
    """
    if folder.resolve() == pair.resolve():
        raise UnsupportedModel(f"{folder}: no part of itself; name the folder of one of its encoders")
    manifest, whole = read_manifest(folder), read_manifest(pair)
    model = stored_model(pair, whole)
    stored = read_reference(folder, manifest)
    if not holds_pair(model.graph) or not isinstance(stored, EncoderReference):
        raise UnsupportedModel(f"{pair}: not two encoders that were joined into one")
    part = GraphPart(pair.resolve().name, outputs_of(model)[number])
    files = {**manifest.files, MODEL: whole.files[MODEL]}
    changed = msgspec.structs.replace(manifest, version=version, format=PART_FORMAT, part=part, files=files)
    answers = EncoderReference(stored.texts, pack(_vectors(folder, changed, stored.texts)))
    reference = msgspec.json.encode(answers)
    changed = msgspec.structs.replace(changed, files={**files, REFERENCE: digest(reference)})
    (folder / REFERENCE).write_bytes(reference)
    write_manifest(folder, changed)
    (folder / MODEL).unlink(missing_ok=True)
    return changed


def _vectors(folder: Path, part: Manifest, texts: tuple[str, ...]) -> NDArray[np.float32]:
    """Vectors of texts by the part, which is tried beside the folder before anything in that changes."""
    with TemporaryDirectory(dir=folder.resolve().parent) as beside:
        if (folder / TOKENIZER).exists():
            shutil.copy(folder / TOKENIZER, beside)
        write_manifest(Path(beside), part)
        return load_encoder(beside).encode(texts)


def main() -> None:
    """Makes the encoder of the command line a part."""
    parser = argparse.ArgumentParser(description="Makes an encoder a part of its pair.")
    parser.add_argument("folder", type=Path, help="of the encoder, beside the pair")
    parser.add_argument("pair", type=Path, help="folder of the joined encoder")
    parser.add_argument("number", type=int, choices=(0, 1), help="which of both the encoder is")
    parser.add_argument("version", help="of the encoder from now on")
    asked = parser.parse_args()
    try:
        print(become_part(asked.folder, asked.pair, asked.number, asked.version).identity)
    except KitpickError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
