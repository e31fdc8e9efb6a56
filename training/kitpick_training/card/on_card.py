"""What runs on the card: a teacher of base size that reads lists, and a small student that copies it.

Needs PyTorch, transformers and tokenizers, no network and nothing else. On a processor with AMX or
AVX512-BF16 it runs as well, some hundred times slower: three steps there tell whether a part works.
"""

from __future__ import annotations

import io
import random
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Encoding, Tokenizer

from kitpick_training.card.lists import CardList, unpacked_lists
from kitpick_training.card.pieces import MOST_RETURNED, join_file, split_file
from kitpick_training.losses import list_loss, margin_mse

LISTS, VALIDATION, BODY, START, LOGITS, STUDENT = (
    "lists", "validation", "body", "student-start", "teacher-logits", "student",
)  # fmt: skip
"""Names of the files that go there and come back."""
STATE = "state.pt"
_TOKENIZER = "tokenizer.json"
_MOST_TOKENS = 128
_CHUNK = 256
"""Pairs that are read together: the activations of a step of 1,024 fit 80 GB several times."""
_BCE_WEIGHT = 0.2
_KEPT = 0.5
"""Share of the time that the learning rate stays at its height; then it falls to nothing."""


class CardSchedule(NamedTuple):
    """How long a part trains, and how it steps."""

    minutes: float
    steps: int = 0
    """At most so many; 0: as many as the minutes allow."""
    lists_per_step: int = 64
    rate: float = 5e-5
    warmup: int = 20
    teacher_share: float = 0.6
    """Of a student's loss, what copies the teacher; the rest are the labels."""
    save_every: int = 20


class Reader:
    """A cross-encoder with its tokenizer, on the card if there is one.

    Args:
        folder: of a transformers sequence classifier of one label, or of a body without a head.
    """

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForSequenceClassification

        torch.manual_seed(0)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model: Any = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        ).float().to(self.device)  # fmt: skip
        self.model.get_input_embeddings().weight.requires_grad_(False)
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.enable_truncation(_MOST_TOKENS, strategy="longest_first")
        self._tokenizer.no_padding()
        self._typed = self.model.config.model_type == "bert"
        self._padding = self.model.config.pad_token_id or 0

    def logits(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """One logit a pair, float32 (n,), with gradients where they are enabled."""
        encodings = self._tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(pairs)), key=lambda place: len(encodings[place].ids))
        chunks = [order[start : start + _CHUNK] for start in range(0, len(order), _CHUNK)]
        scored = torch.cat([self._forward([encodings[place] for place in chunk]) for chunk in chunks])
        places = torch.empty(len(order), dtype=torch.long, device=self.device)
        places[torch.tensor(order, device=self.device)] = torch.arange(len(order), device=self.device)
        return scored[places]

    def _forward(self, encodings: Sequence[Encoding]) -> torch.Tensor:
        longest = max(len(each.ids) for each in encodings)

        def filled(rows: Sequence[Sequence[int]], value: int = 0) -> torch.Tensor:
            return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], device=self.device)

        inputs = {
            "input_ids": filled([each.ids for each in encodings], self._padding),
            "attention_mask": filled([each.attention_mask for each in encodings]),
        }
        if self._typed:
            inputs["token_type_ids"] = filled([each.type_ids for each in encodings])
        with torch.autocast(self.device, dtype=torch.bfloat16):
            return torch.Tensor(self.model(**inputs).logits[:, 0].float())

    def score(self, lists: Sequence[CardList], most: int = 64) -> list[torch.Tensor]:
        """The logits of every list, on the processor."""
        self.model.eval()
        found: list[torch.Tensor] = []
        with torch.inference_mode():
            for start in range(0, len(lists), most):
                part = lists[start : start + most]
                flat = self.logits([(item.query, text) for item in part for text in item.texts]).cpu()
                found += torch.split(flat, [len(item.texts) for item in part])
        return found


def drawn(count: int, size: int, step: int) -> list[int]:
    """The lists of a step: all of them once in an order of their own, then in another, and so on."""
    places = []
    for place in range(step * size, (step + 1) * size):
        order = list(range(count))
        random.Random(f"card/{place // count}").shuffle(order)
        places.append(order[place % count])
    return places


def train(
    reader: Reader,
    lists: Sequence[CardList],
    schedule: CardSchedule,
    folder: Path,
    taught: Sequence[torch.Tensor] = (),
) -> int:
    """Trains, and goes on from where a stopped run was; the number of steps made in all.

    Args:
        reader: with its weights at the start; those at the end afterwards.
        lists: what is learned from.
        schedule: the time counts over all runs together.
        folder: of the checkpoint.
        taught: a teacher's logits of every list; none: labels alone teach.
    """
    groups = [each for each in reader.model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(groups, lr=schedule.rate, weight_decay=0.01)
    step, spent = _resumed(folder / STATE, reader, optimizer)
    begun = time.monotonic() - spent
    while (spent := time.monotonic() - begun) < 60 * schedule.minutes and not 0 < schedule.steps <= step:
        share = max(spent / (60 * schedule.minutes), step / schedule.steps if schedule.steps else 0.0)
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate * min(1.0, (step + 1) / schedule.warmup, (1 - share) / (1 - _KEPT))
        places = drawn(len(lists), schedule.lists_per_step, step)
        loss = _loss(
            reader, [lists[n] for n in places], [taught[n] for n in places] if taught else [], schedule
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(groups, 1.0)
        optimizer.step()
        step += 1
        if step % schedule.save_every == 0:
            print(f"step {step}: loss {float(loss.detach()):.3f}, {spent / 60:.1f} min", flush=True)
            _save(folder / STATE, reader, optimizer, step, time.monotonic() - begun)
    _save(folder / STATE, reader, optimizer, step, time.monotonic() - begun)
    return step


def _loss(
    reader: Reader, lists: Sequence[CardList], taught: Sequence[torch.Tensor], schedule: CardSchedule
) -> torch.Tensor:
    reader.model.train()
    flat = reader.logits([(item.query, text) for item in lists for text in item.texts])
    parts = torch.split(flat, [len(item.texts) for item in lists])
    right = [torch.tensor(item.relevant, device=reader.device) for item in lists]
    if not taught:
        return torch.stack([list_loss(*each, _BCE_WEIGHT) for each in zip(parts, right, strict=True)]).mean()
    share = schedule.teacher_share
    losses = []
    for scores, labels, told in zip(parts, right, taught, strict=True):
        teacher = told.to(reader.device).float()
        sure = ~likely_answers(teacher, labels)
        losses.append(
            share * margin_mse(scores, teacher)
            + (1 - share) * list_loss(scores[sure], labels[sure], _BCE_WEIGHT)
        )
    return torch.stack(losses).mean()


def likely_answers(teacher: torch.Tensor, relevant: torch.Tensor) -> torch.Tensor:
    """Texts that nobody called right and the teacher holds for as good as the least right one, (n,) bool."""
    if not bool(relevant.any()):
        return torch.zeros_like(relevant)
    return ~relevant & (teacher >= teacher[relevant].min())


def _save(path: Path, reader: Reader, optimizer: torch.optim.Optimizer, step: int, spent: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    state = {"model": reader.model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**state, "step": step, "spent": spent}, beside)
    beside.replace(path)


def _resumed(path: Path, reader: Reader, optimizer: torch.optim.Optimizer) -> tuple[int, float]:
    """Step and seconds of the checkpoint; (0, 0) where there is none."""
    if not path.is_file():
        return 0, 0.0
    state = torch.load(path, map_location=reader.device, weights_only=True)
    reader.model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"]), float(state["spent"])


def first_right(lists: Sequence[CardList], scores: Sequence[torch.Tensor]) -> float:
    """Share of the lists with an answer whose best text is one."""
    found = [
        item.relevant[int(of.argmax())] for item, of in zip(lists, scores, strict=True) if any(item.relevant)
    ]
    return sum(found) / max(1, len(found))


def teach(work: Path, schedule: CardSchedule) -> Iterator[str]:
    """Part `teacher`: trains it, and writes what it says of every list; yields lines to report."""
    reader = Reader(_unpacked(work, BODY))
    lists, validation = (unpacked_lists(join_file(work / "in", name)) for name in (LISTS, VALIDATION))
    yield f"validation before: first right {first_right(validation, reader.score(validation)):.3f}"
    steps = train(reader, lists, schedule, work / "teacher")
    yield f"after {steps} steps: first right {first_right(validation, reader.score(validation)):.3f}"
    told = [each.half() for each in reader.score(lists)]
    split_file(saved(told), work / "out", LOGITS, MOST_RETURNED)
    yield f"{work / 'out'}: logits of {sum(map(len, told)):,} pairs"


def study(work: Path, schedule: CardSchedule) -> Iterator[str]:
    """Part `student`: copies the teacher, and writes the student's weights; yields lines to report."""
    reader = Reader(_unpacked(work, START))
    lists, validation = (unpacked_lists(join_file(work / "in", name)) for name in (LISTS, VALIDATION))
    told = loaded(join_file(work / "out", LOGITS))
    yield f"validation before: first right {first_right(validation, reader.score(validation)):.3f}"
    steps = train(reader, lists, schedule, work / "student", told)
    yield f"after {steps} steps: first right {first_right(validation, reader.score(validation)):.3f}"
    weights = {name: tensor.half().cpu() for name, tensor in reader.model.state_dict().items()}
    split_file(saved({"steps": steps, "weights": weights}), work / "out", STUDENT, MOST_RETURNED)
    yield f"{work / 'out'}: the weights"


def _unpacked(work: Path, name: str) -> Path:
    """The folder of a model that came in pieces."""
    folder = work / name
    with tarfile.open(fileobj=io.BytesIO(join_file(work / "in", name))) as archive:
        archive.extractall(folder, filter="data")
    return folder


def saved(value: object) -> bytes:
    """Tensors, and what holds them, as bytes."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def loaded(content: bytes) -> Any:  # noqa: ANN401
    """Inverse of `saved`; nothing but tensors and plain values is read."""
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
