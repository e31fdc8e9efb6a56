"""Probabilities of logits, thresholds for them, and whether a probability is right as often as it says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_models.encoders import sigmoid
from kitpick_training.errors import EmptyTrainingSet
from kitpick_training.examples import RankingList

Scores = NDArray[np.float32]
_TEMPERATURES: Scores = np.geomspace(0.1, 10.0, 200).astype(np.float32)


class Calibration(msgspec.Struct, frozen=True):
    """What goes into the manifest, and how good it is on the lists it was read off.

    `concentrate` is the probability of best F1 for single texts. `abstain` is the largest threshold that
    leaves at least `kept` of the answerable lists alone; `abstain_precision` and `abstain_recall` say how
    many of the lists it stops have no answer, and how many without an answer it stops.
    """

    temperature: float
    log_loss: float
    concentrate: float
    concentrate_f1: float
    abstain: float
    abstain_precision: float
    abstain_recall: float
    kept: float


def calibrate(lists: Sequence[RankingList], scores: Sequence[Scores], kept: float = 0.98) -> Calibration:
    """Temperature and thresholds for logits of validation lists in first-stage order.

    Every answerable list also counts once without its right texts: what a first stage brings when the
    catalog cannot do the job.

    Args:
        lists: at least one answerable.
        scores: float32 logits of each list's texts.
        kept: share of answerable lists that must not be stopped, in (0, 1): a request that is stopped by
            mistake costs its user more than one that is let through.

    Raises:
        EmptyTrainingSet: no list has a right answer, or none has a wrong text.
    """
    relevant = np.concatenate([np.asarray(item.relevant) for item in lists])
    logits = np.concatenate(list(scores))
    if relevant.all() or not relevant.any():
        raise EmptyTrainingSet("validation lists with right and wrong texts")
    losses = [_log_loss(np.asarray(logits / t, np.float32), relevant) for t in _TEMPERATURES]
    temperature = float(_TEMPERATURES[int(np.argmin(losses))])
    concentrate, f1 = _best_f1(sigmoid(np.asarray(logits / temperature, np.float32)), relevant)
    with_answer, without = _best_probabilities(lists, scores, temperature)
    abstain = float(np.quantile(with_answer, 1 - kept))
    stopped, missed = int((without < abstain).sum()), int((with_answer < abstain).sum())
    return Calibration(
        temperature=temperature,
        log_loss=min(losses),
        concentrate=concentrate,
        concentrate_f1=f1,
        abstain=abstain,
        abstain_precision=stopped / max(1, stopped + missed),
        abstain_recall=stopped / max(1, len(without)),
        kept=float((with_answer >= abstain).mean()),
    )


def _log_loss(logits: Scores, relevant: NDArray[np.bool_]) -> float:
    """Mean of log(1 + exp(∓logit)), computed without overflow."""
    return float(np.logaddexp(0, np.where(relevant, -logits, logits)).mean())


def _best_f1(probabilities: Scores, relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """The threshold of best F1 among the probabilities themselves, and that F1."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(relevant[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + relevant.sum())
    best = int(np.argmax(f1))
    return float(probabilities[order[best]]), float(f1[best])


def _best_probabilities(
    lists: Sequence[RankingList], scores: Sequence[Scores], temperature: float
) -> tuple[Scores, Scores]:
    """Best probability of each answerable list, and of each list without its right texts."""
    with_answer, without = [], []
    for item, score in zip(lists, scores, strict=True):
        wrong = score[~np.asarray(item.relevant)]
        if item.answerable:
            with_answer.append(score.max())
        if len(wrong):
            without.append(wrong.max())
    return (
        sigmoid(np.asarray(with_answer, np.float32) / temperature),
        sigmoid(np.asarray(without, np.float32) / temperature),
    )


Float64 = NDArray[np.float64]
Pair = tuple[float, bool]
"""A probability, and whether what it was said of was right."""

BINS = 10
_DRAWS = 200


class ReliabilityBin(msgspec.Struct, frozen=True):
    """Hits of similar probability."""

    probability: float
    right: float
    """Share of them that were relevant."""
    hits: int


def reliability_bins(pairs: Sequence[Pair]) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width, empty ones left out: those of the reliability diagram."""
    values, right, bins = _binned(pairs)
    return tuple(
        ReliabilityBin(
            float(values[bins == b].mean()), float(right[bins == b].mean()), int((bins == b).sum())
        )
        for b in range(BINS)
        if (bins == b).any()
    )


def calibration_error(pairs: Sequence[Pair]) -> float:
    """Expected calibration error Σ_b n_b/n · |mean probability − share of right ones| over ten equal bins.

    Naeini, Cooper and Hauskrecht, AAAI 2015. With few hits it is above zero for perfect probabilities too.
    """
    values, right, bins = _binned(pairs)
    return _error(values, right, bins)


def calibration_floor(pairs: Sequence[Pair], seed: int) -> float:
    """Mean `calibration_error` of perfectly calibrated probabilities, by chance alone."""
    values, _, bins = _binned(pairs)
    rng = np.random.default_rng(seed)
    draws = [_error(values, (rng.random(len(values)) < values).astype(float), bins) for _ in range(_DRAWS)]
    return float(np.mean(draws))


def _binned(pairs: Sequence[Pair]) -> tuple[Float64, Float64, NDArray[np.int64]]:
    values = np.array([value for value, _ in pairs], np.float64)
    right = np.array([is_right for _, is_right in pairs], np.float64)
    return values, right, np.minimum((values * BINS).astype(np.int64), BINS - 1)


def _error(values: Float64, right: Float64, bins: NDArray[np.int64]) -> float:
    gaps = np.bincount(bins, weights=right - values, minlength=BINS)
    return float(np.abs(gaps).sum() / len(values))
