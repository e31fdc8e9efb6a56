"""How clients come to a server: TLS, users, signatures, several hosts, and a server that is too busy."""

from __future__ import annotations

import base64
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest
from asking import dense_of
from catalogs import fill, item, unit
from front import Certificate, front, make_certificate
from node_process import free_port
from servers import drop

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine

pytestmark = pytest.mark.slow
SERVERS = [pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in ("opensearch", "elasticsearch")]


@pytest.fixture(params=SERVERS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def node(kind: str, request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{kind}_url")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is absent")
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@contextmanager
def catalog(kind: str, hosts: str, scheme: str = "", **options: object) -> Iterator[RemoteEngine]:
    """A new catalog over the hosts, gone at the end."""
    chosen = {"vectors": "exact", "replicas": 0, "timeout": 20, "patience": 5, **options}
    query = "&".join(f"{name}={value}" for name, value in chosen.items())
    with closing(open_engine(f"{kind}{scheme}://{hosts}/t{uuid.uuid4().hex[:12]}?{query}")) as engine:
        assert isinstance(engine, RemoteEngine)
        try:
            yield engine
        finally:
            drop(engine)


def works(engine: RemoteEngine) -> bool:
    fill(engine, [item("s/t/a"), item("s/t/b", unit(0, 1))])
    return dense_of(engine, unit(1)) == ["s/t/a", "s/t/b"]


def test_a_certificate_is_verified_against_the_file_that_the_url_names(kind, node, certificate):
    with front(node, certificate=certificate) as before:
        with catalog(kind, before.host, "+https", ca=certificate.certificate) as engine:
            assert works(engine)
        with catalog(kind, before.host, "+https", verify="false") as engine:
            assert works(engine)


def test_a_certificate_that_nobody_vouches_for_is_refused(kind, node, certificate):
    with front(node, certificate=certificate) as before:
        url = f"{kind}+https://{before.host}/x?patience=0&timeout=5"
        with closing(open_engine(url)) as engine, pytest.raises(EngineUnavailable):
            engine.live()
        assert before.passed == 0


def asks_for(name: str, value: str) -> Callable[..., bool]:
    return lambda _method, _path, headers, _body: headers.get(name) == value


def test_user_and_password_are_sent_and_asked_for_where_they_are_missing(kind, node, monkeypatch):
    secret = base64.b64encode(b"me:hunter2").decode()
    with front(node, asks_for("authorization", f"Basic {secret}")) as before:
        nobody = open_engine(f"{kind}://{before.host}/x?patience=0")
        with closing(nobody), pytest.raises(EngineUnavailable, match=r"401.*KITPICK_ENGINE_USER"):
            nobody.live()
        monkeypatch.setenv("KITPICK_ENGINE_USER", "me")
        monkeypatch.setenv("KITPICK_ENGINE_PASSWORD", "hunter2")
        with catalog(kind, before.host) as engine:
            assert works(engine)
            assert "hunter2" not in engine.url


@pytest.mark.needs("elasticsearch")
def test_an_api_key_is_sent(elasticsearch_url, monkeypatch):
    with front(elasticsearch_url, asks_for("authorization", "ApiKey c2VjcmV0")) as before:
        monkeypatch.setenv("KITPICK_ENGINE_API_KEY", "c2VjcmV0")
        with catalog("elasticsearch", before.host) as engine:
            assert works(engine)


@pytest.mark.needs("opensearch", "botocore")
@pytest.mark.parametrize("service", ["es", "aoss"])
def test_requests_are_signed_as_aws_asks(opensearch_url, monkeypatch, service):
    """The front signs what it received once more, with the same secret, and compares."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    with (
        front(opensearch_url, lambda *request: is_signed(service, *request)) as before,
        catalog("opensearch", before.host, auth="sigv4", region="eu-west-1", service=service) as engine,
    ):
        assert works(engine)
        assert before.refused == 0
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        with closing(open_engine(engine.url)) as stranger, pytest.raises(EngineUnavailable, match="401"):
            stranger.live()


def is_signed(service: str, method: str, path: str, headers: dict[str, str], body: bytes) -> bool:
    """Whether the signature covers host, body and date of this very request."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = headers.get("authorization", "")
    if f"/eu-west-1/{service}/aws4_request" not in given:
        return False
    signed = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    if not {"host", "x-amz-date"} <= set(signed):
        return False
    kept = {name: headers[name] for name in signed if name != "x-amz-date"}
    request = AWSRequest(method, f"http://{headers['host']}{path}", data=body, headers=kept)
    request.context["timestamp"] = headers["x-amz-date"]
    request.headers["X-Amz-Date"] = headers["x-amz-date"]
    signer = SigV4Auth(
        Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), service, "eu-west-1"
    )
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return given.endswith(f"Signature={signer.signature(text, request)}")


def test_another_host_takes_over_from_one_that_is_away(kind, node):
    with front(node) as second, catalog(kind, f"127.0.0.1:{free_port()},{second.host}") as engine:
        assert works(engine)
        assert second.passed > 0


def test_also_in_the_middle_of_a_session(kind, node):
    with (
        front(node) as first,
        front(node) as second,
        catalog(kind, f"{first.host},{second.host}") as engine,
    ):
        index = fill(engine, [item("s/t/a")])
        with engine.writing(index) as writer:
            writer.write([item("s/t/b", unit(0, 1))])
            first.close()
            writer.write([item("s/t/c", unit(-1))])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_write_that_the_server_is_too_busy_for_is_tried_again(kind, node, status):
    with front(node) as before, catalog(kind, before.host, patience=30) as engine:
        before.busy = [status] * 3
        assert works(engine)
        assert before.refused == 3


def test_a_search_whose_node_was_lost_under_it_is_asked_again(kind, node):
    error = {"type": "search_phase_execution_exception", "reason": "", "phase": "query", "failed_shards": []}
    lost = [{"error": error, "status": 500}]
    with front(node) as before, catalog(kind, before.host) as engine:
        fill(engine, [item("s/t/a")])
        honest = before.answer

        def once(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
            status, data, content_type = honest(method, path, headers, body)
            if "_msearch" in path and lost:
                found = json.loads(data)
                found["responses"][0] = lost.pop()
                data = json.dumps(found).encode()
            return status, data, content_type

        before.answer = once  # type: ignore[method-assign]
        assert dense_of(engine, unit(1)) == ["s/t/a"]
        assert not lost


def test_a_server_that_stays_too_busy_leaves_the_catalog_as_it_was(kind, node):
    with front(node) as before, catalog(kind, before.host, patience=1) as engine:
        index = fill(engine, [item("s/t/a")])
        before.busy = [429] * 1_000
        with pytest.raises(EngineUnavailable, match="too busy"), engine.writing(index) as writer:
            writer.write([item("s/t/b")])
        before.busy = []
        assert dense_of(engine, unit(1)) == ["s/t/a"]
        fill(engine, [item("s/t/c", unit(0, 1))])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/c"]


def test_one_bulk_request_too_large_for_the_server_is_halved(kind, node):
    """413 is what proxies answer; nothing of the batch is lost or doubled."""
    sizes: list[int] = []

    def small_only(method: str, path: str, headers: dict[str, str], body: bytes) -> bool:
        sizes.append(len(body) if "_bulk" in path else 0)
        return True

    with front(node, small_only) as before, catalog(kind, before.host) as engine:
        honest = before.answer

        def limited(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str]:
            if len(body) > 20_000:
                return 413, b"too large", "text/plain"
            return honest(method, path, headers, body)

        before.answer = limited  # type: ignore[method-assign]
        rng = np.random.default_rng(1)
        items = [item(f"s/t/{n:03}", unit(*rng.standard_normal(4))) for n in range(60)]
        fill(engine, items)
        assert sorted(dense_of(engine, unit(1))) == [each.document.id for each in items]
        assert max(sizes) <= 20_000


def test_a_server_that_is_away_is_named_without_its_password(kind):
    url = f"{kind}://me:hunter2@127.0.0.1:{free_port()}/x?patience=0&timeout=2"
    with closing(open_engine(url)) as engine, pytest.raises(EngineUnavailable) as caught:
        engine.live()
    assert "127.0.0.1" in str(caught.value)
    assert "hunter2" not in str(caught.value)
