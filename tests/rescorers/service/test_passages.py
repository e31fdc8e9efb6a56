"""Documents that are longer than a cross-encoder reads: the passage nearest to the request is read."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from kitpick_rescorers.passages import nearest_passage
from kitpick_service.errors import DeadlinePassed

FILL = (
    "The quick general introduction describes the history of this product and thanks everybody who helped. "
)
ANSWER = "To reset a forgotten administrator password, hold the button for ten seconds."
ASKED = "administrator forgot the password"


MANY = """
import random
from kitpick_rescorers.passages import nearest_passage
random.seed(3)
words = "send mail box letter post stamp envelope parcel queue the of".split()
some = lambda most: " ".join(random.choice(words) for _ in range(random.randint(1, most)))
for _ in range(1_000):
    text = ". ".join(some(9) for _ in range(random.randint(1, 120)))
    print(nearest_passage(some(6), text, 50))
"""


class TestNearestPassage:
    def test_it_is_the_sentence_that_holds_the_words(self) -> None:
        assert nearest_passage(ASKED, FILL * 60 + ANSWER, 100) == ANSWER

    def test_the_title_stays(self) -> None:
        assert nearest_passage(ASKED, f"Manual\n{FILL * 60}{ANSWER}", 100) == f"Manual\n{ANSWER}"

    def test_rare_words_count_more_than_frequent_ones(self) -> None:
        usual = "The administrator reads this page. " * 40
        assert nearest_passage(ASKED, usual + ANSWER, 50) == ANSWER

    @pytest.mark.parametrize("text", [f"{ANSWER} {FILL * 60}", f"{ANSWER} {FILL * 60}{ANSWER}"])
    def test_what_follows_is_left_out(self, text: str) -> None:
        assert nearest_passage(ASKED, text, 100) == ANSWER

    @pytest.mark.parametrize("text", [FILL * 60, "", "no sentence ends here " * 200, "\n\n"])
    def test_a_text_without_the_words_stays_as_it_is(self, text: str) -> None:
        assert nearest_passage(ASKED, text, 100) == text

    def test_what_ends_nowhere_is_read_where_the_words_stand(self) -> None:
        """A transcript, a log, or a list of texts, which is one line."""
        fill, answer = FILL.lower().replace(".", ""), ANSWER.lower().replace(".", "")
        read = nearest_passage(ASKED, fill * 30 + answer + " " + fill * 30, 100)
        assert "forgotten administrator password" in read
        assert len(read) < 100 * 4

    def test_what_ends_nowhere_without_spaces(self) -> None:
        answer = "パスワードを忘れた場合はボタンを十秒間押してください"
        read = nearest_passage("パスワードを忘れた", "この製品の歴史を説明します" * 60 + answer, 60)
        assert "パスワードを忘れた" in read
        assert len(read) <= 60

    def test_scripts_without_spaces(self) -> None:
        answer = "パスワードを忘れた場合は、ボタンを十秒間押してください。"
        assert (
            nearest_passage("パスワードを忘れた", "この製品の歴史を説明します。" * 60 + answer, 60) == answer
        )

    def test_it_is_the_same_in_every_process(self) -> None:
        """Copies of the service answer alike: sums do not depend on the order in which a set gives words."""
        command = [sys.executable, "-c", MANY]
        seeds = [os.environ | {"PYTHONHASHSEED": seed} for seed in "123"]
        chosen = {subprocess.run(command, env=env, capture_output=True, check=True).stdout for env in seeds}
        assert len(chosen) == 1
        assert b"." in chosen.pop()

    def test_nobody_waits_for_a_text_that_is_not_wanted_any_more(self) -> None:
        asked = []

        def check() -> None:
            asked.append(1)
            if len(asked) == 3:
                raise DeadlinePassed("over")

        with pytest.raises(DeadlinePassed):
            nearest_passage("send a mail", "A mail. " * 10_000, 100, check)


@pytest.mark.needs("weights", "onnxruntime", "serve")
class TestInTheService:
    CANDIDATES = (
        {
            "id": "noise",
            "text": "Manual\nPassword policy administrator list. " + FILL * 60,
            "first": {"rank": 1},
        },
        {"id": "late", "text": f"Manual\n{FILL * 60}{ANSWER}", "first": {"rank": 2}},
        {"id": "short", "text": "Manual\nThe administrator.", "first": {"rank": 3}},
    )

    def answer(self, service: Any, **more: Any) -> Any:
        call = {"query": ASKED, "candidates": self.CANDIDATES, "profile": "rerank", **more}
        return service.post("/v1/rescore", call).json()

    def test_an_answer_at_the_end_of_a_page_is_found_and_told(self, service: Any) -> None:
        read = self.answer(service, passages=True)
        assert read["results"][0]["id"] == "late"
        (told,) = read["degraded"]
        assert told["stage"] == "cross_encode"
        assert told["reason"].startswith("2 texts are longer than the 128 tokens that the model reads")

    def test_rerank_texts_are_read_from_their_beginning(self, service: Any) -> None:
        read = self.answer(service)
        assert read["results"][0]["id"] != "late"
        assert not read["degraded"]
