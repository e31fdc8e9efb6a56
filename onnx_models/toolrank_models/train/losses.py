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
    """Both losses; a list without a right text has only the second one."""
    pointwise = bce_weight * pointwise_loss(scores, relevant)
    return pointwise + listwise_loss(scores, relevant) if bool(relevant.any()) else pointwise
