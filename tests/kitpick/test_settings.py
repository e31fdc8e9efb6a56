"""Settings of a catalog: where they come from, and what is said about a slip."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.settings import Secret, Settings
from kitpick_foundation.errors import InvalidSetting
from kitpick_service.settings import ServiceSettings


def test_what_is_given_beats_the_environment_which_beats_the_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KITPICK_ENCODER", "one")
    monkeypatch.setenv("KITPICK_THREADS", "3")
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", "somewhere/else.db")
    settings = Settings(encoder="two")
    assert (settings.encoder, settings.threads, settings.embedding_cache) == (
        "two",
        3,
        Path("somewhere/else.db"),
    )
    assert settings.provider == "cpu"
    assert replace(settings, encoder="three").threads == 3


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITPICK_PROFILE", "")
    monkeypatch.setenv("KITPICK_INTENTS", "")
    assert (Settings().profile, Settings().intents) == ("kitpick", None)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("THREADS", "many", "KITPICK_THREADS: Expected `int"),
        ("THREADS", "-1", "KITPICK_THREADS: Expected `int` >= 0"),
        ("PROVIDER", "tpu", "KITPICK_PROVIDER: Invalid enum value 'tpu'"),
        ("LLM_PROMPT_PRICE", "-0.5", "KITPICK_LLM_PROMPT_PRICE: Expected `float` >= 0"),
    ],
)
def test_a_slip_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"KITPICK_{name}", value)
    with pytest.raises(InvalidSetting) as error:
        Settings()
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threads": -1}, "threads: Expected `int` >= 0"),
        ({"threads": "3"}, "threads: Expected `int`"),
        ({"provider": "tpu"}, "provider: Invalid enum value"),
        ({"intents": 3}, "intents: Expected"),
        ({"rescorer_key": 7}, "rescorer_key: Expected `Secret`"),
    ],
)
def test_a_slip_in_the_code_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{said}"):
        Settings(**given)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match=f"^{said}"):
        replace(Settings(), **given)


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="encodr"):
        Settings(encodr="one")  # type: ignore[call-arg]


def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITPICK_LLM_KEY", "hunter2")
    settings = Settings(rescorer_key=Secret("hunter3"))
    assert (settings.llm_key.reveal(), settings.rescorer_key.reveal()) == ("hunter2", "hunter3")
    assert "hunter" not in f"{settings} {settings!r} {settings.llm_key} {settings.llm_key!r}"
    assert Secret("a") == Secret("a") != Secret("b")
    assert not Secret()


def test_catalog_and_service_choose_the_same_models() -> None:
    assert Settings().chosen_models() == ServiceSettings().chosen_models()
    settings, service = Settings(models="small"), ServiceSettings(models="small")
    assert settings.chosen_models() == service.chosen_models() != Settings().chosen_models()
