"""Reads kubeconfig files as kubectl does, into one `Config`: server, credentials, namespace.

Rules of client-go (tools/clientcmd): `KUBECONFIG` is a list of files; missing files are skipped, the first that sets a
value wins. A relative path in a file is relative to its directory. Without any file, the service account of the pod is
used. Credentials are never printed, and the repr of `Config` omits them.

This module must stay cheap to import (no HTTP library): the command line needs it for `--help` and completion.
`client.connection` connects with a `Config`.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.client.errors import ConfigError

if TYPE_CHECKING:
    from paddock.client.exec_plugin import ExecPlugin

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Config:
    """One cluster, user and namespace. Certificates are PEM."""

    server: str
    namespace: str = "default"
    context: str = ""
    source: str = ""
    """File and context, for messages."""
    ca: str | None = field(default=None, repr=False)
    insecure: bool = False
    server_name: str | None = None
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    plugin: ExecPlugin | None = None
    """The program that gives the credential; None where the kubeconfig has one itself, which then wins, as in
    client-go."""
    proxy: str | None = None
    impersonate: str = ""
    impersonate_groups: tuple[str, ...] = ()


def read_config(
    path: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = _SERVICE_ACCOUNT,
) -> Config:
    """The configuration that kubectl uses: `path`, else $KUBECONFIG, else ~/.kube/config, else the service account.

    Raises `ConfigError`.
    """
    environment = os.environ if environment is None else environment
    if path:
        files = [Path(path).expanduser()]
        if not files[0].exists():
            raise ConfigError("there is no kubeconfig {path}", path=str(path))
    elif listed := environment.get("KUBECONFIG"):
        files = [Path(part).expanduser() for part in listed.split(os.pathsep) if part]
    else:
        files = [(home or Path.home()) / ".kube" / "config"]
    present = [file for file in files if file.exists()]
    if not present:
        return _read_service_account(files, environment, service_account)
    merged = _merge([_read_file(file) for file in present])
    return _build_config(merged, context, ", ".join(map(str, present)))


def read_server(
    path: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    service_account: Path = _SERVICE_ACCOUNT,
) -> Config:
    """A server without any credential, for who asks it with those of others: of `path` and `context`, else of
    $KUBECONFIG, else that of this pod, whose account has no token. Raises `ConfigError`."""
    environment = os.environ if environment is None else environment
    if path or context or environment.get("KUBECONFIG") or not environment.get("KUBERNETES_SERVICE_HOST"):
        found = read_config(path, context, environment=environment, service_account=service_account)
        return _without_credential(found)
    return replace(_build_pod_config(environment, service_account), source="")


def _without_credential(config: Config) -> Config:
    return replace(
        config,
        certificate=None, key=None, token="", token_file=None, plugin=None, impersonate="", impersonate_groups=(),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """One named entry of a kubeconfig, and its file: paths in the entry are relative to that file."""

    value: Mapping[str, Any]
    file: Path

    def text(self, name: str) -> str:
        found = self.value.get(name)
        return found if isinstance(found, str) else ""

    def path(self, name: str) -> Path | None:
        found = self.text(name)
        return self.file.parent / Path(found).expanduser() if found else None

    def pem(self, name: str) -> str | None:
        """`<name>-data` (base64) wins over the file `<name>`, as in client-go."""
        if data := self.text(f"{name}-data"):
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise ConfigError(
                    "{file}: {name}-data is not base64 of a PEM text", file=str(self.file), name=name
                ) from None
        if (path := self.path(name)) is None:
            return None
        return _read_text(path, f"{self.file}: {name}")


@dataclass(slots=True)
class _Merged:
    current: str = ""
    contexts: dict[str, _Entry] = field(default_factory=dict)
    clusters: dict[str, _Entry] = field(default_factory=dict)
    users: dict[str, _Entry] = field(default_factory=dict)


def _read_text(path: Path, what: str) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = str(error.strerror) if isinstance(error, OSError) else "not a text"
        raise ConfigError("{what}: cannot read {path}: {why}", what=what, path=str(path), why=reason) from None


def _read_file(file: Path) -> tuple[Path, Mapping[str, Any]]:
    text = _read_text(file, "kubeconfig")
    with suppress(ValueError):  # JSON is YAML, and that of the local cluster: `paddock get` need not import yaml
        return file, _as_mapping(file, json.loads(text))
    import yaml

    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe ones both
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        why = str(getattr(error, "problem", error))
        raise ConfigError("kubeconfig {file}{where}: not YAML: {why}", file=str(file), where=where, why=why) from None
    return file, _as_mapping(file, content)


def _as_mapping(file: Path, content: object) -> Mapping[str, Any]:
    if content is not None and not isinstance(content, Mapping):
        found = type(content).__name__
        raise ConfigError("kubeconfig {file}: found {found}, a kubeconfig is a mapping", file=str(file), found=found)
    return content or {}


def _merge(files: list[tuple[Path, Mapping[str, Any]]]) -> _Merged:
    merged = _Merged()
    for file, content in files:
        merged.current = merged.current or str(content.get("current-context") or "")
        for entries, plural, singular in (
            (merged.contexts, "contexts", "context"),
            (merged.clusters, "clusters", "cluster"),
            (merged.users, "users", "user"),
        ):
            for item in content.get(plural) or ():
                if isinstance(item, Mapping) and isinstance(item.get(singular), Mapping):
                    entries.setdefault(str(item.get("name")), _Entry(item[singular], file))
    return merged


def _pick(entries: Mapping[str, _Entry], name: str, what: str, source: str) -> _Entry:
    if name in entries:
        return entries[name]
    there = ", ".join(sorted(entries)) or "none"
    raise ConfigError(
        "kubeconfig {source}: {what} {name} is not in it (there: {there})",
        source=source, what=what, name=repr(name), there=there,
    )  # fmt: skip


def _build_config(merged: _Merged, wanted: str | None, source: str) -> Config:
    name = wanted or merged.current
    if not name:
        there = ", ".join(sorted(merged.contexts)) or "none"
        raise ConfigError(
            "kubeconfig {source}: no current-context; name one of its contexts (there: {there})",
            source=source, there=there,
        )  # fmt: skip
    context = _pick(merged.contexts, name, "context", source)
    cluster = _pick(merged.clusters, context.text("cluster"), f"context {name!r}: cluster", source)
    user = (
        _pick(merged.users, context.text("user"), f"context {name!r}: user", source)
        if context.text("user")
        else _Entry({}, cluster.file)
    )
    _refuse_auth_provider(user, name)
    server = cluster.text("server").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise ConfigError(
            "{file}: context {name}: server is {server}; wanted https://HOST:PORT",
            file=str(cluster.file), name=repr(name), server=repr(server),
        )  # fmt: skip
    ca = cluster.pem("certificate-authority")
    return Config(
        server=server,
        namespace=context.text("namespace") or "default",
        context=name,
        source=f"{source}, context {name}",
        ca=ca,
        insecure=bool(cluster.value.get("insecure-skip-tls-verify")),
        server_name=cluster.text("tls-server-name") or None,
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
        token=user.text("token"),
        token_file=user.path("tokenFile"),
        plugin=_read_plugin(user, context.text("user"), cluster, server, ca),
        proxy=cluster.text("proxy-url") or None,
        impersonate=user.text("as"),
        impersonate_groups=tuple(map(str, user.value.get("as-groups") or ())),
    )


_OWN_CREDENTIALS = (
    "token", "tokenFile", "client-certificate", "client-certificate-data", "username", "password",
)  # fmt: skip
"""A user who has one of them needs no plug-in: client-go does not run it (transport.Config, HasTokenAuth and
others)."""


def _read_plugin(user: _Entry, name: str, cluster: _Entry, server: str, ca: str | None) -> ExecPlugin | None:
    if user.value.get("exec") is None:
        return None
    from paddock.client.exec_plugin import build_cluster, read_plugin  # few configurations have one

    plugin = read_plugin(user.value["exec"], user.file, name, build_cluster(cluster.value, server, ca))
    # As in client-go, a server without TLS gets no credential.
    wanted = server.startswith("https:") and not any(map(user.text, _OWN_CREDENTIALS))
    return plugin if wanted else None


def _refuse_auth_provider(user: _Entry, context: str) -> None:
    """kubectl 1.26 has removed gcp and azure; what is left, oidc, is a plug-in today."""
    provider = user.value.get("auth-provider")
    if provider is None:
        return
    name = str(provider.get("name") or "") if isinstance(provider, Mapping) else ""
    places = {"file": str(user.file), "context": repr(context)}
    if name == "gcp":
        raise ConfigError(
            "{file}: context {context} signs in with `auth-provider: gcp`, which kubectl 1.26 removed and Paddock does "
            "not have. Install gke-gcloud-auth-plugin, then let `gcloud container clusters get-credentials` write this "
            "kubeconfig again",
            **places,
        )
    if name == "azure":
        raise ConfigError(
            "{file}: context {context} signs in with `auth-provider: azure`, which kubectl 1.26 removed and Paddock "
            "does not have. Install kubelogin, then let `kubelogin convert-kubeconfig` write this kubeconfig again",
            **places,
        )
    raise ConfigError(
        "{file}: context {context} signs in with `auth-provider: {name}`, which Paddock does not have. Give that user "
        "an `exec` entry with a credential plug-in (for OpenID Connect kubelogin, `kubectl oidc-login setup`), a "
        "`token` or a client certificate",
        name=name, **places,
    )  # fmt: skip


def _read_service_account(files: list[Path], environment: Mapping[str, str], directory: Path) -> Config:
    """The configuration in a pod (kubernetes.io, "Accessing the API from within a Pod")."""
    token = directory / "token"
    if not environment.get("KUBERNETES_SERVICE_HOST") or not token.exists():
        looked = ", ".join(map(str, files))
        raise ConfigError(
            "no cluster is configured: there is no kubeconfig at {looked}. Set KUBECONFIG to one", looked=looked
        )
    return replace(_build_pod_config(environment, directory), token_file=token)


def _build_pod_config(environment: Mapping[str, str], directory: Path) -> Config:
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = directory / "namespace"
    return Config(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        context="in-cluster",
        source=f"service account in {directory}",
        ca=_read_text(directory / "ca.crt", "service account"),
    )
