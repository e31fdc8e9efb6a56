"""`python -m kitpick_training.export OUT --data DATA`: writes the shipped encoder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kitpick_training.export.shipped import export_minilm


def main(
    out: Annotated[Path, typer.Argument(help="Folder to write, e.g. onnx_models/weights/minilm-l6.")],
    data: Annotated[Path, typer.Option(help="Folder with openapi/ and bfcl/.")],
    storage: Annotated[
        Literal["fp32", "fp16", "weight_int8", "static_int8"], typer.Option(help="How weights are stored.")
    ] = "static_int8",
) -> None:
    """Exports all-MiniLM-L6-v2."""
    manifest = export_minilm(out, data, storage)
    typer.echo(f"{manifest.identity} in {out}")


typer.run(main)
