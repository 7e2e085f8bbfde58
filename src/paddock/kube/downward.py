"""What a container may be told of its own pod: Kubernetes' downward API, `$(NAME)` in values, its host name. Pure.

Sources: core/v1 ObjectFieldSelector and EnvVar; third_party/forked/golang/expansion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddock.kube.meta import Manifest, annotations_of, labels_of, metadata

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


class UnknownField(ValueError):
    """A fieldPath that the downward API does not have; the message names those that it has."""


def host_name(pod: Mapping[str, Any]) -> str:
    # Kubelet, too, cuts a longer name to 63 characters.
    return str(pod["spec"].get("hostname") or metadata(pod).get("name"))[:63].rstrip("-.")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replaces `$(NAME)` by its value; unknown names stay, `$$` becomes `$`."""

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else variables.get(name, match[0])

    return re.sub(r"\$\$|\$\((?P<name>[^)]*)\)", replaced, text)


def read_field(pod: Manifest, path: str) -> str:
    """The value of a fieldRef (core/v1 ObjectFieldSelector); empty where it has none yet. Raises `UnknownField`."""
    spec, status, meta = pod["spec"], pod.get("status") or {}, metadata(pod)
    if match := _SUBSCRIPT.fullmatch(path):
        found = labels_of(pod) if match[1] == "labels" else annotations_of(pod)
        return str(found.get(match[2], ""))
    values: dict[str, Callable[[], Any]] = {
        "metadata.name": lambda: meta.get("name"),
        "metadata.namespace": lambda: meta.get("namespace"),
        "metadata.uid": lambda: meta.get("uid"),
        "metadata.labels": lambda: _lines(labels_of(pod)),
        "metadata.annotations": lambda: _lines(annotations_of(pod)),
        "spec.nodeName": lambda: spec.get("nodeName"),
        "spec.serviceAccountName": lambda: spec.get("serviceAccountName") or "default",
        "status.hostIP": lambda: status.get("hostIP"),
        "status.hostIPs": lambda: _addresses(status.get("hostIPs")),
        "status.podIP": lambda: status.get("podIP"),
        "status.podIPs": lambda: _addresses(status.get("podIPs")),
    }
    if path not in values:
        raise UnknownField(f"fieldPath {path!r} is not supported; supported are {', '.join(values)} and labels['…']")
    return str(values[path]() or "")


def _lines(values: Mapping[str, str]) -> str:
    """Labels as a downward API volume writes them: sorted lines of `key="value"`."""
    escaped = ((key, str(value).replace("\\", "\\\\").replace('"', '\\"')) for key, value in sorted(values.items()))
    return "\n".join(f'{key}="{value}"' for key, value in escaped)


def _addresses(found: Sequence[Manifest] | None) -> str:
    return ",".join(str(item.get("ip")) for item in found or ())
