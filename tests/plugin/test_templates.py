"""The templates for clusters: complete, valid by what the vendors document, and understood by the service."""

from __future__ import annotations

import json
import re
import string
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from real_service import Service
from searching import QUERY, Search, ids, report

SCHEMAS = Path(__file__).parent / "schemas"
TEMPLATES = Path(__file__).resolve().parents[2] / "plugin" / "templates"
README = (TEMPLATES / "README.md").read_text("utf-8")
VALUES = {
    "scheme": "https",
    "host": "rescorer.internal:8080",
    "host_regex": "rescorer\\.internal:8080",
    "key": "secret",
    "pipeline": "from-template",
    "inference_id": "rescorer",
    "index": "apis",
    "vector_model": "m@1",
    "connector_id": "c1",
    "model_id": "m1",
}
SCHEMA_OF = {
    "opensearch-ml-commons/01-settings.json": "cluster-settings",
    "opensearch-ml-commons/02-connector.json": "ml-connector",
    "opensearch-ml-commons/03-model.json": "ml-model",
    "opensearch-ml-commons/04-pipeline.json": "rerank-pipeline",
    "opensearch-agents/01-settings.json": "cluster-settings",
    "opensearch-agents/02-connector.json": "mcp-connector",
    "opensearch-agents/03-agent.json": "ml-agent",
    "elasticsearch-basic/01-words.json": "stored-search",
    "elasticsearch-basic/02-vectors.json": "stored-search",
    "elasticsearch-basic/03-search.json": "stored-search",
    "elasticsearch-basic/04-search.json": "template-search",
    "elasticsearch-inference/01-inference.json": "custom-inference",
    "elasticsearch-inference/02-search.json": "reranked-search",
}
"""`opensearch-plugin/` is tried on a node instead."""


FILES = sorted(TEMPLATES.glob("*/*.json"))


def template(name: str) -> dict[str, Any]:
    """A request as it is sent."""
    text = (TEMPLATES / name).read_text("utf-8")
    for variable, value in VALUES.items():
        text = text.replace(f"{{{{{variable}}}}}", json.dumps(value)[1:-1])
    filled: dict[str, Any] = json.loads(text)
    return filled


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
class TestEveryTemplate:
    def test_it_is_valid_by_the_documented_schema(self, file: Path) -> None:
        name = f"{file.parent.name}/{file.name}"
        if name in SCHEMA_OF:
            schema = json.loads((SCHEMAS / f"{SCHEMA_OF[name]}.json").read_text("utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(template(name)["body"], schema)
        else:
            assert file.parent.name == "opensearch-plugin"

    def test_it_is_one_request(self, file: Path) -> None:
        step = template(f"{file.parent.name}/{file.name}")
        assert {"does", "method", "path", "body"} <= set(step)
        assert set(step) <= {"does", "method", "path", "body", "keeps", "example", "adds", "made"}
        assert set(step.get("keeps", {})) <= set(VALUES)
        assert step["path"].startswith("/")

    def test_its_folder_and_variables_are_explained(self, file: Path) -> None:
        text = file.read_text("utf-8")
        assert f"`{file.parent.name}/`" in README
        for variable in re.findall(r"\{\{(\w+)\}\}", text):
            assert f"`{variable}`" in README
            assert variable in VALUES

    def test_the_key_is_only_where_the_cluster_keeps_secrets(self, file: Path) -> None:
        body = template(f"{file.parent.name}/{file.name}")["body"]
        body.pop("credential", None)
        body.get("service_settings", {}).pop("secret_parameters", None)
        assert VALUES["key"] not in json.dumps(body)


def test_values_that_are_needed_were_kept_before() -> None:
    known = set(VALUES) - {"connector_id", "model_id"}
    for file in FILES:
        text = file.read_text("utf-8")
        assert set(re.findall(r"\{\{(\w+)\}\}", text)) <= known, file
        known |= set(json.loads(text).get("keeps", {}))


def test_a_host_is_no_pattern() -> None:
    settings = template("opensearch-ml-commons/01-settings.json")["body"]["persistent"]
    (pattern,) = settings["plugins.ml_commons.trusted_connector_endpoints_regex"]
    assert re.match(pattern, "https://rescorer.internal:8080/v1/rerank")
    assert not re.match(pattern, "https://rescorer-internal:8080/v1/rerank")


@pytest.mark.needs("jdk")
class TestOnTheNode:
    def test_the_plugins_pipeline_reranks(self, search: Search) -> None:
        step = template("opensearch-plugin/01-pipeline.json")
        assert search.call(step["method"], step["path"], step["body"]) == {"acknowledged": True}
        answer = search({"size": 3, "_source": ["api"]}, pipeline="from-template")
        assert report(answer)["status"] == "rescored"
        assert report(answer)["window"] == 30
        assert all(set(hit["_source"]) == {"api"} and "fields" not in hit for hit in answer["hits"]["hits"])

    def test_the_parts_of_the_managed_pipeline_that_a_plain_node_knows(self, search: Search) -> None:
        """`oversample` and `truncate_hits`; neural-search, whose `rerank` is the third, is not there."""
        body = template("opensearch-ml-commons/04-pipeline.json")["body"]
        kept = [each for each in body["response_processors"] if "rerank" not in each]
        search.put("/_search/pipeline/managed", {**body, "response_processors": kept})
        assert len(ids(search({"size": 3, "query": {"match": {"text": QUERY}}}, pipeline="managed"))) == 3


DOCUMENTS = ["Finds hotel rooms.", 'Weather "forecast" of a city.', "Übersetzt Texte\nund Dateien."]


@pytest.mark.needs("serve", "onnxruntime", "weights")
class TestAgainstTheService:
    """ml-commons and Elasticsearch's inference can't run here; what they would send and read is known."""

    def test_the_connector(self, service: Service) -> None:
        """Cohere's pre-processing: the query as it is, the documents as JSON, `top_n` their number."""
        connector = template("opensearch-ml-commons/02-connector.json")["body"]
        (action,) = connector["actions"]
        parameters = {
            **connector["parameters"],
            "query": "will it rain",
            "documents": json.dumps(DOCUMENTS),
            "top_n": str(len(DOCUMENTS)),
        }
        body = Template(action["request_body"]).substitute(
            {f"parameters.{k}": v for k, v in parameters.items()}
        )
        url = Template(action["url"]).substitute({f"parameters.{k}": v for k, v in parameters.items()})
        assert url == "https://rescorer.internal:8080/v1/rerank"
        answer = posted(service, body)
        scores = json.loads(answer)["results"]
        assert sorted(each["index"] for each in scores) == [0, 1, 2]
        assert max(scores, key=lambda each: each["relevance_score"])["index"] == 1
        for literal in re.findall(r'"relevance_score":\s*([^,}\s]+)', answer):
            assert re.fullmatch(r"\d\.\d{1,6}", literal), "ml-commons casts each score to a Double"

    def test_the_inference_endpoint(self, service: Service) -> None:
        """Elasticsearch fills in both as JSON and reads two paths."""
        settings = template("elasticsearch-inference/01-inference.json")["body"]["service_settings"]
        body = Template(settings["request"]).substitute(
            query=json.dumps('the "weather" of a city'), input=json.dumps(DOCUMENTS)
        )
        answer = json.loads(posted(service, body))
        parser = settings["response"]["json_parser"]
        scores = at(answer, parser["relevance_score"])
        order = at(answer, parser["reranked_index"])
        assert len(scores) == len(DOCUMENTS)
        assert order[scores.index(max(scores))] == 1


def posted(service: Service, body: str) -> str:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {service.key}"}
    request = urllib.request.Request(f"{service.url}/v1/rerank", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


class Template(string.Template):
    """`${a.b}` is one name."""

    braceidpattern = r"[a-z_.]+"


def at(value: dict[str, Any], path: str) -> list[Any]:
    """JSONPath of the form `$.list[*].field`."""
    match = re.fullmatch(r"\$\.(\w+)\[\*\]\.(\w+)", path)
    assert match, path
    return [each[match[2]] for each in value[match[1]]]
