"""Tools that describe themselves in another language are found in English, and in their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.foreign_documents import with_english
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_ingest.source import DeadLetter

TOWN = {
    "termin_absagen": "Sagt einen gebuchten Termin ab.",
    "reisepass_beantragen": "Stellt einen Antrag auf einen Reisepass.",
    "gebuehr_bezahlen": "Bezahlt eine Gebühr per Karte oder Lastschrift.",
    "hund_anmelden": "Meldet einen Hund zur Hundesteuer an.",
    "buch_suchen": "Sucht Bücher und Medien der Stadtbibliothek.",
}


def api(name: str, description: str) -> ApiDocument:
    return ApiDocument(f"s/town/{name}", "s", "", "town", name, description)


def read(name: str, description: str) -> ApiDocument:
    found = with_english(api(name, description))
    assert isinstance(found, ApiDocument)
    return found


@pytest.mark.parametrize(
    ("name", "description", "english"),
    [
        ("hund_anmelden", TOWN["hund_anmelden"], "dog"),
        ("payer_facture", "Règle une facture par carte bancaire.", "invoice"),
        ("dodaj_karte", "Dodaje kartę płatniczą.", "card"),
        ("get-tickets", "查询12306余票信息。", "ticket"),
    ],
)
def test_models_read_english_words_before_its_own(name: str, description: str, english: str) -> None:
    found = read(name, description)
    assert found.description == description
    for text in (retrieval_text(found), rerank_text(found)):
        assert english in text[: text.index(description[:10])]


@pytest.mark.parametrize(
    "description", ["Cancels an order.", "Lists the accounts of a user.", "", "Xqwv zzkl.", "GET /v1/users"]
)
def test_an_english_document_stays_as_it_is(description: str) -> None:
    document = api("cancelOrder", description)
    assert with_english(document) is document


def test_what_all_tools_say_stays_last() -> None:
    document = ApiDocument("s/t/a", "s", "", "t", "a", "Attention !", purpose="Crée une facture. Attention !")
    found = with_english(document)
    assert isinstance(found, ApiDocument)
    assert found.purpose.endswith(": Crée une facture. Attention !")


def test_what_is_no_document_is_passed_on() -> None:
    letter = DeadLetter("f.json", "[0]", "no name")
    assert with_english(letter) is letter


@pytest.mark.needs("weights", "onnxruntime")
@pytest.mark.parametrize(
    ("request_", "right"),
    [
        ("register my dog", "hund_anmelden"),
        ("I need a new passport", "reisepass_beantragen"),
        ("cancel my appointment", "termin_absagen"),
        ("Gebühr bezahlen", "gebuehr_bezahlen"),
    ],
)
def test_it_is_found(town: Catalog, request_: str, right: str) -> None:
    result = town.search(request_, 1)
    assert (result.hits[0].document.api, result.abstained) == (right, False)


@pytest.fixture
def town(settings: Settings, tmp_path: Path) -> Catalog:
    tools = [{"name": name, "description": text, "parameters": {}} for name, text in TOWN.items()]
    (tmp_path / "town.json").write_text(json.dumps(tools))
    catalog = Catalog.open(f"sqlite:{tmp_path / 'town.db'}", settings=settings)
    catalog.ingest(f"functions:{tmp_path / 'town.json'}")
    return catalog
