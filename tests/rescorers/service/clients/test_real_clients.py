"""Clients that nobody here wrote, each against a service that really runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "serve", "clients"),
    # Nothing in here is ours to fix: clients warn of their own and their dependencies' old ways.
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Lisbon?"
TEXTS = ["Finds hotel rooms.", "Weather forecast of a city.", "Sends an e-mail."]


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients that would call home are told not to; what they leave open is closed before the next test."""
    for name in ("HAYSTACK_TELEMETRY_ENABLED", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    yield
    gc.collect()


@pytest.fixture(scope="module")
def keyed(start: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service that knows one key, `secret`."""
    from kitpick_service.keys import digest

    file = tmp_path_factory.mktemp("keys") / "keys.toml"
    file.write_text(f'[[keys]]\nname = "tests"\nsha256 = "{digest("secret")}"\n')
    with start(keys=str(file), max_documents=100) as found:
        yield found


def test_cohere_v2(keyed: Any) -> None:
    import cohere

    client = cohere.ClientV2("secret", base_url=keyed.url)
    answer = client.rerank(model="rerank", query=QUERY, documents=TEXTS, top_n=2)
    assert answer.results[0].index == 1
    assert len(answer.results) == 2
    assert answer.meta is not None


def test_cohere_v2_async(keyed: Any) -> None:
    import asyncio

    import cohere

    async def ask() -> Any:
        async with cohere.AsyncClientV2("secret", base_url=keyed.url) as client:
            return await client.rerank(model="rerank", query=QUERY, documents=TEXTS)

    assert asyncio.run(ask()).results[0].index == 1


def test_cohere_v1_with_objects(keyed: Any) -> None:
    import cohere

    client = cohere.Client("secret", base_url=keyed.url)
    answer = client.rerank(
        model="rerank",
        query=QUERY,
        documents=[{"text": text} for text in TEXTS],
        rank_fields=["text"],
        return_documents=True,
    )
    assert answer.results[0].document is not None
    assert answer.results[0].document.text == TEXTS[1]


def test_cohere_v1_takes_documents_that_it_did_not_ask_for(keyed: Any) -> None:
    """They come by default, as with Jina, on the path that both share."""
    import cohere

    documents: Any = [{"title": text} for text in TEXTS]
    answer = cohere.Client("secret", base_url=keyed.url).rerank(
        model="rerank", query=QUERY, documents=documents
    )
    assert answer.results[0].index == 1


@pytest.mark.parametrize(
    ("provider", "base", "returned"),
    [
        ("hosted_vllm", "", {"text": TEXTS[1]}),
        ("cohere", "", None),
        ("jina_ai", "/v1/rerank", {"text": TEXTS[1]}),
    ],
)
def test_litellm_reranks_by_each_of_its_routes(keyed: Any, provider: str, base: str, returned: Any) -> None:
    import litellm

    answer: Any = litellm.rerank(
        model=f"{provider}/rerank",
        query=QUERY,
        documents=TEXTS,
        top_n=2,
        return_documents=True,
        api_base=keyed.url + base,
        api_key="secret",
    )
    assert len(answer.results) == 2
    assert answer.results[0]["index"] == 1
    assert answer.results[0].get("document") == returned


def test_cohere_raises_its_own_errors(keyed: Any) -> None:
    import cohere
    from cohere.errors import BadRequestError, NotFoundError, UnauthorizedError

    with pytest.raises(UnauthorizedError):
        cohere.ClientV2("wrong", base_url=keyed.url).rerank(model="rerank", query="q", documents=["a"])
    client = cohere.ClientV2("secret", base_url=keyed.url)
    with pytest.raises(NotFoundError, match="rerank-v9"):
        client.rerank(model="rerank-v9", query="q", documents=["a"])
    with pytest.raises((BadRequestError, cohere.core.api_error.ApiError)):
        client.rerank(model="rerank", query="q", documents=["a"] * 200)


@pytest.mark.parametrize("coded", [True, False])
def test_openai_embeddings(keyed: Any, coded: bool) -> None:
    """The SDK asks for base64 unless told otherwise."""
    import openai

    client = openai.OpenAI(api_key="secret", base_url=f"{keyed.url}/v1")
    wanted: dict[str, Any] = {} if coded else {"encoding_format": "float"}
    answer = client.embeddings.create(model="encoder-pair", input=TEXTS, **wanted)
    vectors = np.array([item.embedding for item in answer.data])
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert answer.usage.total_tokens > 0
    assert "encoder-pair" in [model.id for model in client.models.list()]


def test_openai_raises_its_own_errors(keyed: Any) -> None:
    import openai

    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="wrong", base_url=f"{keyed.url}/v1").embeddings.create(model="m", input="a")
    client = openai.OpenAI(api_key="secret", base_url=f"{keyed.url}/v1")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="text-embedding-3-small", input="a")
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="encoder-pair", input="a", dimensions=7)


def test_llama_index_reranks_through_tei(keyed: Any) -> None:
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in TEXTS]
    client = TextEmbeddingInference(top_n=2, base_url=keyed.url, auth_token="Bearer secret")
    ranked = client.postprocess_nodes(nodes, query_str=QUERY)
    assert ranked[0].node.get_content() == TEXTS[1]
    assert len(ranked) == 2


def test_langchain_cohere(keyed: Any) -> None:
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document
    from pydantic import SecretStr

    client = CohereRerank(model="rerank", cohere_api_key=SecretStr("secret"), base_url=keyed.url, top_n=2)
    ranked = client.compress_documents([Document(page_content=text) for text in TEXTS], QUERY)
    assert ranked[0].page_content == TEXTS[1]
    structured = [{"tool": "mail", "text": TEXTS[2]}, {"tool": "weather", "text": TEXTS[1]}]
    assert client.rerank(structured, QUERY)[0]["index"] == 1


def test_langchain_jina(keyed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_community.document_compressors import jina_rerank
    from langchain_core.documents import Document

    monkeypatch.setattr(jina_rerank, "JINA_API_URL", f"{keyed.url}/v1/rerank")
    client = jina_rerank.JinaRerank(model="rerank", jina_api_key="secret", top_n=2)
    ranked = client.compress_documents([Document(page_content=text) for text in TEXTS], QUERY)
    assert ranked[0].page_content == TEXTS[1]


def test_haystack_cohere(keyed: Any) -> None:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    ranker = CohereRanker(
        model="rerank", api_base_url=keyed.url, api_key=Secret.from_token("secret"), top_k=2
    )
    if hasattr(ranker, "warm_up"):
        ranker.warm_up()
    ranked = ranker.run(query=QUERY, documents=[Document(content=text) for text in TEXTS])["documents"]
    assert ranked[0].content == TEXTS[1]


def test_haystack_jina(keyed: Any) -> None:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.jina import JinaRanker

    ranker = JinaRanker(
        model="rerank", base_url=f"{keyed.url}/v1/rerank", api_key=Secret.from_token("secret"), top_k=2
    )
    if hasattr(ranker, "warm_up"):
        ranker.warm_up()
    ranked = ranker.run(query=QUERY, documents=[Document(content=text) for text in TEXTS])["documents"]
    assert ranked[0].content == TEXTS[1]


def test_the_example_of_the_page_works(service: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).resolve().parents[4] / "docs" / "service.md"
    example = page.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    exec(compile(example.replace("http://127.0.0.1:8080", service.url), str(page), "exec"), {})
    assert capsys.readouterr().out == "[0, 1]\n"
