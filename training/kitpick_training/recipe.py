"""The settings of a run, read from a TOML file; unknown keys are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from kitpick_foundation.decoding import convert_to
from kitpick_training.errors import InvalidRecipe

Positive = Annotated[int, msgspec.Meta(ge=1)]
PositiveNumber = Annotated[float, msgspec.Meta(gt=0.0)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every run of a transformer is set by.

    The learning rate warms up, stays, and falls linearly to zero over the last `decay_steps`: a run can be
    made longer by raising `steps`, and goes on from any checkpoint of the flat part.
    """

    name: str
    steps: Positive
    seed: int = 0
    lists_per_step: Positive = 8
    list_size: Positive = 8
    max_tokens: Annotated[int, msgspec.Meta(ge=16, le=512)] = 160
    learning_rate: PositiveNumber = 5e-5
    warmup_steps: Positive = 60
    decay_steps: Positive = 400
    weight_decay: Share = 0.01
    clip_norm: PositiveNumber = 1.0
    checkpoint_every: Positive = 100
    validate_every: Positive = 400
    validate_start: bool = False
    """Measure the weights a run starts from as well: they stand where no later ones are better."""
    choose_by: Literal["ndcg5", "complete5"] = "ndcg5"
    """The figure on the validation split by which weights are kept."""
    patience: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Validations in a row without a better figure after which a run ends early; 0: never."""
    threads: Positive = 2
    half: bool = False
    """Matrix products in bfloat16: faster where the processor has units for it (AMX, AVX512-BF16)."""
    body: str = ""
    """Name and licence of the pretrained body; empty: the one that comes with the extra `train`."""

    def rate(self, step: int) -> float:
        """Learning rate of a step (from 0)."""
        up = (step + 1) / self.warmup_steps
        down = (self.steps - step) / self.decay_steps
        return self.learning_rate * min(1.0, up, down)


class RerankerRecipe(RunSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of a cross-encoder run."""

    bce_weight: Annotated[float, msgspec.Meta(ge=0.0)] = 0.2
    mixture: Literal["shown", "whole", "kits"] = "shown"
    """Lists of what the authors of requests were shown, of all that their tools can do, or mostly of kits."""
    frozen_layers: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Lower layers that stay as they are: a step is cheaper by their backward pass."""
    chunk_pairs: Positive = 16
    """Pairs run together, sorted by length: less padding."""
    doubt_margin: float | None = None
    """Leave out what the weights at the start hold for an answer, see `doubtful`; none: learn from all."""


class EncoderRecipe(RunSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of an encoder run."""

    temperature: PositiveNumber = 0.05
    """Divides cosines before the softmax over all texts of a step."""
    chunk_texts: Positive = 32
    """Texts run together, sorted by length."""


class PreferenceRecipe(EncoderRecipe, frozen=True, forbid_unknown_fields=True):
    """Settings of an encoder run on graded lists."""

    contrast_weight: Annotated[float, msgspec.Meta(ge=0.0)] = 0.2
    """Of the contrastive loss beside RankNet."""


class CatalogRecipe(EncoderRecipe, frozen=True, forbid_unknown_fields=True):
    """Settings of an encoder run on one catalog, whose texts are all compared with every request."""

    frozen_layers: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Lower layers that stay as they are."""
    texts_per_step: Positive = 24
    """Texts that are encoded with gradients in a step, in turn; the others are remembered."""


class NnnRecipe(RunSettings, frozen=True, forbid_unknown_fields=True):
    """Settings of an NNN-Tr run: request encoder and adapter are trained through the decoder."""

    l1: Annotated[float, msgspec.Meta(ge=0.0)] = 0.1
    """0 is the L2 variant."""
    l2: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    """0 is the L1 variant."""
    solver_steps: Positive = 60
    margin: PositiveNumber = 1.5
    """How many times larger the weakest right coefficient should be than the strongest wrong one."""
    margin_temperature: PositiveNumber = 0.05
    temperature: PositiveNumber = 0.05
    """Of the InfoNCE term."""
    contrast_weight: Annotated[float, msgspec.Meta(ge=0.0)] = 0.2
    """Weight of InfoNCE beside the margin: a right text without a coefficient has no gradient of its own."""
    chunk_texts: Positive = 64


class QueryKindRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a query-kind head, which reads the request's vector."""

    name: str
    encoder: str
    """Name of the encoder that embeds the requests."""
    seed: int = 0
    joined: Positive = 6_000
    """Synthetic requests to learn from."""
    most_written: Positive = 1_500
    """At most this many written requests of each source and kind."""
    validation_joined: Positive = 800
    validation_written: Positive = 300
    hidden: Positive = 128
    """Width of the hidden layer."""
    dropout: Share = 0.2
    epochs: Positive = 80
    batch: Positive = 256
    learning_rate: PositiveNumber = 1e-3
    weight_decay: Share = 0.02


class PairRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of two encoders that become one."""

    name: str
    weights: tuple[PositiveNumber, PositiveNumber]
    """What the cosine of each counts."""
    dimensions: Positive = 384
    texts: Positive = 6_000
    """From which the directions that are kept are found, and the last ones as reference."""
    seed: int = 0


class RankerRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the trees of a list ranker."""

    name: str
    trees: Positive = 300
    leaves: Annotated[int, msgspec.Meta(ge=2)] = 15
    learning_rate: PositiveNumber = 0.05
    least_rows: Positive = 80
    """Rows that a leaf holds at least."""
    columns: Share = 0.7
    """Share of the features that a tree may use."""
    rows: Share = 0.7
    """Share of the rows that a tree is grown on."""
    ridge: Annotated[float, msgspec.Meta(ge=0.0)] = 5.0
    seed: int = 0


Recipe = TypeVar(
    "Recipe",
    RerankerRecipe,
    EncoderRecipe,
    PreferenceRecipe,
    CatalogRecipe,
    NnnRecipe,
    QueryKindRecipe,
    RankerRecipe,
    PairRecipe,
)


def read_recipe(path: Path, kind: type[Recipe]) -> Recipe:
    """The recipe in a TOML file.

    Raises:
        InvalidRecipe: not there, not TOML, an unknown key, or a value out of range.
    """
    try:
        return convert_to(msgspec.toml.decode(path.read_bytes()), kind)
    except OSError as error:
        raise InvalidRecipe(path, f"cannot be read ({error.strerror})") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidRecipe(path, f"not a recipe: {error}") from error


def recipe_path(name_or_path: str) -> Path:
    """The file of a shipped recipe, or the path as it is.

    Raises:
        InvalidRecipe: neither a shipped name nor a file.
    """
    shipped = Path(__file__).parent / "recipes"
    for path in (shipped / f"{name_or_path}.toml", Path(name_or_path)):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in shipped.glob("*.toml")))
    raise InvalidRecipe(Path(name_or_path), f"no such file, and none of the shipped recipes ({known})")
