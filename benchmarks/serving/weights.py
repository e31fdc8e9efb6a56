"""The shipped cross-encoder as a folder that transformers reads: the same weights for servers of others.

Weights are stored as 8-bit integers with a scale a column; what comes out are the same numbers as float32.
Runs where the other server is installed, with torch, transformers and onnx: `weights.py MODEL_FOLDER OUT`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536
_PROJECTIONS = ("query", "key", "value")
Array = NDArray[Any]


def main() -> None:
    """Writes the folder."""
    import onnx
    from onnx import numpy_helper

    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    graph = onnx.load(source / "model.onnx").graph
    given = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    longest = json.loads((source / "manifest.json").read_text("utf-8"))["max_tokens"]
    own, shared = source / "tokenizer.json", source.parent / "tokenizer.json"
    write(state(given), (own if own.is_file() else shared).read_text("utf-8"), longest, out)


def state(given: dict[str, Array]) -> dict[str, Array]:
    """Parameters by the names that transformers has for them."""
    found = {
        "bert.embeddings.word_embeddings.weight": given["words"] * given["words.scale"],
        "bert.embeddings.position_embeddings.weight": given["positions"],
        "bert.embeddings.token_type_embeddings.weight": given["token_types"],
        "bert.pooler.dense.weight": given["pooler.weight"].T,
        "bert.pooler.dense.bias": given["pooler.bias"],
        "classifier.weight": given["classifier.weight"].reshape(1, -1),
        "classifier.bias": given["classifier.bias"],
        **norm(given, "embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        attention = f"{prefix}.attention.self"
        biases = np.split(given[f"{attention}.bias"], 3)
        for name, bias in zip(_PROJECTIONS, biases, strict=True):
            # The three read one input, whose factors are kept with the first.
            found |= linear(given, f"{attention}.{name}", f"{attention}.query", bias)
        for name in ("attention.output", "intermediate", "output"):
            dense = f"{prefix}.{name}.dense"
            found |= linear(given, dense, dense, given[f"{dense}.bias"])
        found |= norm(given, f"{prefix}.attention.output.LayerNorm")
        found |= norm(given, f"{prefix}.output.LayerNorm")
    return found


def linear(given: dict[str, Array], name: str, reads: str, bias: Array) -> dict[str, Array]:
    """One linear layer; the factors that even its inputs out are taken back into the weights."""
    whole = given[f"{name}.weight"].astype(np.float32) - given[f"{name}.zero"].astype(np.float32)
    # Where smoothing was folded into the layer before, nothing is left of it here.
    smooth = given.get(f"{reads}.input.smooth", np.ones(len(whole), np.float32))
    weight = smooth[:, None] * (whole * given[f"{name}.scale"])
    return {f"bert.{name}.weight": weight.T, f"bert.{name}.bias": bias}


def norm(given: dict[str, Array], name: str) -> dict[str, Array]:
    """One layer normalisation."""
    return {f"bert.{name}.weight": given[f"{name}.scale"], f"bert.{name}.bias": given[f"{name}.shift"]}


def write(parameters: dict[str, Array], tokenizer: str, longest: int, out: Path) -> None:
    """The folder, checked by loading it: every parameter has its place."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    config = BertConfig(
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_labels=1,
    )
    model = BertForSequenceClassification(config)
    tensors = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in parameters.items()}
    left = model.load_state_dict(tensors, strict=False)
    assert not left.unexpected_keys, left
    assert set(left.missing_keys) <= {"bert.embeddings.position_ids"}, left
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(tokenizer, "utf-8")
    model.save_pretrained(out)
    BertTokenizerFast(tokenizer_file=str(out / "tokenizer.json"), model_max_length=longest).save_pretrained(
        out
    )


if __name__ == "__main__":
    main()
