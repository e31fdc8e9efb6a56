"""What goes to the card, and what becomes of what comes back: this runs where the data is."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from kitpick_models.manifest import Manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_training.card.lists import packed_lists
from kitpick_training.card.on_card import BODY, LISTS, START, STUDENT, VALIDATION, loaded
from kitpick_training.card.pieces import MOST_SENT, join_file, split_file
from kitpick_training.cross_encoder import TrainableCrossEncoder
from kitpick_training.data.ranking_lists import MIXTURES, ListSampler
from kitpick_training.data.readers import seen_tools, training_data
from kitpick_training.data.sources import reranker_source
from kitpick_training.examples import RankingList
from kitpick_training.fine_tuning import PAIRS
from kitpick_training.publication import publish_reranker
from kitpick_training.recipe import RerankerRecipe
from kitpick_training.weights import reopen_as


class CardJob(msgspec.Struct, frozen=True, kw_only=True):
    """A training on a card, as seen from here."""

    recipe: RerankerRecipe
    data: Path
    work: Path
    """Pieces: `in/` goes there, `out/` comes back."""
    body: Path
    """A transformers folder of base size, the teacher's."""
    start: Path
    """The model that the student starts from."""
    encoder: Path
    """The model that finds hard negatives."""


def pack(job: CardJob, report: Callable[[str], None]) -> None:
    """Writes lists over whole tools, body and student into pieces.

    Raises:
        EvaluationError: data is missing, broken or empty after splitting.
        ModelError: a model cannot be used.
    """
    sampler, _ = _source(job)
    recipe = job.recipe
    lists = [item for step in range(recipe.steps) for item in sampler.batch(step, recipe.lists_per_step)]
    contents = {
        LISTS: packed_lists(lists),
        VALIDATION: packed_lists(sampler.validation()),
        BODY: _halved(job.body),
        START: _student(job.start),
    }
    for name, content in contents.items():
        pieces = split_file(content, job.work / "in", name, MOST_SENT)
        report(f"{name}: {len(content) / 1e6:.1f} MB in {len(pieces)} pieces")


def _source(job: CardJob) -> tuple[ListSampler, Any]:
    recipe = job.recipe
    encoder = load_encoder(job.encoder, RuntimeSettings(threads=recipe.threads))
    mixture, cache = MIXTURES[recipe.mixture], job.work / "neighbours"
    return reranker_source(job.data, mixture, encoder.encode, cache, recipe.seed, recipe.list_size)


def _halved(body: Path) -> bytes:
    """A body in half precision, as an archive of its folder."""
    from transformers import AutoModel

    return archived(AutoModel.from_pretrained(body).half(), (body / "tokenizer.json").read_bytes())


def _student(start: Path) -> bytes:
    """An exported cross-encoder as a transformers folder in half precision."""
    opened = reopen_as(start, "cross_encoder")
    return archived(opened.module.half(), opened.tokenizer)


def archived(module: Any, tokenizer: bytes) -> bytes:  # noqa: ANN401
    """A transformers folder with its tokenizer as one uncompressed archive."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        module.save_pretrained(place)
        (Path(place) / "tokenizer.json").write_bytes(tokenizer)
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in sorted(Path(place).iterdir()):
                archive.add(path, path.name)
    return buffer.getvalue()


def publish(job: CardJob, out: Path, measured: tuple[str, str]) -> Manifest:
    """Joins the student that came back, exports, calibrates and measures it.

    Raises:
        BrokenPieces: not all of it came back.
        EvaluationError, ModelError: as `pack`, and what an export may raise.
    """
    sampler, catalogs = _source(job)
    came = loaded(join_file(job.work / "out", STUDENT))
    encoder, started_from = TrainableCrossEncoder.reopened(job.start, job.recipe)
    encoder.model.load_state_dict({name: tensor.float() for name, tensor in came["weights"].items()})
    manifest = Manifest(
        name=job.recipe.name,
        kind="cross_encoder",
        version="3",
        base_model=f"{started_from.base_model}, from there taught for {came['steps']} steps",
        licence="Apache-2.0",
        training=training_data(catalogs),
        seen=seen_tools(catalogs),
        max_tokens=job.recipe.max_tokens,
    )
    lists: list[RankingList] = list(sampler.validation())
    pairs = sampler.sample_pairs(PAIRS)
    return publish_reranker(encoder, manifest, lists, pairs, out, measured).manifest
