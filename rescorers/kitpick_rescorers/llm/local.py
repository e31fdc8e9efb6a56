"""A causal language model of Hugging Face's format, run in this process. Nothing is downloaded.

`open_model` takes such a folder, or the address of an endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers.llm.endpoint import ChatEndpoint, LlmSettings
from kitpick_rescorers.llm.model import (
    CallFailed,
    Completion,
    LanguageModel,
    Likelihoods,
    LlmUnavailable,
    Message,
    NoLikelihoods,
    spellings,
)


class LocalModel:
    """A model folder as `transformers` writes it. Safe to use from several threads: one call at a time.

    A model with a chat template is asked by it; another one is given the turns as paragraphs.
    """

    def __init__(self, folder: Path) -> None:
        """Loads the model.

        Raises:
            LlmUnavailable: torch or transformers is not installed, or there is no such model in the folder.
        """
        if find_spec("torch") is None or find_spec("transformers") is None:
            raise MissingExtra("train", "a language model in this process")
        if not (folder / "config.json").is_file():
            raise LlmUnavailable(f"{folder}: no language model here: config.json is missing")
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
        except (OSError, ValueError, KeyError) as error:
            raise LlmUnavailable(f"{folder}: not a causal language model: {str(error)[:300]}") from error
        self._limit = int(getattr(self._model.config, "max_position_embeddings", 0)) or None
        self._lock = fork_lock()
        self.identity = f"{folder.name}@local"

    def complete(
        self, messages: tuple[Message, ...], *, max_tokens: int, schema: dict[str, Any] | None, seconds: float
    ) -> Completion:
        """Implements `LanguageModel`. The schema is not enforced."""
        import torch

        prompt = self._fitting(self._prompt(messages), max_tokens)
        with self._lock, torch.inference_mode():
            made = self._model.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=max_tokens,
                max_time=seconds,
                do_sample=False,
                pad_token_id=self._tokenizer.pad_token_id or self._tokenizer.eos_token_id or 0,
            )
        answer = made[0, len(prompt) :].tolist()
        text = self._tokenizer.decode(answer, skip_special_tokens=True)
        return Completion(text, len(prompt), len(answer))

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """See `LanguageModel`: the probabilities of the tokens that the answers begin with after this prompt.

        One pass of the model, which is not cut short by `seconds`.
        """
        import torch

        text = self._prompt(messages)
        prompt = self._fitting(text, 1)
        firsts = self._first_tokens(text, prompt, answers)
        with self._lock, torch.inference_mode():
            logits = self._model(torch.tensor([prompt])).logits[0, -1]
        probabilities = torch.softmax(logits.float(), dim=0)
        masses = tuple(float(probabilities[sorted(tokens)].sum()) for tokens in firsts)
        return Likelihoods(tuple(min(1.0, mass) for mass in masses), len(prompt), 1)

    def _first_tokens(self, text: str, prompt: list[int], answers: Sequence[str]) -> list[set[int]]:
        """For each answer, the tokens that follow the prompt when both are tokenised as one text."""
        firsts = [
            {
                ids[len(prompt)]
                for ids in (self._ids(text + spelling) for spelling in spellings(answer))
                if len(ids) > len(prompt) and ids[: len(prompt)] == prompt
            }
            - {self._tokenizer.unk_token_id}
            for answer in answers
        ]
        if not all(firsts):
            raise NoLikelihoods(f"{self.identity} has no tokens for {' and '.join(answers)} after its prompt")
        if len(set().union(*firsts)) < sum(map(len, firsts)):
            raise NoLikelihoods(f"{self.identity}: {' and '.join(answers)} begin with the same token")
        return firsts

    def _fitting(self, text: str, more: int) -> list[int]:
        ids = self._ids(text)
        if self._limit is not None and len(ids) + more > self._limit:
            raise CallFailed(
                f"{self.identity} reads {self._limit} tokens: {len(ids)} and {more} are too many"
            )
        return ids

    def _ids(self, text: str) -> list[int]:
        """Token ids; special tokens come from the chat template where there is one."""
        templated = bool(self._tokenizer.chat_template)
        ids: list[int] = self._tokenizer(text, add_special_tokens=not templated)["input_ids"]
        return ids[:-1] if ids and ids[-1] == self._tokenizer.eos_token_id and not templated else ids

    def _prompt(self, messages: tuple[Message, ...]) -> str:
        if self._tokenizer.chat_template:
            turns = [{"role": message.role, "content": message.content} for message in messages]
            prompt: str = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True
            )
            return prompt
        return as_paragraphs(messages)


def as_paragraphs(messages: tuple[Message, ...]) -> str:
    """A conversation as a model without a chat template reads it."""
    return "".join(
        f" {message.content}\n\n" if message.role == "assistant" else _paragraph(message, following)
        for message, following in zip(messages, (*messages[1:], None), strict=True)
    )


def _paragraph(message: Message, following: Message | None) -> str:
    """A turn as a paragraph. A question ends without a space, so that the answer follows directly."""
    asks = message.role == "user" and (following is None or following.role == "assistant")
    return message.content + ("\nAnswer:" if asks else "\n\n")


LOCAL = "hf:"


def open_model(settings: LlmSettings) -> LanguageModel:
    """The model at `settings.url`: `hf:FOLDER` is loaded into this process, anything else is an endpoint.

    Raises:
        LlmUnavailable: what it needs is not installed, or the folder holds no model.
    """
    if settings.url.startswith(LOCAL):
        return LocalModel(Path(settings.url.removeprefix(LOCAL)))
    return ChatEndpoint(settings)
