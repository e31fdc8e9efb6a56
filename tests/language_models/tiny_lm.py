"""A language model of two layers, built and trained here to say Yes to some tools and No to others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

GOOD = ("weather", "invoice", "parcel", "recipe")
"""The tools it says Yes to."""
TOOLS = (*GOOD, "ticket", "song", "price", "letter")
OTHERS = ("urgent", "Yes", "No", "yes", "no", "get", "a", "the", "Is", "it", "job")


def tokenizer() -> Any:
    """One token a word or sign; what it does not know is `<unk>`. Spaces are its own business."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    signs = ("<unk>", "<end>", *'{}[]":,.?!|', "Answer", "request", "tool")
    vocabulary = {word: number for number, word in enumerate((*signs, *TOOLS, *OTHERS))}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )


def model(tokens: int) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=tokens,
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=False,
        )
    )


def train(prompts: Callable[[random.Random], tuple[str, str]], steps: int, folder: Path) -> Path:
    """Trains it to continue prompts, and writes it as `transformers` does.

    Args:
        prompts: draws a prompt and its answer.
        steps: of 16 prompts each.
        folder: where it is written.
    """
    import torch

    words, rng = tokenizer(), random.Random(0)
    lm = model(len(words))
    optimizer = torch.optim.AdamW(lm.parameters(), lr=3e-3)
    for _ in range(steps):
        drawn = [prompts(rng) for _ in range(16)]
        rows = [words(f"{prompt} {answer}")["input_ids"] for prompt, answer in drawn]
        loss = lm(**_padded(rows)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    lm.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def _padded(rows: Sequence[list[int]]) -> dict[str, Any]:
    """Only the last token of a row, the answer, is learned."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([row + [1] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    labels = torch.full_like(ids, -100)
    for place, row in enumerate(rows):
        labels[place, len(row) - 1] = row[-1]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
