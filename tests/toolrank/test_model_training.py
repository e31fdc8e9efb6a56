"""`toolrank models train`: the model in use learns what its users call things, or stays as it is."""

from __future__ import annotations

import json
import sys

import msgspec
import pytest

pytest.importorskip("torch")

from toolrank.catalog import Catalog
from toolrank.cli import main
from toolrank.errors import ExitCode
from toolrank.settings import Settings
from toolrank_models.export import export_cross_encoder
from toolrank_models.export.original import Original
from toolrank_models.locate import find_model
from toolrank_models.manifest import read_manifest
from toolrank_models.runtime import load_cross_encoder
from toolrank_models.train.cross_encoder import keep_layers
from toolrank_models.train.from_export import reopen
from toolrank_models.verify import verify
from toolrank_rescorers.profiles import load_profile

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("weights"), pytest.mark.needs("onnxruntime")]

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


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """The shipped cross-encoder with two layers left: a model to start from, and three times as fast."""
    folder = tmp_path_factory.mktemp("models") / "start"
    opened = reopen(find_model("reranker-l6"))
    keep_layers(opened.module, 2)
    pairs = [("start zephyr", "house: export payroll."), ("do it", "house: print labels.")]
    manifest = msgspec.structs.replace(opened.manifest, name="start", storage="fp32")
    export_cross_encoder(Original(opened.module, opened.tokenizer), folder, manifest, pairs, pairs)
    return folder


@pytest.fixture
def house(tmp_path, start, monkeypatch):
    """A catalog of six APIs, requests that use codenames, and nothing in anybody's home folder."""
    monkeypatch.setenv("TOOLRANK_EMBEDDING_CACHE", str(tmp_path / "cache.db"))
    monkeypatch.setenv("TOOLRANK_CROSS_ENCODER", str(start))
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
def toolrank(monkeypatch, capsys):
    """Runs a command in this process, which has torch loaded already: exit code, standard output, error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["toolrank", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture
def train(toolrank, house):
    """`toolrank models train` with a short recipe."""
    folder, url = house

    def run(steps, rate, *options):
        (folder / "recipe.toml").write_text(RECIPE.format(steps=steps, rate=rate))
        command = ["models", "train", "--catalog", url, "--queries", folder / "requests.jsonl"]
        return toolrank(*command, "--recipe", folder / "recipe.toml", "--out", folder / "mine", *options)

    return run


@pytest.mark.slow
def test_the_model_learns_what_the_house_calls_things(house, train):
    folder, _ = house
    code, out, err = train(60, 3e-4, "--trials", "4", "--json")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    assert report["after"]["ndcg"] > report["before"]["ndcg"] + 0.1
    assert report["trained_on"] + report["held_out"] == len(CODENAMES) * len(PHRASES)
    assert report["profile"]["tried"] == 4
    manifest = read_manifest(folder / "mine")
    shipped = load_cross_encoder().manifest
    assert len(set(manifest.seen) - set(shipped.seen)) == report["tools_seen"] == 1
    assert manifest.training[-1].name == "own requests"
    assert verify(folder / "mine").sound
    model = load_cross_encoder(folder / "mine")
    right, wrong = model.score("the usual zephyr", ["house: export payroll.", "house: print labels."])
    assert right > wrong
    if (folder / "mine" / "profile.toml").exists():
        load_profile(str(folder / "mine" / "profile.toml"))


@pytest.mark.slow
def test_a_model_that_is_no_better_is_refused(house, train):
    folder, _ = house
    code, _, err = train(1, 1e-9)
    assert code == ExitCode.REFUSED
    assert "nothing was replaced" in err
    assert not (folder / "mine").exists()


def test_requests_for_apis_that_the_catalog_lacks_are_refused(house, train):
    folder, _ = house
    (folder / "requests.jsonl").write_text('{"query": "start zephyr", "relevant": ["house/none"]}\n')
    code, _, err = train(1, 1e-5)
    assert code == ExitCode.INPUT
    assert "house/none" in err


def test_too_few_requests_to_hold_any_out_are_refused(house, train):
    folder, _ = house
    first = (folder / "requests.jsonl").read_text().splitlines(keepends=True)[0]
    (folder / "requests.jsonl").write_text(first)
    code, _, err = train(1, 1e-5)
    assert code == ExitCode.INPUT
    assert "split" in err


def test_a_recipe_that_does_not_exist_is_told_with_those_that_do(house, train):
    folder, _ = house
    code, _, err = train(1, 1e-5, "--recipe", "fast")
    assert code == ExitCode.UNAVAILABLE
    assert "own-reranker" in err
    assert not (folder / "mine").exists()
