"""What is said to a credential plug-in, and what it answers: the protocol client.authentication.k8s.io. PURE.

The plug-in gets an `ExecCredential` in its environment, and prints one. What is wrong with its answer becomes a
`PluginError`, which quotes no part of a credential. Rules of client-go (plugin/pkg/client/auth/exec), which also
takes an answer without `kind`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from paddock.client.errors import PluginError, Said, said
from paddock.client.exec_plugin import ExecPlugin
from paddock.client.identity import Credential, is_token
from paddock.client.redaction import redact

INFO = "KUBERNETES_EXEC_INFO"
KIND = "ExecCredential"
_QUOTED = 120
"""Characters of an answer that is no JSON, at most."""


def build_environment(plugin: ExecPlugin, ours: Mapping[str, str], *, interactive: bool) -> dict[str, str]:
    """The environment of the plug-in: this process's, the kubeconfig's, and what it is asked for."""
    return {**ours, **dict(plugin.environment), INFO: build_info(plugin, interactive=interactive)}


def build_info(plugin: ExecPlugin, *, interactive: bool) -> str:
    """An `ExecCredential` with a spec, as JSON."""
    spec: dict[str, Any] = {} if plugin.cluster is None else {"cluster": plugin.cluster}
    spec["interactive"] = interactive
    info = {"kind": KIND, "apiVersion": plugin.api_version, "spec": spec}
    return json.dumps(info, default=str)  # YAML knows dates, JSON does not


def plan_interaction(plugin: ExecPlugin, *, terminal: bool) -> bool:
    """Whether the plug-in gets standard input. `terminal`: it is one, and the caller lends it. Raises `PluginError`."""
    if plugin.mode == "Always" and not terminal:
        raise PluginError(
            said(
                "{who} asks on a terminal (interactiveMode: Always), and has none here: standard input is not a "
                "terminal, or this process is an operator. Name a plug-in in the kubeconfig that asks nothing",
                who=plugin.who,
            )
        )
    return terminal and plugin.mode != "Never"


def read_answer(plugin: ExecPlugin, output: bytes) -> Credential:
    """The credential that the plug-in has printed. Raises `PluginError`. Whether certificate and key fit is not seen
    here."""
    answer = _read_json(plugin, output)
    kind, version = answer.get("kind", KIND), answer.get("apiVersion")
    if kind != KIND:
        raise _wrong(plugin, said("its kind is {found}, not {wanted}", found=_show(kind), wanted=KIND))
    if version != plugin.api_version:
        raise _wrong(
            plugin,
            said(
                "its apiVersion is {found}, and exec.apiVersion in the kubeconfig is {wanted}",
                found=_show(version), wanted=plugin.api_version,
            ),
        )  # fmt: skip
    status = answer.get("status")
    if not isinstance(status, Mapping):
        raise _wrong(plugin, said("its status is {found}, not a mapping", found=_type(status)))
    return _read_status(plugin, status)


def explain_misfit(plugin: ExecPlugin, why: str) -> PluginError:
    """Its certificate and its key are not PEM, or do not belong together."""
    return _wrong(plugin, said("its certificate and key cannot be used: {why}", why=why))


def _read_status(plugin: ExecPlugin, status: Mapping[str, Any]) -> Credential:
    fields = {}
    for name in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp"):
        value = status.get(name)
        if value is not None and not isinstance(value, str):
            raise _wrong(
                plugin, said("{field}: found {found}, wanted a text", field=f"status.{name}", found=_type(value))
            )
        fields[name] = (value or "").strip()
    token, certificate, key, end = fields.values()
    if bool(certificate) != bool(key):
        there, missing = (
            ("clientCertificateData", "clientKeyData") if certificate else ("clientKeyData", "clientCertificateData")
        )
        raise _wrong(plugin, said("its status has {there} and no {missing}", there=there, missing=missing))
    if not token and not certificate:
        raise _wrong(plugin, said("its status has neither a token nor a certificate with its key"))
    if token and not is_token(token):
        raise _wrong(plugin, said("its token has a space or another character that no request can carry"))
    return Credential(token, certificate, key, _read_end(plugin, end) if end else None)


def _read_end(plugin: ExecPlugin, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.timestamp()
    except ValueError:
        pass
    raise _wrong(
        plugin,
        said("status.expirationTimestamp is {found}, not a time as 2030-01-31T12:00:00Z", found=_show(text)),
    )


def _read_json(plugin: ExecPlugin, output: bytes) -> Mapping[str, Any]:
    text = output.decode(errors="replace").strip()
    if not text:
        raise _wrong(plugin, said("it printed nothing"))
    try:
        answer = msgspec.json.decode(output)
    except msgspec.DecodeError as error:
        raise _wrong(plugin, _explain_text(text, str(error))) from None
    if not isinstance(answer, Mapping):
        raise _wrong(plugin, said("it printed {found}, not a mapping", found=_type(answer)))
    return answer


def _explain_text(text: str, why: str) -> Said:
    """What is no JSON. It may be a credential all the same: broken JSON and single words are not quoted at all."""
    if text[0] in "{[":
        return said("it printed JSON that is broken: {why}", why=why)
    if len(text.split()) == 1:
        return said("it printed one word of {count} characters, which is no JSON", count=str(len(text)))
    return said("it printed {found}, which is no JSON", found=_show(text))


_PLAIN = re.compile(r"[a-z0-9.]{1,40}/v[0-9](?:(?:alpha|beta)[0-9])?|[0-9T:.+Z -]{1,40}")
"""What is shown as it is: versions, times."""


def _show(value: Any) -> str:
    """For messages: shortened, and without what may be a secret."""
    if not isinstance(value, str) or _PLAIN.fullmatch(value):
        return repr(value) if value is None or isinstance(value, str | bool | int | float) else _type(value)
    line = " ".join(redact(value, least=8, longest=20).split())
    return repr(line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…")


def _type(value: Any) -> str:
    return "missing" if value is None else type(value).__name__


def _wrong(plugin: ExecPlugin, what: Said) -> PluginError:
    return PluginError(
        said(
            "{who} gave no {kind} that can be used: {what}. exec.command, exec.args and exec.apiVersion have to be "
            "those of a plug-in for Kubernetes; a newer version of it may help",
            who=plugin.who, kind=KIND, what=what,
        )
    )  # fmt: skip
