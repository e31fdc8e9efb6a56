"""Folders as sentence-transformers writes them, with a graph of two tables: one of tokens, one of places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from kitpick_models.graph_file import number, part, tensor, text

WORDS = ("send", "an", "email", "to", "the", "customer", "cancel", "order", "query:", "passage:", "invoice")
VOCABULARY = (
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    *(f"▁{word}" for word in WORDS),
    *"abcdefghijklmnopqrstuvwxyz▁",
)
START, PADDING, END = 0, 1, 2
PLACES, DIMENSIONS = 65, 6
TOKENS = np.random.default_rng(7).normal(size=(len(VOCABULARY), DIMENSIONS)).astype(np.float32)
TOKENS[PADDING] = 1_000
"""What fills a batch would be heard in every vector."""
PLACED = np.random.default_rng(8).normal(size=(PLACES, DIMENSIONS)).astype(np.float32) / 4
INT64 = 7


def tokenizer() -> bytes:
    """A SentencePiece vocabulary (Unigram), as that of XLM-RoBERTa."""
    made = Tokenizer(models.Unigram([(piece, -float(n)) for n, piece in enumerate(VOCABULARY)], unk_id=3))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", START), ("</s>", END)]
    )
    return made.to_str().encode()


def node(operator: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    fields = [*(text(1, name) for name in inputs), text(2, output), text(4, operator)]
    return part(1, b"".join([*fields, *(part(5, each) for each in attributes)]))


def value(field: int, name: str, kind: int, axes: Sequence[str]) -> bytes:
    shape = b"".join(part(1, text(2, axis)) for axis in axes)
    return part(field, text(1, name) + part(2, part(1, number(1, kind) + part(2, shape))))


def graph(*nodes: bytes, output: str = "last_hidden_state", more_inputs: Sequence[str] = ()) -> bytes:
    """Vectors of tokens (n, tokens, d): the token's, that of its place, and the sum of all tokens.

    `nodes` come after.
    """
    tables = (("tokens", TOKENS), ("places", PLACED))
    constants = [part(5, tensor(name, 1, table.shape, table.tobytes())) for name, table in tables]
    constants.append(part(5, tensor("one", INT64, (), np.int64(1).tobytes())))
    constants.append(part(5, tensor("row", INT64, (3,), np.array([0, 1, -1], np.int64).tobytes())))
    body = [
        node("Gather", ("tokens", "input_ids"), "of_tokens"),
        node("CumSum", ("attention_mask", "one"), "counted"),
        node("Gather", ("places", "counted"), "of_places"),
        node("Cast", ("attention_mask",), "weights", text(1, "to") + number(3, 1) + number(20, 2)),
        node("Reshape", ("weights", "row"), "weights_row"),
        node("MatMul", ("weights_row", "of_tokens"), "of_all"),
        node("Add", ("of_tokens", "of_places"), "alone"),
        node("Add", ("alone", "of_all"), "last_hidden_state"),
        *nodes,
    ]
    # In another order than kitpick's own graphs have, and without token types.
    inputs = [value(11, name, INT64, ("n", "t")) for name in ("attention_mask", "input_ids", *more_inputs)]
    axes = ("n", "t", "d") if output == "last_hidden_state" else ("n", "d")
    content = b"".join([*body, text(2, "g"), *constants, *inputs, value(12, output, 1, axes)])
    return number(1, 8) + part(7, content) + part(8, text(1, "") + number(2, 13))


def write_folder(folder: Path, *, pooling: str = "mean_tokens", model: bytes | None = None) -> Path:
    """A folder that can be imported."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(model or graph())
    (folder / "tokenizer.json").write_bytes(tokenizer())
    write(folder, "config.json", {"model_type": "xlm-roberta", "max_position_embeddings": PLACES + 1})
    write(folder, "sentence_bert_config.json", {"max_seq_length": 512, "do_lower_case": False})
    write(folder, "tokenizer_config.json", {"model_max_length": 1e30})
    modes = (
        "cls_token",
        "mean_tokens",
        "max_tokens",
        "mean_sqrt_len_tokens",
        "lasttoken",
        "weightedmean_tokens",
    )
    flags = {f"pooling_mode_{mode}": mode == pooling for mode in modes}
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": DIMENSIONS, **flags})
    listed = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(listed.items())
    ]
    write(folder, "modules.json", modules)
    config = {"model_type": "xlm-roberta", "max_position_embeddings": PLACES + 1, "pad_token_id": PADDING}
    write(folder, "config.json", config)
    return folder


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
