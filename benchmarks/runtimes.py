"""What `models` compares with: FlashRank and OpenVINO on the same weights, and what the processor can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timed_reranker import MAX_TOKENS, QUERY, THREADS

from kitpick_models.manifest import MODEL
from kitpick_models.session import import_runtime

Run = Callable[[Sequence[str]], Any]
_ROWS, _IN, _OUT = 5_600, 384, 1536
"""The widest product of a MiniLM on 50 pairs of 112 tokens."""


def flash_rank(model: Path, weights: Path, folder: Path) -> Run | None:
    """FlashRank over our float32 graph, None where it is not installed. It wants a column of logits."""
    try:
        from flashrank import Ranker, RerankRequest
    except ImportError:
        return None
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    name = "ms-marco-MiniLM-L-12-v2"  # the file names it knows; the weights are ours
    home = folder / "flashrank" / name
    home.mkdir(parents=True, exist_ok=True)
    graph = onnx.load(model / MODEL)
    logits = graph.graph.output[0].name
    graph.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.int64), "column"))
    graph.graph.node.append(helper.make_node("Unsqueeze", [logits, "column"], ["logits"]))
    graph.graph.output.pop()
    graph.graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1]))
    onnx.save(graph, home / "flashrank-MiniLM-L-12-v2_Q.onnx")
    (home / "tokenizer.json").write_bytes((weights / "tokenizer.json").read_bytes())
    (home / "config.json").write_text('{"pad_token_id": 0}')
    (home / "tokenizer_config.json").write_text('{"model_max_length": 512, "pad_token": "[PAD]"}')
    (home / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
    ranker = Ranker(name, str(home.parent), max_length=MAX_TOKENS, log_level="ERROR")
    return lambda texts: ranker.rerank(RerankRequest(query=QUERY, passages=[{"text": t} for t in texts]))


def open_vino(weights: Path, samples: Sequence[tuple[str, str]], folder: Path) -> Run | None:
    """OpenVINO in int8, quantised by NNCF on these pairs as its own guide does; None where not installed.

    Texts are sorted by length and run in batches of 16, as that package's users do.
    """
    try:
        import nncf
        import openvino
    except ImportError:
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    tokenizer.enable_padding()
    names = ("input_ids", "attention_mask", "token_type_ids")

    def inputs(pairs: Sequence[tuple[str, str]]) -> dict[str, NDArray[np.int64]]:
        found = tokenizer.encode_batch(list(pairs))
        columns = ([e.ids for e in found], [e.attention_mask for e in found], [e.type_ids for e in found])
        return {name: np.array(column, np.int64) for name, column in zip(names, columns, strict=True)}

    kept = folder / "openvino" / "model.xml"
    if not kept.is_file():
        data = nncf.Dataset([inputs([pair]) for pair in samples])
        converted = _converted(weights, inputs(samples[:2]))
        quantised = nncf.quantize(converted, data, model_type=nncf.ModelType.TRANSFORMER)
        openvino.save_model(quantised, kept)
    options = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}
    compiled = openvino.Core().compile_model(kept, "CPU", options)

    def run(texts: Sequence[str]) -> NDArray[np.float32]:
        order = np.argsort([len(text) for text in texts], kind="stable")
        scores = np.empty(len(texts), np.float32)
        for start in range(0, len(order), 16):
            part = order[start : start + 16]
            scores[part] = compiled(inputs([(QUERY, texts[i]) for i in part]))[0][:, 0]
        return scores

    return run


def _converted(weights: Path, inputs: dict[str, NDArray[np.int64]]) -> Any:  # noqa: ANN401
    import openvino
    import torch
    from transformers import AutoModelForSequenceClassification

    module = AutoModelForSequenceClassification.from_pretrained(weights).eval()
    example = {name: torch.from_numpy(value) for name, value in inputs.items()}
    return openvino.convert_model(module, example_input=example)


def arithmetic_limit(repeats: int = 9) -> dict[str, float]:
    """Operations per second that one large product reaches here, in float32 and in int8, on two threads.

    Not the data sheet's figure but what the fastest kernels at hand do with a product of the model's size.
    """
    rng = np.random.default_rng(0)
    products: dict[str, Callable[[], Any]] = {
        "fp32": _product(rng.normal(size=(_ROWS, _IN)).astype(np.float32), "MatMul"),
        "int8": _product(rng.integers(0, 255, (_ROWS, _IN), np.uint8), "MatMulInteger"),
    }
    return {name: 2.0 * _ROWS * _IN * _OUT / _best(run, repeats) for name, run in products.items()}


def _product(left: NDArray[Any], operator: str) -> Callable[[], Any]:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    integer = operator == "MatMulInteger"
    rng = np.random.default_rng(1)
    right = rng.integers(-127, 127, (_IN, _OUT)).astype(np.int8 if integer else np.float32)
    kinds = (TensorProto.UINT8, TensorProto.INT32) if integer else (TensorProto.FLOAT, TensorProto.FLOAT)
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", kinds[0], [_ROWS, _IN])],
        [helper.make_tensor_value_info("y", kinds[1], [_ROWS, _OUT])],
        [numpy_helper.from_array(right, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    options = import_runtime().SessionOptions()
    options.intra_op_num_threads = THREADS
    session = import_runtime().InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": left})


def _best(run: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
