"""Small talk in fourteen languages: refused with the reason, and only where it is all that is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.glossary import LANGUAGES
from kitpick_rescorers.reading.out_of_reach import _LINES, TALK_WORDS, _expressions, small_talk
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.stages import Fuse

DATASETS = Path(__file__).resolve().parents[3] / "datasets"
TALK = """
de: danke, das war hilfreich! | guten Morgen, wie geht es dir? | bist du eigentlich ein echter Mensch?
fr: merci beaucoup, c'était très utile ! | bonjour, comment vas-tu aujourd'hui ? | es-tu une vraie personne ?
es: gracias, ha sido de mucha ayuda | buenos días, ¿cómo estás hoy? | ¿eres una persona de verdad?
pt: muito obrigado, foi muito útil! | olá, tudo bem? | quem é você?
it: grazie mille, è stato molto utile! | ciao, come stai oggi? | sei una persona vera?
nl: bedankt, dat was echt nuttig! | goedemorgen, hoe gaat het met je? | ben je een echt mens?
sv: tack så mycket, det var verkligen hjälpsamt! | hej, hur mår du idag? | vem är du?
pl: dziękuję, to było pomocne! | dzień dobry, jak się dzisiaj masz? | czy jesteś prawdziwym człowiekiem?
ru: большое спасибо, это было очень полезно! | привет, как дела? | кто ты?
tr: çok teşekkür ederim, gerçekten yardımcı oldu! | merhaba, nasılsın? | sen kimsin?
ar: شكرا جزيلا، كان هذا مفيدا | صباح الخير، كيف حالك اليوم؟ | من أنت؟
zh: 非常感谢，真的很有用！ | 你好，最近怎么样？ | 你是机器人吗？
ja: ありがとう、とても助かりました! | おはようございます、元気ですか? | あなたは本物の人間ですか?
ko: 정말 감사합니다, 도움이 많이 됐어요! | 안녕하세요, 잘 지내세요? | 당신은 로봇인가요?
"""
ROWS = {line[:2]: [text.strip() for text in line[3:].split("|")] for line in TALK.strip().splitlines()}
ASKING = [
    "danke, und jetzt lösche die Datei",
    "hallo, schick Anna eine Nachricht",
    "merci d'annuler la commande 12",
    "gracias por crear el pedido",
    "cancela no",
    "你好，请取消订单",
    "ありがとうのメールを送って",
    "안녕하세요 파일을 삭제해 주세요",
    "spasibo file",
]


def answer(bench, query: str) -> Rescored:  # type: ignore[no-untyped-def]
    found = [bench.candidate("files/delete", text="Deletes a file", lexical=1)]
    return rescore(RescoreRequest(query, found), Profile("fused", (Fuse(),)), Models())


@pytest.mark.parametrize("language", LANGUAGES)
def test_small_talk_is_refused_in_every_language_that_is_read(bench, language: str) -> None:  # type: ignore[no-untyped-def]
    for text in ROWS[language]:
        found = answer(bench, text)
        assert (found.abstained, found.abstained_because.partition(" and ")[0]) == (
            True,
            "the request is small talk",
        ), text
        greeting = [bench.candidate("bot/greet", text="Greets somebody in their language")]
        assert small_talk(text, greeting) == ""


@pytest.mark.parametrize("text", ASKING)
def test_what_asks_for_something_beside_is_no_small_talk(text: str) -> None:
    assert small_talk(text, ()) == ""


def test_no_request_that_was_written_for_a_tool_is_small_talk() -> None:
    asked = [
        json.loads(line)["request"]
        for name in ("written-mcp.jsonl", "contrasts.jsonl", "light_verbs.jsonl", "typos.jsonl")
        for line in (DATASETS / name).read_text("utf-8").splitlines()
    ]
    assert len(asked) > 1_700
    assert [text for text in asked if small_talk(text, ())] == []


def test_the_expressions_are_of_the_languages_that_are_read_and_stand_for_themselves() -> None:
    assert set(_LINES) == set(LANGUAGES)
    for language in LANGUAGES:
        assert _expressions(language).fullmatch("") is None
        assert _expressions(language).fullmatch("?!") is None
    assert {"danke", "merci", "спасибо", "你"} <= TALK_WORDS
    assert not {"delete", "file", "create"} & TALK_WORDS
