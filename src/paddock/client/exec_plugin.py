"""A credential plug-in as a kubeconfig names it: `user.exec`. PURE.

Rules of client-go (tools/clientcmd: api/v1 `ExecConfig`, validation; plugin/pkg/client/auth/exec). A `command` with a
slash is relative to the file that names it, any other is looked for in PATH. `interactiveMode` may be left out with
v1beta1 alone. v1alpha1 has been gone since Kubernetes 1.24.

This module must stay cheap to import, as `client.kubeconfig` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from paddock.client.errors import ConfigError, Said, said

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
EXTENSION = f"{GROUP}/exec"
"""The name of the extension of a cluster that is meant for its users' plug-ins."""

Mode: TypeAlias = Literal["Never", "IfAvailable", "Always"]
MODES: Mapping[str, Mode] = {"Never": "Never", "IfAvailable": "IfAvailable", "Always": "Always"}


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The program that gives the credential of a user. Its arguments and environment may have secrets and are never
    printed."""

    command: str
    """A name for PATH, or an absolute path."""
    api_version: str
    mode: Mode
    file: str
    """The kubeconfig that names it, for messages."""
    user: str
    """Whose plug-in it is, for messages."""
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    hint: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    """What the plug-in is told of the cluster, as JSON values; None where the kubeconfig does not ask for it."""

    @property
    def who(self) -> Said:
        """The subject of sentences about it."""
        return said(
            "the credential plug-in {command} (user {user} in {file})",
            command=self.command, user=repr(self.user), file=self.file,
        )  # fmt: skip


def read_plugin(value: Any, file: Path, user: str, cluster: Mapping[str, Any]) -> ExecPlugin:
    """The plug-in of the entry `exec` of this user. `cluster`: as `build_cluster` gives it. Raises `ConfigError`."""
    entry = _Entry(value if isinstance(value, Mapping) else {}, str(file), user)
    if not isinstance(value, Mapping):
        raise entry.wrong("exec", value, said("a mapping"))
    api_version = entry.value.get("apiVersion")
    if api_version not in VERSIONS:
        raise ConfigError(
            "{file}: user {user}: exec.apiVersion is {found}; Paddock knows {known}. Let the tools of the cluster's "
            "provider write this kubeconfig again: their newer versions speak one of these",
            file=entry.file, user=repr(user), found=repr(api_version), known=", ".join(VERSIONS),
        )  # fmt: skip
    command = entry.text("command")
    if not command:
        raise ConfigError(
            "{file}: user {user}: exec.command is missing; it has to be the name of a program",
            file=entry.file, user=repr(user),
        )  # fmt: skip
    return ExecPlugin(
        # An absolute path: one without a slash would be looked for in PATH.
        command=str(file.parent.absolute() / command) if "/" in command else command,
        api_version=api_version,
        mode=_read_mode(entry, api_version),
        file=entry.file,
        user=user,
        args=entry.texts("args"),
        environment=_read_environment(entry),
        hint=entry.text("installHint"),
        cluster=cluster if _read_flag(entry, "provideClusterInfo") else None,
    )


def build_cluster(entry: Mapping[str, Any], server: str, ca: str | None) -> dict[str, Any]:
    """What a plug-in may be told of its cluster (client.authentication.k8s.io, `Cluster`), from the cluster's entry
    in the kubeconfig. `ca`: PEM; it is sent also where the kubeconfig has a file."""
    import base64

    told: dict[str, Any] = {"server": server}
    for name in ("tls-server-name", "proxy-url"):
        if isinstance(entry.get(name), str) and entry[name]:
            told[name] = entry[name]
    for name in ("insecure-skip-tls-verify", "disable-compression"):
        if entry.get(name) is True:
            told[name] = True
    if ca:
        told["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    return told | {"config": _find_extension(entry.get("extensions"))}


def _find_extension(extensions: Any) -> Any:
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, Mapping) and each.get("name") == EXTENSION:
            return each.get("extension")
    return None


@dataclass(frozen=True, slots=True)
class _Entry:
    """The mapping under `exec`, and where it stands."""

    value: Mapping[str, Any]
    file: str
    user: str

    def text(self, name: str) -> str:
        found = self.value.get(name)
        if found is not None and not _is_text(found):
            raise self.wrong(f"exec.{name}", found, said("a text"))
        return found or ""

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.items(name)
        for place, each in enumerate(found):
            if not _is_text(each):
                raise self.wrong(f"exec.{name}[{place}]", each, said("a text, perhaps in quotes"))
        return tuple(found)

    def items(self, name: str) -> list[Any]:
        found = self.value.get(name)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self.wrong(f"exec.{name}", found, said("a list"))
        return found

    def wrong(self, where: str, found: Any, wanted: Said) -> ConfigError:
        """Only the type of what was found is named, as it may be a secret."""
        return ConfigError(
            "{file}: user {user}: {field}: found {found}, wanted {wanted}",
            file=self.file, user=repr(self.user), field=where, found=type(found).__name__, wanted=wanted,
        )  # fmt: skip


def _is_text(value: Any) -> bool:
    """Whether a process can be given it."""
    return isinstance(value, str) and "\0" not in value


def _read_mode(entry: _Entry, api_version: str) -> Mode:
    found = entry.value.get("interactiveMode")
    if found in (None, "") and api_version.endswith("/v1beta1"):
        return "IfAvailable"
    if isinstance(found, str) and found in MODES:
        return MODES[found]
    raise ConfigError(
        "{file}: user {user}: exec.interactiveMode is {found}; with {version} it has to be one of {known}",
        file=entry.file, user=repr(entry.user), found=repr(found), version=api_version, known=", ".join(MODES),
    )  # fmt: skip


def _read_environment(entry: _Entry) -> tuple[tuple[str, str], ...]:
    found = []
    for place, each in enumerate(entry.items("env")):
        where = f"exec.env[{place}]"
        if not isinstance(each, Mapping):
            raise entry.wrong(where, each, said("a mapping with name and value"))
        name, value = each.get("name"), each.get("value")
        if not _is_text(name) or not name or "=" in name:
            raise entry.wrong(f"{where}.name", name, said("the name of a variable"))
        if value is not None and not _is_text(value):
            raise entry.wrong(f"{where}.value", value, said("a text, perhaps in quotes"))
        found.append((name, value or ""))
    return tuple(found)


def _read_flag(entry: _Entry, name: str) -> bool:
    found = entry.value.get(name)
    if found is not None and not isinstance(found, bool):
        raise entry.wrong(f"exec.{name}", found, said("true or false"))
    return found is True
