"""Chunks on several threads give what one pass gives, gradients included."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kitpick_training.chunks import ChunkPool  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def gradients(layer) -> list:
    return [parameter.grad.clone() for parameter in layer.parameters()]


@pytest.mark.parametrize("threads", [1, 3])
def test_values_and_gradients_are_those_of_one_pass(threads):
    torch.manual_seed(0)
    layer, rows = torch.nn.Linear(5, 2), torch.randn(11, 5)
    weights = torch.randn(11, 2)
    (layer(rows) * weights).sum().backward()
    expected = gradients(layer)
    layer.zero_grad()

    found = ChunkPool(threads).cat(layer, torch.split(rows, 3))
    (found * weights).sum().backward()

    assert torch.allclose(found, layer(rows))
    for ours, theirs in zip(gradients(layer), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_without_gradients_nothing_is_kept_for_them(threads):
    layer = torch.nn.Linear(5, 2)
    with torch.inference_mode():
        found = ChunkPool(threads).cat(layer, [torch.zeros(2, 5), torch.zeros(1, 5)])
    assert found.shape == (3, 2)
    assert not found.requires_grad


@pytest.mark.parametrize("threads", [1, 2])
def test_a_chunk_that_fails_fails_the_whole(threads):
    layer = torch.nn.Linear(5, 2)
    with pytest.raises(RuntimeError, match="shapes"):
        ChunkPool(threads).cat(layer, [torch.zeros(2, 5), torch.zeros(2, 4)])
