"""Losses over a list of scores in which some are right."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def listwise_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """Cross-entropy between the softmax over a list and the uniform distribution over its right texts.

    ListNet's top-one form (Cao et al., ICML 2007, eq. 6) with binary labels.

    Args:
        scores: (n,) logits of one list.
        relevant: (n,) bool, at least one True.
    """
    return -torch.log_softmax(scores, dim=0)[relevant].mean()


def pointwise_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """Binary cross-entropy of each text alone: gives the logits an absolute scale, (n,) → scalar."""
    return functional.binary_cross_entropy_with_logits(scores, relevant.to(scores.dtype))


def list_loss(scores: Tensor, relevant: Tensor, bce_weight: float) -> Tensor:
    """ListNet and the weighted pointwise loss; a list without a right text has only the second one."""
    pointwise = bce_weight * pointwise_loss(scores, relevant)
    return pointwise + listwise_loss(scores, relevant) if bool(relevant.any()) else pointwise


def margin_mse(scores: Tensor, teacher: Tensor) -> Tensor:
    """Mean squared difference between the student's and the teacher's margins, over all pairs of a list.

    Margin-MSE (Hofstätter et al. 2020, eq. 7) without labels: n lists of texts tell n² margins, not one.
    """
    difference = scores - teacher
    return (difference[:, None] - difference[None, :]).square().mean()


def teacher_order(scores: Tensor, teacher: Tensor) -> Tensor:
    """RankNet on the teacher's order: mean of log(1 + exp(s_j − s_i)) over pairs that it puts i before j.

    Burges et al., ICML 2005, eq. 3.
    Texts that the teacher holds for equal are in no order; where all are, the loss is 0.
    """
    better = teacher[:, None] > teacher[None, :]
    if not bool(better.any()):
        return 0.0 * scores.sum()
    return functional.softplus(scores[None, :] - scores[:, None])[better].mean()


def graded_loss(scores: Tensor, grades: Tensor, relevant: Tensor, bce_weight: float) -> Tensor:
    """RankNet on grades, (n,), and the weighted pointwise loss, which keeps the logits' absolute scale."""
    return teacher_order(scores, grades) + bce_weight * pointwise_loss(scores, relevant)


def contrastive_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """InfoNCE with several right texts a request: each right text against all wrong ones, never each other.

    Mean over the right pairs of −log(exp s⁺ / (exp s⁺ + Σ exp s⁻)); Oord et al., 2018, eq. 4, with the other
    right texts taken out of the sum.

    Args:
        scores: (requests, texts) similarities over the temperature.
        relevant: (requests, texts) bool; a row without a True counts nothing.
    """
    wrong = scores.masked_fill(relevant, float("-inf")).logsumexp(dim=1, keepdim=True)
    return functional.softplus(wrong - scores)[relevant].mean()
