"""NNN decoding with gradients: unrolled FISTA, and the exact solution differentiated on its support.

    minimise over z ≥ 0    ½‖q − Dᵀz‖² + λ1·Σ z_i + ½ λ2 ‖z‖²,    D (n, d): document vectors as rows

Unrolling lets autograd walk back through every step of the solver. The implicit way needs the solution only:
on its support S the optimum solves (D_S D_Sᵀ + λ2 I) z_S = D_S q − λ1, a linear system that is
differentiable in q and D, as long as S does not change.
"""

from __future__ import annotations

import torch
from torch import Tensor


def unrolled_fista(
    documents: Tensor, queries: Tensor, l1: float, l2: float, steps: int, *, restart: bool = False
) -> Tensor:
    """Coefficients after `steps` steps of FISTA from 0 (Beck and Teboulle 2009), (b, n) for queries (b, d).

    The step is 1/L with L = λ_max(DDᵀ) + λ2; L is treated as a constant of the backward pass. With `restart`
    a query's momentum is forgotten when it points uphill (O'Donoghue and Candès 2015). Runs where the
    tensors are.
    """
    step = 1.0 / (largest_eigenvalue(documents) + l2)
    z = moved = queries.new_zeros(len(queries), len(documents))
    momentum = queries.new_ones(len(queries), 1)
    for _ in range(steps):
        residual = queries - moved @ documents
        gradient = l1 + l2 * moved - residual @ documents.T
        following = torch.relu(moved - step * gradient)
        if restart:
            uphill = ((moved - following) * (following - z)).sum(dim=1, keepdim=True) > 0
            momentum = torch.where(uphill, torch.ones_like(momentum), momentum)
        next_momentum = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        moved = following + (momentum - 1) / next_momentum * (following - z)
        z, momentum = following, next_momentum
    return z


def implicit_solution(documents: Tensor, queries: Tensor, support: Tensor, l1: float, l2: float) -> Tensor:
    """Coefficients (b, n) with exact gradients, given the support (b, n) bool of the exact solution.

    Raises:
        torch.linalg.LinAlgError: two identical rows share a support and `l2` is 0.
    """
    rows = [
        _on_support(documents, query, chosen, l1, l2) for query, chosen in zip(queries, support, strict=True)
    ]
    return torch.stack(rows)


def _on_support(documents: Tensor, query: Tensor, chosen: Tensor, l1: float, l2: float) -> Tensor:
    z = query.new_zeros(len(documents))
    if not bool(chosen.any()):
        return z
    active = documents[chosen]
    system = active @ active.T + l2 * torch.eye(len(active), dtype=active.dtype)
    return z.masked_scatter(chosen, torch.linalg.solve(system, active @ query - l1))


def largest_eigenvalue(documents: Tensor) -> float:
    """λ_max(DDᵀ), found on the smaller of the two Gram matrices."""
    with torch.no_grad():
        wide = documents.shape[0] > documents.shape[1]
        gram = documents.T @ documents if wide else documents @ documents.T
        return float(torch.linalg.eigvalsh(gram)[-1])


def margin_loss(z: Tensor, relevant: Tensor, margin: float = 1.5, temperature: float = 0.05) -> Tensor:
    """The smallest right coefficient must exceed the largest wrong one by a factor, both in soft form.

    mean of softplus((margin · softmax-mean of wrong − softmin-mean of right) / temperature).

    Args:
        z: coefficients (b, n).
        relevant: (b, n) bool, both values in every row.
        margin: how many times larger the right ones should be.
        temperature: of softmin, softmax and the hinge: small is hard.
    """
    right, wrong = _soft_extreme(z, relevant, -temperature), _soft_extreme(z, ~relevant, temperature)
    return torch.nn.functional.softplus((margin * wrong - right) / temperature).mean()


def _soft_extreme(z: Tensor, chosen: Tensor, temperature: float) -> Tensor:
    """Mean of the chosen entries weighted by softmax(z / temperature): towards the minimum if negative."""
    weights = torch.softmax((z / temperature).masked_fill(~chosen, float("-inf")), dim=1)
    return (weights * z).sum(dim=1)
