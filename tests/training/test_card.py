"""A training on a lent card: pieces that are checked, lists that come back as they were, parts that go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kitpick_training.card.lists import CardList, packed_lists, unpacked_lists
from kitpick_training.card.pieces import join_file, split_file
from kitpick_training.errors import BrokenLists, BrokenPieces
from kitpick_training.examples import RankingList

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 25])
def test_what_was_split_is_joined_byte_for_byte_and_no_piece_is_too_large(tmp_path: Path, size: int) -> None:
    content = bytes(range(size))
    paths = split_file(content, tmp_path, "body", 10)
    assert all(path.stat().st_size <= 10 for path in paths)
    assert join_file(tmp_path, "body") == content


def test_a_shorter_file_leaves_no_piece_of_the_longer_one_before_it(tmp_path: Path) -> None:
    split_file(b"x" * 25, tmp_path, "body", 10)
    split_file(b"y" * 5, tmp_path, "body", 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["body.000", "body.json"]


def test_a_piece_that_is_missing_or_of_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenPieces, match="missing"):
        join_file(tmp_path, "body")
    split_file(b"x" * 25, tmp_path, "body", 10)
    (tmp_path / "body.001").write_bytes(b"z" * 10)
    with pytest.raises(BrokenPieces, match="not those that were written together"):
        join_file(tmp_path, "body")
    (tmp_path / "body.002").unlink()
    with pytest.raises(BrokenPieces, match=r"bring all of them again"):
        join_file(tmp_path, "body")


def test_lists_come_back_as_they_were_and_hold_a_text_once() -> None:
    lists = [
        RankingList("first", ("a", "b"), (True, False)),
        RankingList("zweite \ud800", ("b", "ä"), (False, False)),
        RankingList("third", ("a",) * 1, (True,)),
    ]
    content = packed_lists(lists)
    assert unpacked_lists(content) == [CardList(item.query, item.texts, item.relevant) for item in lists]
    repeated = packed_lists([RankingList("q", ("long text " * 40,), (True,))] * 50)
    assert len(repeated) < 600


@pytest.mark.parametrize("content", [b"", b"no archive", packed_lists([])[:-4]])
def test_bytes_that_are_no_lists_are_refused(content: bytes) -> None:
    with pytest.raises(BrokenLists, match="pack them again"):
        unpacked_lists(content)


@pytest.mark.needs("torch")
def test_what_runs_there_needs_neither_our_data_formats_nor_onnx() -> None:
    code = (
        "import sys, kitpick_training.card.on_card\n"
        "print(sorted({'msgspec', 'onnx', 'onnxruntime', 'sklearn', 'kitpick_engines'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.fixture
def work(tmp_path: Path, make_encoder) -> Path:
    """Everything that goes to the card, of a tiny model; what is right is the one text about the weather."""
    from kitpick_training.card.on_card import BODY, LISTS, START, VALIDATION
    from kitpick_training.card.packing import archived

    tiny = make_encoder()
    model = archived(tiny.model.half(), tiny.tokenizer.to_str().encode())
    texts = ("song", "weather", "price", "ticket")
    lists = [
        RankingList(f"get {word}", texts, tuple(text == "weather" for text in texts)) for word in texts * 4
    ]
    contents = {
        LISTS: packed_lists(lists),
        VALIDATION: packed_lists(lists[:4]),
        BODY: model,
        START: model,
    }
    for name, content in contents.items():
        split_file(content, tmp_path / "in", name, 40_000)
    return tmp_path


def schedule(**changes: object):
    from kitpick_training.card.on_card import CardSchedule

    plain = CardSchedule(minutes=5.0, steps=12, lists_per_step=4, rate=1e-2, warmup=2, save_every=3)
    return plain._replace(**changes)


def test_a_teacher_learns_and_a_student_copies_it(work: Path) -> None:
    from kitpick_training.card.on_card import LOGITS, STUDENT, loaded, study, teach

    taught = list(teach(work, schedule()))
    assert taught[1] == "after 12 steps: first right 1.000"
    told = loaded(join_file(work / "out", LOGITS))
    assert (len(told), {len(each) for each in told}) == (16, {4})
    assert list(study(work, schedule()))[1] == "after 12 steps: first right 1.000"
    came = loaded(join_file(work / "out", STUDENT))
    assert came["steps"] == 12
    assert came["weights"]["classifier.weight"].shape == (1, 32)


def test_a_part_that_was_stopped_goes_on_where_it_was(work: Path) -> None:
    from kitpick_training.card.on_card import teach

    assert "after 3 steps" in list(teach(work, schedule(steps=3)))[1]
    assert "after 3 steps" in list(teach(work, schedule(steps=3)))[1], "nothing is left to do"
    assert "after 5 steps" in list(teach(work, schedule(steps=5)))[1]
    spent = schedule(minutes=1e-9, steps=0)
    assert "after 5 steps" in list(teach(work, spent))[1], "the minutes are of all runs together"


@pytest.mark.needs("torch")
def test_every_list_is_drawn_once_before_any_is_drawn_again() -> None:
    from kitpick_training.card.on_card import drawn

    first = [place for step in range(4) for place in drawn(12, 3, step)]
    second = [place for step in range(4, 8) for place in drawn(12, 3, step)]
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second


@pytest.mark.needs("torch")
def test_what_the_teacher_holds_for_an_answer_is_not_taught_as_wrong() -> None:
    import torch

    from kitpick_training.card.on_card import likely_answers

    told = torch.tensor([3.0, 1.0, 1.0, 0.5, 2.0])
    relevant = torch.tensor([True, True, False, False, False])
    assert likely_answers(told, relevant).tolist() == [False, False, True, False, True]
    assert not bool(likely_answers(told, torch.zeros(5, dtype=torch.bool)).any()), "nothing is right there"
