"""The cross-encoder in training: its model, the task of ranking lists, and lists without doubtful texts.

Scored are pairs (request, text), in chunks of similar length, with a BERT that has one logit on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from kitpick_models.manifest import Manifest
from kitpick_training.chunks import ChunkPool, padded
from kitpick_training.errors import EmptyTrainingSet
from kitpick_training.examples import ListScorer, ListSource, RankingFigures, RankingList, ranking_figures
from kitpick_training.losses import graded_loss, list_loss
from kitpick_training.recipe import RerankerRecipe
from kitpick_training.weights import freeze, reopen_as

_LISTS_A_PASS = 32
EVEN_LOGIT = 0.0
"""As likely right as wrong: the measure where a list has no right text."""


class TrainableCrossEncoder:
    """Scores pairs with a sequence classifier of one label.

    Args:
        model: a `transformers` sequence classification model with `num_labels=1`.
        tokenizer: its fast tokenizer.
        max_tokens: pairs are cut to this length, the longer side first.
        chunk_pairs: pairs per forward pass.
        half: run matrix products in bfloat16; the weights stay float32.
        threads: chunks that run side by side, see `ChunkPool`.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Tokenizer,
        max_tokens: int,
        chunk_pairs: int = 16,
        *,
        half: bool = False,
        threads: int = 1,
    ) -> None:
        self.model = model
        self.half = half
        self.workers = ChunkPool(threads)
        self.tokenizer = tokenizer
        self.chunk_pairs = chunk_pairs
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        tokenizer.no_padding()

    @classmethod
    def from_body(cls, folder: Path, recipe: RerankerRecipe) -> TrainableCrossEncoder:
        """A pretrained body with a new head; the head's initial values depend on the seed alone.

        Without dropout: no list is seen twice. Word embeddings stay as they are: words that the training
        data lacks keep their place beside those it has, and a step is a fifth cheaper on a CPU. Attention is
        spelled out: the backward pass of torch's fused one takes longer on a CPU than all the rest of a step.
        """
        from transformers import AutoModelForSequenceClassification

        torch.manual_seed(recipe.seed)
        model = AutoModelForSequenceClassification.from_pretrained(
            folder,
            num_labels=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        return cls._prepared(model, Tokenizer.from_file(str(folder / "tokenizer.json")), recipe)

    @classmethod
    def reopened(cls, folder: Path, recipe: RerankerRecipe) -> tuple[TrainableCrossEncoder, Manifest]:
        """An exported cross-encoder: nearer to it than a bare body.

        Raises:
            ModelError: damaged, or no cross-encoder.
        """
        opened = reopen_as(folder, "cross_encoder")
        tokenizer = Tokenizer.from_str(opened.tokenizer.decode())
        return cls._prepared(opened.module, tokenizer, recipe), opened.manifest

    @classmethod
    def _prepared(cls, model: Any, tokenizer: Tokenizer, recipe: RerankerRecipe) -> TrainableCrossEncoder:  # noqa: ANN401
        """A model, to be trained as the recipe says."""
        model.get_input_embeddings().weight.requires_grad_(False)
        freeze(model, recipe.frozen_layers)
        return cls(
            model, tokenizer, recipe.max_tokens, recipe.chunk_pairs, half=recipe.half, threads=recipe.threads
        )

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """One logit a pair, float32 (n,), with gradients where they are enabled."""
        encodings = self.tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(pairs)), key=lambda i: len(encodings[i].ids))
        chunks = [order[i : i + self.chunk_pairs] for i in range(0, len(order), self.chunk_pairs)]
        scored = self.workers.cat(self._forward, [[encodings[i] for i in chunk] for chunk in chunks])
        places = torch.empty(len(order), dtype=torch.long)
        places[torch.tensor(order)] = torch.arange(len(order))
        return scored[places]

    def _forward(self, encodings: Sequence[Encoding]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half, cache_enabled=False):
            output = self.model(**padded(encodings))
        return output.logits[:, 0].float()

    def score_lists(self, lists: Sequence[RankingList]) -> list[NDArray[np.float32]]:
        """Logits of every text of every list, without dropout."""
        self.model.eval()
        scores: list[NDArray[np.float32]] = []
        for start in range(0, len(lists), _LISTS_A_PASS):
            part = lists[start : start + _LISTS_A_PASS]
            with torch.inference_mode():
                flat = self.logits([(item.query, text) for item in part for text in item.texts]).numpy()
            scores += _by_list(flat, part)
        return scores


class RerankerTask:
    """Lists of one request each, scored pair by pair.

    Args:
        recipe: losses and batch size.
        encoder: what is trained.
        source: training and validation lists.

    Raises:
        EmptyTrainingSet: no validation list has a right answer.
    """

    def __init__(
        self,
        recipe: RerankerRecipe,
        encoder: TrainableCrossEncoder,
        source: ListSource,
    ) -> None:
        self.recipe, self.encoder, self.source = recipe, encoder, source
        self.validation = list(source.validation())
        if not any(item.answerable for item in self.validation):
            raise EmptyTrainingSet("validation lists with a right answer")

    @property
    def model(self) -> Any:  # noqa: ANN401
        """The sequence classifier."""
        return self.encoder.model

    def loss(self, step: int) -> torch.Tensor:
        """Mean loss of the lists of a step."""
        lists = self.source.batch(step, self.recipe.lists_per_step)
        logits = self.encoder.logits([(item.query, text) for item in lists for text in item.texts])
        parts = torch.split(logits, [len(item.texts) for item in lists])
        return torch.stack(
            [self._labelled(part, item) for part, item in zip(parts, lists, strict=True)]
        ).mean()

    def _labelled(self, scores: torch.Tensor, item: RankingList) -> torch.Tensor:
        relevant, weight = torch.tensor(item.relevant), self.recipe.bce_weight
        if item.grades:
            return graded_loss(scores, torch.tensor(item.grades), relevant, weight)
        return list_loss(scores, relevant, weight)

    def figures(self) -> RankingFigures:
        """How the validation lists are ordered."""
        return ranking_figures(self.validation, self.encoder.score_lists(self.validation))


class WithoutLikelyAnswers:
    """Lists of another source, less the doubtful texts that a trained model holds for right.

    What a good first stage proposes often answers the request as well, though nobody called it right. Taught
    as wrong, such texts teach that the likeliest text is wrong (Qu et al. 2021, RocketQA, "denoised hard
    negatives").

    Args:
        source: where lists come from; its validation lists stay whole.
        judge: what tells likely answers; it is not trained further.
        margin: a doubtful text goes when its logit is at least the least right text's less this.
    """

    def __init__(self, source: ListSource, judge: ListScorer, margin: float) -> None:
        self._source, self._judge, self._margin = source, judge, margin

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step, some shorter than drawn; those that lost all texts are left out."""
        lists = self._source.batch(step, size)
        asked = [item for item in lists if any(item.doubtful)]
        scored = iter(self._judge.score_lists(asked))
        kept = [self._kept(item, next(scored)) if any(item.doubtful) else item for item in lists]
        return [item for item in kept if item.texts]

    def validation(self) -> Sequence[RankingList]:
        """Those of the source."""
        return self._source.validation()

    def _kept(self, item: RankingList, scores: NDArray[np.float32]) -> RankingList:
        right, doubtful = np.array(item.relevant), np.array(item.doubtful)
        least = scores[right].min() if right.any() else EVEN_LOGIT
        return _only(item, np.flatnonzero(~(doubtful & (scores >= least - self._margin))))


def _by_list(rows: NDArray[np.float32], lists: Sequence[RankingList]) -> list[NDArray[np.float32]]:
    """What was computed for all texts, row by row, list by list."""
    return np.split(rows, np.cumsum([len(item.texts) for item in lists])[:-1])


def _only(item: RankingList, places: NDArray[np.intp]) -> RankingList:
    return msgspec.structs.replace(
        item,
        texts=tuple(item.texts[i] for i in places),
        relevant=tuple(item.relevant[i] for i in places),
        doubtful=tuple(item.doubtful[i] for i in places),
    )
