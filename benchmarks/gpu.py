"""What a graphics card buys: the shipped cross-encoder in half precision on the card, and the service on it.

- `pairs_per_second`: pairs of a request with tool texts in one call, tokenising included and nothing cached;
  `vs_cpu` and `vs_sentence_transformers`: that rate over the int8 model's on the processor, and over that of
  `sentence_transformers.CrossEncoder` with the same weights, in half precision, on the same card. The sides
  take turns, and medians are compared.
- `order_tau`: Kendall's τ of the card's order of these texts with the processor's.
- `p50_ms_N`, `p99_ms_N`, `served_N`: latencies and pairs a second of the service on the card with N clients
  that ask with 5 to 100 documents each.

`--provider cpu` tries every part where there is no card. `--data FOLDER`, `--pairs N`,
`--rounds N`, `--seconds N` of a load, `--clients N` (repeatable, default 1, 8 and 64). Without the device, or
without the package `onnxruntime-gpu` in place of `onnxruntime`, it says so and ends with 0.
"""

# ruff: noqa: ERA001
# needs: train and serve
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from serving.load import Load
from serving.process import UNCACHED, serving, tool_texts
from serving.weights import state, write
from shared_data import DATA
from timed_reranker import QUERY, interleaved

from kitpick_models.encoders import CrossEncoder
from kitpick_models.errors import ModelError
from kitpick_models.locate import choose, find_model
from kitpick_models.manifest import TOKENIZER, Manifest, read_file, read_manifest
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.session import import_runtime, require_provider
from kitpick_models.settings import Provider, RuntimeSettings
from kitpick_models.verify import kendall_tau

Scores = NDArray[np.float32]
Side = Callable[[], Scores]
CLIENTS = (1, 8, 64)


def main() -> int:
    """Prints two tables and, last, one JSON object."""
    options = _options()
    try:
        require_provider(options.provider, import_runtime().get_available_providers())
    except ModelError as error:
        print(f"skipped: {error}")
        print(json.dumps({"skipped": str(error)}))
        return 0
    texts = tool_texts(options.data)
    with tempfile.TemporaryDirectory() as scratch:
        weights, half = in_half_precision(Path(scratch), texts)
        figures = speed(weights, half, texts[: options.pairs], options)
        figures |= service(half, texts, options)
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))
    return 0


def in_half_precision(folder: Path, texts: Sequence[str]) -> tuple[Path, Path]:
    """The shipped weights as a folder of transformers, and as a model folder in half precision."""
    import onnx
    from onnx import numpy_helper

    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import read_cross_encoder

    source = find_model(choose().cross_encoder)
    manifest = read_manifest(source)
    graph = onnx.load(source / "model.onnx").graph
    given = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    tokenizer = read_file(source, manifest, TOKENIZER).decode()
    write(state(given), tokenizer, manifest.max_tokens, folder / "torch")
    made = Manifest(
        manifest.name, "cross_encoder", "half", "", "", storage="fp16", max_tokens=manifest.max_tokens
    )
    pairs = [(QUERY, text) for text in texts[:8]]
    export_cross_encoder(read_cross_encoder(folder / "torch"), folder / "half", made, pairs, pairs)
    return folder / "torch", folder / "half"


def speed(weights: Path, half: Path, texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """All sides in turn on the same pairs."""
    card = load_cross_encoder(half, RuntimeSettings(provider=options.provider, cached_tokens=0))
    processor = load_cross_encoder(settings=RuntimeSettings(cached_tokens=0))
    theirs = sentence_transformers_on(options.provider, weights, card)
    sides: dict[str, Side] = {
        "card": lambda: card.score(QUERY, texts),
        "sentence_transformers": lambda: theirs(texts),
        "cpu": lambda: processor.score(QUERY, texts),
    }
    scores = {name: side() for name, side in sides.items()}  # the first call of each is no measurement
    rates = {name: len(texts) / seconds for name, seconds in interleaved(sides, options.rounds).items()}
    taus = {name: kendall_tau(found, scores["cpu"]) for name, found in scores.items()}
    table = Table("runtime", "pairs/s", "τ with the processor's order")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:.0f}", f"{taus[name]:.4f}")
    Console().print(table)
    figures = {"pairs_per_second": rates["card"], "order_tau": taus["card"]}
    return figures | {f"vs_{name}": rates["card"] / rate for name, rate in rates.items() if name != "card"}


def sentence_transformers_on(
    provider: Provider, weights: Path, card: CrossEncoder
) -> Callable[[Sequence[str]], Scores]:
    """Their cross-encoder over the weights, on the same device and as exact, with logits as they are."""
    import sentence_transformers
    import torch

    on_card = provider != "cpu"
    model = sentence_transformers.CrossEncoder(
        str(weights),
        device="cuda" if on_card else "cpu",
        max_length=card.manifest.max_tokens,
        activation_fn=torch.nn.Identity(),
        model_kwargs={"torch_dtype": torch.float16} if on_card else {},
    )
    return lambda texts: np.asarray(
        model.predict([(QUERY, text) for text in texts], batch_size=128, show_progress_bar=False), np.float32
    ).reshape(-1)


def service(half: Path, texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """The service on the card under each load."""
    table = Table("clients", "pairs/s", "p50 ms", "p99 ms", "refused")
    figures: dict[str, float] = {}
    settings = (*UNCACHED, f"provider={options.provider}", f"cross_encoder={half}")
    with serving(settings) as served:
        for clients in options.clients or CLIENTS:
            found = Load(f"{served.url}/rerank", texts, clients, options.seconds, seed=clients)
            p50, p99 = found.percentile(50), found.percentile(99)
            table.add_row(str(clients), f"{found.rate:.0f}", f"{p50:.1f}", f"{p99:.1f}", str(found.refused))
            figures |= {f"p50_ms_{clients}": p50, f"p99_ms_{clients}": p99, f"served_{clients}": found.rate}
    Console().print(table)
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, action="append")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
