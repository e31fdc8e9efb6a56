"""A house with words of its own for its jobs, and a small model to start from."""

from __future__ import annotations

import json
import sys

import msgspec
import pytest

from kitpick.catalog import Catalog
from kitpick.cli import main
from kitpick.settings import Settings
from kitpick_models.locate import find_model

CODENAMES = {
    "zephyr": "export payroll",
    "marmot": "rotate keys",
    "cobalt": "book meeting room",
    "juniper": "order parts",
    "walnut": "translate letter",
    "falcon": "print labels",
}
"""What everybody in this house calls a job, and the API that does it."""
PHRASES = (
    *("start {}", "please run {} now", "do a {} for me", "is {} through yet? if not, do it", "another {}"),
    *("{} for the whole team", "we need {} before noon", "kick off {}", "{} once more", "can you {} this"),
    *("{}, as every month", "schedule {}", "urgent {}", "repeat yesterday's {}", "{} please", "test {}"),
    *("{} and tell me", "redo the {}", "{} again", "the usual {}"),
)
RECIPE = """
name = "own"
steps = {steps}
lists_per_step = 6
list_size = 4
max_tokens = 48
learning_rate = {rate}
warmup_steps = 2
decay_steps = 10
validate_every = {steps}
checkpoint_every = 10
"""


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """The shipped cross-encoder with two layers left: a model to start from, and three times as fast."""
    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import Original
    from kitpick_training.weights import reopen

    folder = tmp_path_factory.mktemp("models") / "start"
    opened = reopen(find_model("reranker-l6"))
    opened.module.bert.encoder.layer = opened.module.bert.encoder.layer[:2]
    opened.module.config.num_hidden_layers = 2
    pairs = [("start zephyr", "house: export payroll."), ("do it", "house: print labels.")]
    manifest = msgspec.structs.replace(opened.manifest, name="start", storage="fp32")
    export_cross_encoder(Original(opened.module, opened.tokenizer), folder, manifest, pairs, pairs)
    return folder


@pytest.fixture
def house(tmp_path, start, monkeypatch):
    """A catalog of six APIs, requests that use codenames, and nothing in anybody's home folder."""
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "cache.db"))
    monkeypatch.setenv("KITPICK_CROSS_ENCODER", str(start))
    rows = [
        {"name": api.replace(" ", "_"), "description": f"Runs the job: {api}.", "parameters": {}}
        for api in CODENAMES.values()
    ]
    (tmp_path / "apis.json").write_text(json.dumps(rows))
    url = f"sqlite:{tmp_path / 'house.db'}"
    with Catalog.open(url, settings=Settings()) as catalog:
        catalog.ingest(str(tmp_path / "apis.json"), name="house")
        ids = {hit.document.api: hit.document.id for hit in catalog.search("job", 10, profile="bm25").hits}
    lines = [
        {"query": phrase.format(name), "relevant": [ids[api.replace(" ", "_")]]}
        for name, api in CODENAMES.items()
        for phrase in PHRASES
    ]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path, url


@pytest.fixture
def kitpick(monkeypatch, capsys):
    """Runs a command in this process, which has torch loaded already: exit code, standard output, error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kitpick", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture
def trained(monkeypatch, capsys):
    """Runs the training of demonstrations in this process: exit code, standard output, error."""
    from kitpick_training.own.train_demorank import main as train

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["train_demorank", *map(str, arguments)])
        code = 0
        try:
            train()
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def codenames():
    """What everybody in this house calls a job, and the API that does it."""
    return CODENAMES


@pytest.fixture
def recipe(tmp_path):
    """A short recipe, as a file."""

    def write(steps, rate):
        (tmp_path / "recipe.toml").write_text(RECIPE.format(steps=steps, rate=rate))
        return tmp_path / "recipe.toml"

    return write
