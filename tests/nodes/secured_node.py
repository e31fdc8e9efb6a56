"""A real OpenSearch node whose users have passwords and roles: its security plugin is on, over plain HTTP."""

from __future__ import annotations

import base64
import functools
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jdk import INSTALL, find_jdk
from node_process import Node
from opensearch_node import distribution, opensearch_node

RECIPE = Path(__file__).parent / "opensearch-secured"
ADMIN = "admin"
PASSWORD = "one password for all of these tests"
_STORE_PASSWORD = "changeit"
_SETTINGS = (
    "plugins.security.ssl.http.enabled=false",
    "plugins.security.ssl.transport.enforce_hostname_verification=false",
    "plugins.security.ssl.transport.keystore_filepath=node.p12",
    "plugins.security.ssl.transport.keystore_type=PKCS12",
    f"plugins.security.ssl.transport.keystore_password={_STORE_PASSWORD}",
    "plugins.security.ssl.transport.truststore_filepath=trusted.p12",
    "plugins.security.ssl.transport.truststore_type=PKCS12",
    f"plugins.security.ssl.transport.truststore_password={_STORE_PASSWORD}",
    "plugins.security.nodes_dn=CN=node",
    "plugins.security.authcz.admin_dn=CN=admin",
    "plugins.security.allow_default_init_securityindex=true",
)


def secured_node(
    folder: Path,
    users: Mapping[str, Mapping[str, Any]],
    roles: Mapping[str, Any],
    plugins: Sequence[Path] = (),
    settings: Sequence[str] = (),
) -> Node:
    """A node that is ready to be started, with these users besides `admin`, who may do everything.

    Args:
        folder: for its home, configuration, data and log.
        users: by name; `roles` are theirs, `attributes` what queries of roles may refer to.
        roles: by name, as the security plugin's `roles.yml` has them.
        plugins: zips to install.
        settings: `key=value` of the node.
    """
    node = opensearch_node(folder, plugins, settings=(*_SETTINGS, *settings), recipe=RECIPE)
    config = folder.resolve() / "config"
    _make_certificates(config)
    everybody = {ADMIN: {"roles": ["all_access"]}, **users}
    security_files(config / "opensearch-security", everybody, roles)
    node.headers = authorization(ADMIN)
    return node


def authorization(user: str) -> dict[str, str]:
    """The header by which a user logs in."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()}


def security_files(folder: Path, users: Mapping[str, Mapping[str, Any]], roles: Mapping[str, Any]) -> None:
    """The files out of which the security plugin makes its index at the first start; JSON is YAML, too."""
    mapped: dict[str, list[str]] = {}
    for name, user in users.items():
        for role in user["roles"]:
            mapped.setdefault(role, []).append(name)
    basic = {
        "http_enabled": True,
        "order": 0,
        "http_authenticator": {"type": "basic", "challenge": True},
        "authentication_backend": {"type": "internal"},
    }
    contents: dict[str, dict[str, Any]] = {
        "config": {"config": {"dynamic": {"http": {}, "authc": {"basic": basic}}}},
        "internalusers": {
            name: {"hash": _hash(), "attributes": user.get("attributes", {})} for name, user in users.items()
        },
        "roles": dict(roles),
        "rolesmapping": {role: {"users": names} for role, names in mapped.items()},
        "actiongroups": {},
        "tenants": {},
        "nodesdn": {},
        "allowlist": {"config": {"enabled": False}},
        "audit": {"config": {"enabled": True, "audit": _AUDITED}},
    }
    folder.mkdir(exist_ok=True)
    for kind, content in contents.items():
        meta = {"type": kind, "config_version": 2}
        (folder / _FILES.get(kind, f"{kind}.yml")).write_text(json.dumps({"_meta": meta, **content}), "utf-8")


_AUDITED = {
    "enable_rest": False,
    "enable_transport": True,
    "disabled_transport_categories": [],
    "resolve_indices": True,
    "log_request_body": False,
}
"""Every action that is allowed or refused, for nodes whose `plugins.security.audit.type` names a place."""
_FILES = {
    "internalusers": "internal_users.yml",
    "rolesmapping": "roles_mapping.yml",
    "actiongroups": "action_groups.yml",
    "nodesdn": "nodes_dn.yml",
}


def _make_certificates(config: Path) -> None:
    """Nodes speak TLS with each other, even a single one: a self-signed certificate does for that."""
    shared = ("-storetype", "PKCS12", "-storepass", _STORE_PASSWORD, "-alias", "node", "-noprompt")
    _keytool(
        "-genkeypair", "-keystore", config / "node.p12", *shared, "-keyalg", "EC", "-dname", "CN=node",
        "-validity", "3650",
    )  # fmt: skip
    _keytool("-exportcert", "-keystore", config / "node.p12", *shared, "-file", config / "node.crt")
    _keytool("-importcert", "-keystore", config / "trusted.p12", *shared, "-file", config / "node.crt")


def _keytool(*arguments: str | Path) -> None:
    subprocess.run([_java("keytool"), *map(str, arguments)], check=True, capture_output=True)


@functools.cache
def _hash() -> str:
    """Of the password, by the security plugin's own tool."""
    home = distribution(RECIPE)
    classes = f"{home}/plugins/opensearch-security/*:{home}/lib/*"
    command = [_java("java"), "-cp", classes, "org.opensearch.security.tools.Hasher", "-p", PASSWORD]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return next(line for line in done.stdout.splitlines() if line.startswith("$2"))


def _java(program: str) -> str:
    java = find_jdk()
    if java is None:
        raise RuntimeError(INSTALL)
    return str(java / "bin" / program)
