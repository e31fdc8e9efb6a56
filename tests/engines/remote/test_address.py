"""URLs of catalogs on search servers: what they mean, and that no secret comes out again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.errors import UnknownEngine
from kitpick_engines.remote.address import RemoteSettings, is_remote, parse_address

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)
hosts = st.lists(st.from_regex(r"[a-z0-9.-]{1,20}(:[0-9]{1,4})?", fullmatch=True), min_size=1, max_size=3)
secrets = st.text(min_size=12, max_size=20)
options = st.builds(
    RemoteSettings,
    shards=st.integers(0, 9),
    replicas=st.integers(-1, 3),
    vectors=st.sampled_from(["hnsw", "exact"]),
    graph=st.sampled_from(["lucene", "faiss"]),
    auth=st.sampled_from(["basic", "sigv4"]),
    region=st.sampled_from(["", "eu-west-1"]),
    ca=st.sampled_from(["", "/etc/my ca&.pem"]),
    verify=st.booleans(),
    timeout=st.floats(1, 100),
)


@pytest.mark.parametrize(
    ("url", "kind", "nodes", "name"),
    [
        ("opensearch://localhost", "opensearch", ["http://localhost:9200"], "kitpick"),
        ("opensearch+https://h:443/tools/", "opensearch", ["https://h:443"], "tools"),
        ("elasticsearch://a,b:9201/x", "elasticsearch", ["http://a:9200", "http://b:9201"], "x"),
        ("Elasticsearch+HTTPS://[::1]:9200", "elasticsearch", ["https://[::1]:9200"], "kitpick"),
    ],
)
def test_a_url_names_servers_and_catalog(url, kind, nodes, name):
    address = parse_address(url)
    assert (address.kind, address.nodes, address.name) == (kind, nodes, name)


@pytest.mark.parametrize(
    "url",
    [
        "opensearch://",
        "opensearch:///x",
        "opensearch+ftp://h/x",
        "opensearch://h/Upper",
        "opensearch://h/a/b",
        "opensearch://h/..",
        "opensearch://h/_all",
        "opensearch://h/a,b",
        "opensearch://h x/a",
        "opensearch://h/x?shards=many",
        "opensearch://h/x?nonsense=1",
        "opensearch://h/x?shards",
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_form(url):
    with pytest.raises(UnknownEngine, match="the form is opensearch://HOST"):
        parse_address(url)


def test_refusals_do_not_repeat_a_password():
    for url in ("opensearch://me:hunter2@/x", "opensearch://me:hunter2@h/X", "open://me:hunter2@h/x"):
        with pytest.raises(UnknownEngine) as caught:
            parse_address(url)
        assert "hunter2" not in str(caught.value)


@given(kind=st.sampled_from(["opensearch", "elasticsearch+https"]), hosts=hosts, name=names, settings=options)
def test_the_url_of_an_address_names_the_same_address(kind, hosts, name, settings):
    plain = parse_address(f"{kind}://{','.join(hosts)}/{name}")
    chosen = type(plain)(plain.kind, plain.hosts, plain.tls, plain.name, settings)
    assert parse_address(chosen.url) == chosen


@given(user=secrets, password=secrets)
def test_credentials_are_read_and_never_shown(user, password):
    from urllib.parse import quote

    address = parse_address(f"opensearch://{quote(user, safe='')}:{quote(password, safe='')}@h/x")
    assert (address.credentials.user, address.credentials.password) == (user, password)
    for shown in (address.url, repr(address), str(address.nodes)):
        assert user not in shown
        assert password not in shown


def test_credentials_also_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("KITPICK_ENGINE_USER", "me")
    monkeypatch.setenv("KITPICK_ENGINE_PASSWORD", "hunter2")
    credentials = parse_address("opensearch://h/x").credentials
    assert (credentials.user, credentials.password) == ("me", "hunter2")


@pytest.mark.parametrize(
    ("url", "remote"), [("opensearch://h", True), ("sqlite:x.db", False), ("x.db", False)]
)
def test_other_catalogs_are_not_taken_for_remote_ones(url, remote):
    assert is_remote(url) is remote
