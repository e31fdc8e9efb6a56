"""A pair taken apart again: the folders of its two encoders, and the matrices that turn their vectors.

`python -m kitpick_training.export.apart MODEL FOLDER` writes the encoders of a joined one to FOLDER/0 and
FOLDER/1, each to be trained further or joined with another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from onnx import numpy_helper

from kitpick_foundation.errors import KitpickError
from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.manifest import MODEL, TOKENIZER, Manifest, read_file, read_manifest, write_folder
from kitpick_training.export.pair import BOTH, MATRIX, PACKED, Array
from kitpick_training.export.stored import half_of, stored_model


class TakenApart(NamedTuple):
    """Both encoders of a pair, and what turns the vectors of each."""

    folders: tuple[Path, ...]
    matrices: tuple[Array, ...]
    """(own numbers, numbers of the pair) each."""


def is_pair(folder: Path) -> bool:
    """Whether a model folder holds two encoders that were joined here.

    Raises:
        CorruptModel: a file is missing, differs from the manifest, or is no graph.
    """
    manifest = read_manifest(folder)
    return manifest.kind == "encoder" and holds_pair(stored_model(folder, manifest).graph)


def holds_pair(graph: Any) -> bool:  # noqa: ANN401
    """Whether a graph is one that `joined_graph` makes."""
    return any(constant.name == MATRIX for constant in graph.initializer)


def take_apart(folder: Path, out: Path, max_tokens: int = 0) -> TakenApart:
    """Writes the encoders of a pair, as exact as they are stored, to numbered folders.

    The folders hold graph, tokenizer and manifest; what the pair was trained on is said of both.

    Args:
        folder: of the pair.
        out: where the folders go, created where absent.
        max_tokens: how much of a text each is to read; 0: as much as the pair.

    Raises:
        CorruptModel: a file is missing, differs from the manifest, or is no graph of ours.
        UnsupportedModel: no pair.
    """
    manifest = read_manifest(folder)
    model = stored_model(folder, manifest)
    if manifest.kind != "encoder" or not holds_pair(model.graph):
        raise UnsupportedModel(f"{folder}: not two encoders that were joined into one")
    tokenizer = read_file(folder, manifest, TOKENIZER)
    limited = msgspec.structs.replace(manifest, max_tokens=max_tokens or manifest.max_tokens, figures=())
    try:
        graphs = _halves(model)
        matrices = _matrices(model.graph, [_numbers(graph.graph) for graph in graphs])
    except (KeyError, StopIteration, ValueError) as error:
        raise CorruptModel(folder / MODEL, f"not a graph that was joined here ({error})") from error
    folders = tuple(out / str(number) for number in range(len(graphs)))
    for place, graph in zip(folders, graphs, strict=True):
        _write(place, graph, tokenizer, limited)
    return TakenApart(folders, matrices)


def _halves(model: Any) -> list[Any]:  # noqa: ANN401
    """The graphs in the order of their vectors."""
    return [half_of(model, f"{number}.", output) for number, output in enumerate(outputs_of(model))]


def outputs_of(pair: Any) -> list[str]:  # noqa: ANN401
    """Names of the values that are the vectors of both encoders.

    Raises:
        StopIteration: no pair.
    """
    return list(next(node for node in pair.graph.node if node.output[0] == BOTH).input)


def _numbers(graph: Any) -> int:  # noqa: ANN401
    """How many numbers a half's vector has: as many as that of a word."""
    constants = {each.name: each for each in graph.initializer}
    return 2 * int(constants[PACKED].dims[1])


def _matrices(graph: Any, numbers: Sequence[int]) -> tuple[Array, ...]:  # noqa: ANN401
    stored = next(each for each in graph.initializer if each.name == MATRIX)
    matrix = numpy_helper.to_array(stored).astype(np.float32)
    if sum(numbers) != len(matrix):
        raise ValueError(f"a matrix of {len(matrix)} rows for {sum(numbers)} numbers")
    return tuple(np.split(matrix, np.cumsum(numbers)[:-1]))


def _write(folder: Path, model: Any, tokenizer: bytes, manifest: Manifest) -> None:  # noqa: ANN401
    files = {MODEL: model.SerializeToString(deterministic=True), TOKENIZER: tokenizer}
    own = msgspec.structs.replace(
        manifest,
        name=f"{manifest.name}-{folder.name}",
        base_model=f"one of {manifest.identity}: {manifest.base_model}",
        dimensions=_numbers(model.graph),
    )
    write_folder(folder, own, files)


def main() -> None:
    """Takes the pair of the command line apart."""
    parser = argparse.ArgumentParser(description="Writes both encoders of a joined one to folders.")
    parser.add_argument("model", type=Path, help="folder of the joined encoder")
    parser.add_argument("folder", type=Path, help="where the folders 0 and 1 go")
    asked = parser.parse_args()
    try:
        take_apart(asked.model, asked.folder)
    except KitpickError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
