"""From a URL to an engine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from catalogs import fill, item

from kitpick_engines.errors import UnknownEngine
from kitpick_engines.opening import open_engine


@pytest.mark.parametrize(
    ("form", "file"),
    [
        ("sqlite:{}/tools.db", "tools.db"),
        ("sqlite:{}/tools", "tools"),
        ("SQLITE:{}/tools.db", "tools.db"),
        ("sqlite://{}/tools.db", "tools.db"),
        ("sqlite://{}/my%20tools.db", "my tools.db"),
        ("{}/tools.db", "tools.db"),
    ],
)
def test_a_path_opens_sqlite(tmp_path: Path, form, file):
    with closing(open_engine(form.format(tmp_path))) as engine:
        fill(engine, [item()])
    assert (tmp_path / file).is_file()


def test_a_relative_path_is_relative(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(open_engine("sqlite:tools.db")) as engine:
        fill(engine, [item()])
    assert (tmp_path / "tools.db").is_file()


def test_the_url_of_an_engine_opens_it_again(tmp_path: Path):
    with closing(open_engine(f"sqlite:{tmp_path}/my tools%20.db")) as engine:
        fill(engine, [item()])
        url = engine.url
    with closing(open_engine(url)) as engine:
        assert engine.stats().documents == 1


@pytest.mark.parametrize("url", ["", "tools", "sqlite:", "sqlite://host/x.db", "oracle://h/x.db", "x\0.db"])
def test_an_unknown_url_names_what_exists(url):
    with pytest.raises(UnknownEngine, match="sqlite:PATH"):
        open_engine(url)


def test_the_error_does_not_repeat_a_password():
    with pytest.raises(UnknownEngine) as caught:
        open_engine("oracle://me:hunter2@host/x")
    assert "hunter2" not in str(caught.value)
