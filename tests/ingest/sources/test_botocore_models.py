"""Operations of AWS services, out of botocore's service models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sizes import LARGE

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.botocore_models import BotocoreSource

pytestmark = pytest.mark.needs("botocore")

MODEL: dict[str, Any] = {
    "metadata": {"apiVersion": "2020-01-01", "serviceId": "Zoo", "serviceFullName": "Amazon Animal Keeping"},
    "operations": {
        "FeedAnimal": {
            "name": "FeedAnimal",
            "http": {"method": "POST", "requestUri": "/"},
            "input": {"shape": "FeedAnimalRequest"},
            "output": {"shape": "FeedAnimalResponse"},
            "documentation": "<p>Feeds <i>an animal</i> &amp; kin.</p><note>Mind the lions.</note>",
        },
    },
    "shapes": {
        "FeedAnimalRequest": {
            "type": "structure",
            "required": ["AnimalId"],
            "members": {
                "AnimalId": {"shape": "Id", "documentation": "<p>Which one.</p>"},
                "Meals": {"shape": "Meals"},
            },
        },
        "FeedAnimalResponse": {
            "type": "structure",
            "members": {"Mood": {"shape": "Id"}, "At": {"shape": "At"}},
        },
        "Id": {"type": "string"},
        "At": {"type": "timestamp"},
        "Meals": {"type": "list", "member": {"shape": "Meal"}, "documentation": "<p>What to feed.</p>"},
        "Meal": {"type": "structure", "members": {"More": {"shape": "Meals"}}},
    },
}


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on botocore's search path."""
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    return tmp_path


def install(models: Path, service: str, model: object, version: str = "2020-01-01") -> Path:
    path = models / service / version / "service-2.json"
    path.parent.mkdir(parents=True)
    path.write_text(model if isinstance(model, str) else json.dumps(model, indent=1), encoding="utf-8")
    return path


def with_operation(**changes: object) -> dict[str, Any]:
    name = str(changes.pop("name", "FeedAnimal"))
    return {**MODEL, "operations": {name: {**MODEL["operations"]["FeedAnimal"], **changes}}}


def read(*services: str) -> list[ApiDocument | DeadLetter]:
    return list(BotocoreSource(services).read())


def read_one(models: Path, model: object) -> ApiDocument:
    install(models, "zoo", model)
    (document,) = read("zoo")
    assert isinstance(document, ApiDocument)
    return document


def test_an_operation_becomes_a_document(models: Path) -> None:
    document = read_one(models, MODEL)
    assert document == ApiDocument(
        id="botocore/zoo/FeedAnimal",
        source="botocore",
        category="AWS",
        tool="Amazon Animal Keeping (Zoo)",
        api="FeedAnimal",
        description="Feeds an animal & kin. Mind the lions.",
        parameters=(
            Parameter("AnimalId", "string", required=True, description="Which one."),
            Parameter("Meals", "array of object", description="What to feed."),
        ),
        returns="Mood, At",
        version="2020-01-01",
        effect=Effect.WRITE,
        definition=document.definition,
        needs=("AnimalId=animal.id~9",),
        inputs=document.inputs,
    )


def test_a_notice_before_the_description_moves_behind_it(models: Path) -> None:
    documentation = (
        "<note><p>Not on Mondays.</p></note> <important>Gloves!</important><p>Feeds an animal.</p>"
    )
    document = read_one(models, with_operation(documentation=documentation))
    assert document.description == "Feeds an animal. Not on Mondays. Gloves!"


def test_the_definition_is_the_operation_as_it_stands_in_the_model(models: Path) -> None:
    document = read_one(models, MODEL)
    text = (models / "zoo" / "2020-01-01" / "service-2.json").read_text(encoding="utf-8")
    assert f'"FeedAnimal": {document.definition}\n' in text


def test_the_newest_model_of_a_service_counts(models: Path) -> None:
    install(models, "zoo", with_operation(documentation="old"), "2019-01-01")
    document = read_one(models, with_operation(documentation="new"))
    assert document.description == "new"


def test_a_deprecated_operation_says_so(models: Path) -> None:
    document = read_one(models, with_operation(deprecated=True, deprecatedMessage="Use FeedAnimals."))
    assert document.deprecated
    assert document.description.endswith("Deprecated: Use FeedAnimals.")


@pytest.mark.parametrize(
    ("name", "operation", "effect"),
    [
        ("GetAnimal", {}, Effect.READ),
        ("BatchGetAnimals", {}, Effect.READ),
        ("IssueTicket", {}, Effect.WRITE),
        ("Getaway", {}, Effect.WRITE),
        ("DeleteAnimal", {}, Effect.DESTRUCTIVE),
        ("BatchDeleteAnimals", {}, Effect.DESTRUCTIVE),
        ("ShowAnimal", {"readonly": True}, Effect.READ),
        ("ShowAnimal", {"http": {"method": "GET"}}, Effect.READ),
        ("FreeAnimal", {"http": {"method": "DELETE"}}, Effect.DESTRUCTIVE),
        ("FeedAnimal", {"http": {}}, Effect.WRITE),
    ],
)
def test_the_effect_is_the_models_word_then_the_verb_then_the_method(
    models: Path, name: str, operation: dict[str, object], effect: Effect
) -> None:
    assert read_one(models, with_operation(name=name, **operation)).effect is effect


def test_shapes_that_are_missing_or_contain_themselves_do_no_harm(models: Path) -> None:
    shapes = {
        "FeedAnimalRequest": {"members": {"A": {"shape": "Loop"}, "B": {"shape": "Gone"}}},
        "Loop": {"type": "list", "member": {"shape": "Loop"}},
    }
    document = read_one(models, {**MODEL, "shapes": shapes})
    assert document.parameters == (Parameter("A", "array of array"), Parameter("B"))
    assert document.returns == ""


def test_a_broken_operation_costs_only_itself(models: Path) -> None:
    broken = {**MODEL, "operations": {"Bad": {"documentation": 7}, **MODEL["operations"]}}
    path = install(models, "zoo", broken)
    letter, document = read("zoo")
    assert isinstance(letter, DeadLetter)
    assert isinstance(document, ApiDocument)
    assert letter.position == f"{path}#/operations/Bad"
    assert "documentation" in letter.reason


def test_a_broken_model_among_several_costs_only_itself(models: Path) -> None:
    install(models, "aviary", "{")
    install(models, "zoo", MODEL)
    letter, document = read("aviary", "zoo")
    assert isinstance(letter, DeadLetter)
    assert isinstance(document, ApiDocument)


def test_a_broken_model_that_is_the_only_one_is_an_error(models: Path) -> None:
    install(models, "zoo", "{")
    with pytest.raises(SourceError, match="JSON"):
        read("zoo")


def test_an_unknown_service_is_an_error_that_names_its_neighbours() -> None:
    with pytest.raises(SourceError, match=r"did you mean .*\bdynamodb\b"):
        read("dynamo-db")


@pytest.mark.parametrize(
    ("service", "meant"), [("s4", "s3"), ("S3", "s3"), ("ec3", "ec2"), ("lamda", "lambda")]
)
def test_a_short_or_misspelt_service_is_understood(service: str, meant: str) -> None:
    with pytest.raises(SourceError, match=rf"did you mean .*\b{meant}\b"):
        read(service)


def test_a_service_named_twice_is_read_once(models: Path) -> None:
    install(models, "zoo", MODEL)
    assert len(read("zoo", "zoo")) == 1


@pytest.mark.sweep
def test_every_installed_service_is_read_without_a_dead_letter() -> None:
    """A release reads all of them, any other run a sample."""
    from botocore.session import Session

    services = Session().get_available_services()
    sample = services if LARGE else services[:: len(services) // 25]
    everything = list(BotocoreSource(sample).read())
    documents = [item for item in everything if isinstance(item, ApiDocument)]
    assert len(documents) == len(everything) > (15_000 if LARGE else 500)
    assert len({document.id for document in documents}) == len(documents)
    assert len({document.tool for document in documents}) > len(sample) * 0.8
    assert all(json.loads(document.definition)["name"] for document in documents)
