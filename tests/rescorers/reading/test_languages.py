"""Requests in other languages: told, glossed, and what they rule out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading import glossary
from kitpick_rescorers.reading.glossary import LANGUAGES, gloss
from kitpick_rescorers.reading.languages import ENGLISH, NAMES, language_of
from kitpick_rescorers.reading.request_reading import read_request
from kitpick_rescorers.reading.rules import follow_rules
from kitpick_rescorers.request import Rescored, RescoreRequest, opening_state
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Abstain, Blend, Concentrate, CrossEncode, Decode, Fuse
from kitpick_rescorers.state import ANSWERABLE, StageTrace

ORDERS = {
    "de": "Storniere bitte die Bestellung 123",
    "fr": "annule la commande 123, merci à toi pour ton aide",
    "es": "cancela por favor el pedido 123",
    "pt": "cancela por favor o meu pedido 123",
    "it": "annulla per favore il mio ordine 123",
    "nl": "annuleer alsjeblieft mijn bestelling 123 van de site",
    "sv": "avbryt min beställning 123 tack",
    "pl": "proszę anuluj moje zamówienie 123",
    "tr": "lütfen benim siparişim 123 iptal et",
    "ru": "отмени, пожалуйста, мой заказ 123",
    "ar": "من فضلك قم بإلغاء طلبي رقم 123",
    "zh": "请取消订单 123",
    "ja": "注文 123 をキャンセルしてください",
    "ko": "주문 123 취소해 주세요",
}


@pytest.mark.parametrize("language", ORDERS)
def test_a_request_is_told_by_its_language_and_glossed(language: str) -> None:
    text = ORDERS[language]
    assert language_of(text) == language
    assert "cancel" in gloss(text, language)
    assert read_request(text).english[0] in read_request(text).searched


@pytest.mark.parametrize(
    "text",
    [
        "cancel order 123", "list all buckets", "show da-12; delete da-12", "mail Aylin Demir in İzmir",
        "PTO", "I am in São Paulo, find a hotel", "translate 'guten Morgen' to French", "", "12:30", "🙂",
    ],
)  # fmt: skip
def test_english_stays_english_whatever_names_it_holds(text: str) -> None:
    assert language_of(text) == ENGLISH
    assert read_request(text).searched == text


@pytest.mark.parametrize(
    ("text", "wanted", "ruled"),
    [
        ("Stoppe die Server, aber lösche sie nicht", "stop", "delete"),
        ("Archiviere den Kanal statt ihn zu löschen", "archive", "delete"),
        ("arrête les serveurs sans les supprimer", "stop", "delete"),
        ("no elimines el canal, archívalo", "archive", "delete"),
        ("envia a mensagem, não apague", "send", "delete"),
        ("ferma i server ma non eliminarli", "stop", "delete"),
        ("stop de servers zonder ze te verwijderen", "stop", "delete"),
        ("サーバーを削除せずに停止して", "stop", "delete"),
        ("停止服务器，不要删除", "stop", "delete"),
        ("서버를 삭제하지 말고 중지해줘", "stop", "delete"),
        ("останови серверы, но не удаляй их", "stop", "delete"),
    ],
)
def test_what_is_ruled_out_is_told_in_other_languages(text: str, wanted: str, ruled: str) -> None:
    reading = read_request(text)
    assert wanted in reading.english
    assert ruled not in reading.english
    assert ruled in reading.ruled_out[0]


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("lege einen neuen Plan an, die alten bitte nicht löschen", "die alten bitte nicht löschen"),
        ("storniere die Reise, leg keine neue an", "leg keine neue an"),
        ("maak een rapport, verwijder er geen", "verwijder er geen"),
        ("visa ordern, ta inte bort den", "ta inte bort den"),
        ("ajoute une règle, n'en supprime aucune", "n'en supprime aucune"),
        ("para el servidor, pero no lo elimines", "pero no lo elimines"),
        ("copia il file senza eliminarlo", "senza eliminarlo"),
        ("pokaż listę, niczego nie usuwaj", "niczego nie usuwaj"),
        ("покажи группу, никого не удаляй", "никого не удаляй"),
        ("dosyayı silmek yerine kopyala", "silmek yerine"),
        ("أوقف الخادم ولا تحذفه", "ولا تحذفه"),
        ("把服务器停掉，而不是删除", "而不是删除"),
        ("erstelle einen Ordner, keine Datei", "keine Datei"),
        ("フォルダではなくファイルを削除して", "フォルダではなく"),
        ("stoppe den Server\nlösch ihn nicht\nServer", "lösch ihn nicht"),
    ],
)
def test_orders_and_alternatives_are_ruled_out(text: str, out: str) -> None:
    reading = read_request(text)
    assert [each.partition(" (")[0] for each in reading.ruled_out] == [out]
    assert reading.english


@pytest.mark.parametrize(
    "text",
    [
        "Zeige die Server die nicht laufen",
        "les utilisateurs sans rôle dans le groupe",
        "der Server startet nicht, zeig mir die Logs",
        "wir brauchen den Schlüssel nicht mehr, lösch ihn",
        "plus personne ne doit lire le fichier, bloque-le",
        "ya no acepto pagos, borra la regla",
        "nessuno apre il file, eliminalo",
        "non accetto più la carta, cancella la regola",
        "o banco não atualiza desde domingo, mostra a conta",
        "ik kan het niet vinden, laat alles zien",
        "servern kan inte starta, visa loggen",
        "nie umiem pisać zapytań, pokaż listę",
        "я не умею создавать запросы, покажи список",
        "لا أجد الملف، اعرض القائمة",
        "我分别要列出服务器和删除文件",
        "チャンネルを入力につないで、タグを見せて",
        "消して、代わりに新しい投稿を作成して",
        "대신 서브넷을 추가해 주세요",
        "kanıt eklenmeden banka onay vermiyor",
    ],
)
def test_what_describes_or_states_something_stays(text: str) -> None:
    assert read_request(text).ruled_out == ()


def answer(bench, query: str) -> Rescored:  # type: ignore[no-untyped-def]
    names = ("shop/createOrder", "shop/deleteOrder")
    candidates = [bench.candidate(name, lexical=rank) for rank, name in enumerate(names, start=1)]
    models = Models(scorer=bench.scorer(dict.fromkeys(names, -5.0)), cache=ScoreCache())
    profile = Profile("p", (Fuse(), CrossEncode(), Abstain(threshold=0.5)))
    return rescore(RescoreRequest(query, candidates), profile, models)


def test_an_answer_names_a_language_that_is_hardly_read_and_does_not_abstain(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, ORDERS["de"])
    assert not found.abstained
    (said,) = found.degraded
    assert (said.stage, "German" in said.reason) == ("language", True)
    assert "cancel order 123" in found.trace[-1].note
    assert answer(bench, "cancel the order 123").abstained


@pytest.mark.parametrize(("answerable", "abstained"), [(0.04, True), (0.06, False)])
def test_a_verdict_far_below_its_threshold_stands_in_any_language(
    bench, answerable: float, abstained: bool
) -> None:  # type: ignore[no-untyped-def]
    request = RescoreRequest(ORDERS["de"], [bench.candidate("shop/createOrder", lexical=1)])
    state = opening_state(request)
    judged = StageTrace("learned", 0.0, ("shop/createOrder",), (1.0,), {}, details={ANSWERABLE: answerable})
    state = replace(state, abstained="nothing does it", trace=(judged,))
    after = follow_rules(state, state.ranked, request.reading)
    assert after.abstained == ("nothing does it" if abstained else "")
    assert [each.stage for each in after.degraded] == ["language"]


def test_what_nothing_reads_is_not_given_to_the_model(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, "Ποιος είναι ο καιρός")
    assert [each.stage for each in found.degraded] == ["language"]
    assert "Greek, which nothing here reads" in found.degraded[0].reason
    assert [entry.skipped for entry in found.trace][1] == "it does not read Greek"
    assert [hit.probability for hit in found.results] == [None, None]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Ποιος είναι ο καιρός", "Greek, which nothing here reads"),
        ("zobraz všechny faktury", "Czech or Slovak, which nothing here reads"),
        ("bist du eigentlich ein echter Mensch?", "German, of which the glossary has no word"),
    ],
)
def test_what_no_model_reads_has_one_remark_beside_any_stages(bench, text: str, why: str) -> None:  # type: ignore[no-untyped-def]
    names = ("a/x", "b/y")
    candidates = [bench.candidate(name, lexical=place, dense=place) for place, name in enumerate(names, 1)]
    models = Models(scorer=bench.scorer({"a/x": 1.0, "b/y": 2.0}), cache=ScoreCache())
    weighing = (Blend(), Decode(relevance=0.3), Concentrate())
    profile = Profile("p", (Fuse(), CrossEncode(), *weighing))
    request = RescoreRequest(text, candidates, vector=np.array([1.0, 0.0], dtype=np.float32))
    found = rescore(request, profile, models)
    (said,) = found.degraded
    assert (said.stage, why in said.reason) == ("language", True)
    assert said.reason.endswith("say it in English")
    skipped = {entry.skipped for entry in found.trace if entry.stage not in {"fuse", "reading"}}
    assert skipped == {f"it does not read {why.partition(',')[0]}"}
    english = rescore(replace(request, query="show it"), profile, models)
    assert {entry.skipped for entry in english.trace} == {""}


def test_the_glossary_has_a_word_in_every_language_for_every_row_and_no_row_twice() -> None:
    rows = glossary._rows()
    assert set(LANGUAGES) <= NAMES.keys()
    assert {len(row) for row in rows} == {1 + len(LANGUAGES)}
    assert all(all(cell.strip() for cell in row) for row in rows)
    assert len({row[0] for row in rows}) == len(rows) > 600


def test_rows_of_one_language_have_one_english_word_each() -> None:
    for language in LANGUAGES:
        rows = glossary._own_rows(language)
        assert all(english.strip() and stems.strip(", ") for english, stems in rows)
        assert len({english for english, _ in rows}) == len(rows) > 300


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("bu kuyruktaki işleri durdur, 'old jobs' kalsın", "tr"),
        ("TEA-9'u müşteri 4 için al", "tr"),
        ("Jakie mamy domeny w grupie failover?", "pl"),
        ("desliga a chave 8c3-1, o cliente já saiu", "pt"),
        ("klant 4410 heet voortaan 'The Bank of the North'", "nl"),
        ("注文をcancelして", "ja"),
        ("把 cpu profile 给我", "zh"),
    ],
)
def test_quotations_and_identifiers_do_not_tell_a_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    ["Mark a comment as read", "Delete a comment on a pull request", "Go to a bookmarked directory",
     "Run a local binary connected to a remote pod", "best players of this season", "diff of Ben's commit",
     "translate 'guten Morgen, wie geht es dir' to French", "pay all due invoices",
     "weather in Quito in 3 days"],
)  # fmt: skip
def test_english_with_words_that_others_have_too_is_searched_as_it_is(text: str) -> None:
    reading = read_request(text)
    assert (reading.language, reading.searched, reading.english) == (ENGLISH, text, ())


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("注文order-7をキャンセルしてmailで送って", "ja", ("order", "order-7", "cancel")),
        ("رجّع الطلب 17 وسكّر الحساب", "ar", ("return", "order", "17", "close", "account")),
        ("أي فواتير في حسابي", "ar", ("invoice", "account")),
        ("är det här rätt server", "sv", ("server",)),
        ("eski kayıtların olduğu kovayı sil", "tr", ("old", "record", "delete")),
        ("اعرض قوائم الانتظار", "ar", ("show", "queue")),
        ("zarezerwuj stolik dla dwojga", "pl", ("book", "restaurant table")),
    ],
)
def test_words_are_read_apart_from_what_they_stand_beside(
    text: str, language: str, words: tuple[str, ...]
) -> None:
    found = gloss(text, language)
    assert [word for word in found if word in words] == list(words)
    assert not {"category", "year", "death", "now"} & set(found)


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("zatrzymaj serwer", "pl", {"stop", "server"}),
        ("usuń bucket", "pl", {"delete", "bucket"}),
        ("zresetuj hasło", "pl", {"reset", "password"}),
        ("sunucuyu durdur", "tr", {"stop", "server"}),
        ("kuyrukları göster", "tr", {"queue", "show"}),
        ("yeni kullanıcı", "tr", {"new", "user"}),
        ("Kundenkonto löschen", "de", {"customer", "account", "delete"}),
        ("supprime l'utilisateur d'hier", "fr", {"delete", "user"}),
        ("احذف المستخدم", "ar", {"delete", "user"}),
    ],
)
def test_a_short_request_is_told_by_its_words(text: str, language: str, words: set[str]) -> None:
    assert language_of(text) == language
    assert words <= set(gloss(text, language))


@pytest.mark.parametrize(
    "text",
    ["hold mail", "rate hotel", "bill customer", "start server", "plan trip", "create user", "art gallery",
     "order pizza", "list pods", "note paper", "run tests", "ban user", "export contacts", "stock price"],
)  # fmt: skip
def test_a_short_english_request_stays_english(text: str) -> None:
    assert language_of(text) == ENGLISH


def test_of_a_script_that_the_models_cannot_read_only_the_english_words_are_embedded() -> None:
    reading = read_request("请取消订单 123 并发送邮件")
    assert reading.embedded.isascii()
    assert "订单" in reading.searched


@given(st.text(max_size=2_000))
def test_any_text_is_read(text: str) -> None:
    reading = read_request(text)
    assert language_of(text) in NAMES
    assert bool(reading.searched.strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Datenbank neu starten", "de"), ("Musik pausieren", "de"), ("was liegt in meinem Warenkorb", "de"),
        ("Nachricht in die Warteschlange stellen", "de"), ("leg zwei Filter in den Warenkorb", "de"),
        ("redémarre la base de données", "fr"), ("créer un ticket gitlab", "fr"),
        ("devolva o dinheiro do pedido 33", "pt"),
    ],
)  # fmt: skip
def test_short_requests_are_told_by_their_verbs_and_shared_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    ["cancle order 12", "craete an isue in gitlab", "static security scanning in CI",
     "mean fare per zone? taxi.trips is in MotherDuck.", "abilities ending in writing"],
)  # fmt: skip
def test_slips_and_capitals_make_no_request_foreign(text: str) -> None:
    assert language_of(text) == "en"


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("schließ die Haustür ab, nicht auf", "de", ("lock", "door")),
        ("sperr die Haustür auf", "de", ("unlock", "door")),
        ("mach das Licht im Flur an", "de", ("turn on", "light", "Flur")),
        ("lade die Datei hoch und leg einen Ordner an", "de", ("upload", "file", "create", "folder")),
        ("haal het token van deze week op", "nl", ("get", "token", "this week")),
        ("gooi 13 weg", "nl", ("delete", "13")),
    ],
)
def test_a_verb_is_read_with_the_particle_at_the_end_of_its_clause(
    text: str, language: str, words: tuple[str, ...]
) -> None:
    assert gloss(text, language) == words


@pytest.mark.parametrize(
    ("text", "language", "word"),
    [("apague a luz da cozinha", "pt", "turn off"), ("关掉厨房的灯", "zh", "turn off"),
     ("打开客厅的灯", "zh", "turn on"), ("台所の電気を消して", "ja", "turn off light"),
     ("elimina la alarma", "es", "delete")],
)  # fmt: skip
def test_a_light_is_turned_off_and_not_deleted(text: str, language: str, word: str) -> None:
    assert word in gloss(text, language)


@pytest.mark.parametrize(
    ("text", "out", "words"),
    [
        ("sunucuları silmeden durdur", "silmeden", ("server", "stop")),
        ("siparişi iptal etmeden adresi değiştir", "iptal etmeden", ("order", "address", "change")),
        ("randevuyu iptal etme, cumaya ertele", "randevuyu iptal etme", ("friday", "delay")),
    ],
)
def test_turkish_rules_out_by_endings(text: str, out: str, words: tuple[str, ...]) -> None:
    reading = read_request(text)
    assert [each.partition(" (")[0] for each in reading.ruled_out] == [out]
    assert reading.english == words


@pytest.mark.parametrize(
    "text",
    ["kullanıcı ekleme ve silme işlemlerini listele", "sarı bir ahır, mavi bir uçurtma istiyorum",
     "bankam vermeden önce raporu göster"],
)  # fmt: skip
def test_turkish_nouns_and_before_rule_nothing_out(text: str) -> None:
    assert read_request(text).ruled_out == ()


@pytest.mark.parametrize(
    "text",
    [
        "Zeige mir nicht nur die Rechnungen, sondern auch die Kunden",
        "Ne liste pas seulement les factures, exporte-les aussi",
        "no solo muestra las facturas, también los clientes",
        "Não apenas liste as faturas, mas exporte",
        "Toon niet alleen de facturen, maar ook de klanten",
        "visa inte bara fakturorna, utan även kunderna",
        "nie tylko pokaż faktury, ale też je wyślij",
        "не только покажи счета, но и отправь",
        "不要只列出用户，还要导出",
        "ユーザーの一覧だけではなく、請求書も表示して",
    ],
)
def test_not_only_rules_nothing_out(text: str) -> None:
    assert read_request(text).language != ENGLISH
    assert read_request(text).ruled_out == ()


def test_japanese_wants_what_stands_behind_without_doing() -> None:
    reading = read_request("カルテを削除せずに保管して")
    assert reading.ruled_out
    assert "delete" not in reading.english
    assert read_request("カルテを削除しないでください").ruled_out == ()


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("Fenster zu", "de", ("close", "window")),
        ("raam dicht", "nl", ("close", "window")),
    ],
)
def test_a_particle_asks_for_the_deed_of_the_verb_that_is_left_out(
    text: str, language: str, words: tuple[str, ...]
) -> None:
    assert read_request(text).language == language
    assert gloss(text, language) == words


@pytest.mark.parametrize(
    ("text", "language", "word"),
    [("mach lauter", "de", "louder"), ("音量调大一点", "zh", "louder"), ("llévame a casa", "es", "navigate"),
     ("ya no queda leche", "es", "buy"), ("wieviel sind 50 CHF in Euro", "de", "euro")],
)  # fmt: skip
def test_what_is_said_to_a_house_and_a_car_has_english_words(text: str, language: str, word: str) -> None:
    reading = read_request(text)
    assert (reading.language, word in reading.english) == (language, True)


def test_a_compound_tells_its_language_beside_a_common_word() -> None:
    assert language_of("Kreisdiagramm bitte") == "de"
    assert language_of("Kreisdiagramm") == "en"


@pytest.mark.parametrize("text", ["liste as instâncias", "mostre os pedidos", "exclua o arquivo"])
def test_portuguese_is_told_by_its_polite_forms(text: str) -> None:
    assert language_of(text) == "pt"


def test_words_that_are_written_as_names_tell_no_language() -> None:
    assert language_of("Van Gogh in the Met") == "en"
    assert language_of("Können Sie den Ordner löschen") == "de"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            "Erstelle einen Kanal. Dann sende eine Nachricht an das Team.",
            (
                "create channel: Erstelle einen Kanal.",
                "send message team: Dann sende eine Nachricht an das Team.",
            ),
        ),
        ("先创建一个频道。然后发送一条消息给团队。", ("create channel", "send message team")),
        (
            "먼저 채널을 만드세요. 그런 다음 팀에 메시지를 보내세요.",
            ("channel create", "next team message send"),
        ),
        ("Hallo! Erstelle einen Kanal.", ()),
        ("创建频道，发送消息", ()),
        (
            "Create a channel in the workspace. Then send a message.",
            ("Create a channel in the workspace.", "Then send a message."),
        ),
    ],
)
def test_each_sentence_of_another_language_has_its_own_english_words(
    request_: str, expected: tuple[str, ...]
) -> None:
    assert read_request(request_).sentences == expected
