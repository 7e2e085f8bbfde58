"""What a container may be told of its own pod: Kubernetes' downward API, `$(NAME)` in values, its host name. Pure.

Sources: core/v1 ObjectFieldSelector and EnvVar; third_party/forked/golang/expansion.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from paddock.kube.meta import Manifest, annotations_of, labels_of, metadata
from paddock.kube.quantities import format_quantity, read_quantity

SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
"""One label or annotation; groups: which of them, and its key."""


class UnknownField(ValueError):
    """A field that the downward API does not have; the message names those that it has."""


def host_name(pod: Mapping[str, Any]) -> str:
    # Kubelet, too, cuts a longer name to 63 characters.
    return str(pod["spec"].get("hostname") or metadata(pod).get("name"))[:63].rstrip("-.")


@dataclass(frozen=True, slots=True)
class Expanded:
    """A text in which `$(NAME)` was replaced."""

    text: str
    told: tuple[tuple[int, int], ...] = ()
    """Where the values of variables stand in `text`: [begin, end), in their order."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replaces `$(NAME)` by its value; unknown names stay, `$$` becomes `$`."""
    return expand_marked(text, variables).text


def expand_marked(text: str, variables: Mapping[str, str]) -> Expanded:
    """As `expand`, with the places of the values."""
    parts: list[str] = []
    told: list[tuple[int, int]] = []
    length = end = 0
    for match in re.finditer(r"\$\$|\$\((?P<name>[^)]*)\)", text):
        name = match["name"]
        value = "$" if name is None else variables.get(name, match[0])
        parts += (text[end : match.start()], value)
        begin, end = length + match.start() - end, match.end()
        length = begin + len(value)
        if name in variables:
            told.append((begin, length))
    return Expanded("".join((*parts, text[end:])), tuple(told))


def read_field(pod: Manifest, path: str) -> str:
    """The value of a fieldRef (core/v1 ObjectFieldSelector); empty where it has none yet. Raises `UnknownField`."""
    spec, status, meta = pod["spec"], pod.get("status") or {}, metadata(pod)
    if match := SUBSCRIPT.fullmatch(path):
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


def read_resource(pod: Manifest, container: str, reference: Mapping[str, Any], capacity: Mapping[str, Fraction]) -> str:
    """The value of a resourceFieldRef (core/v1 ResourceFieldSelector), rounded up to whole divisors: that of
    `containerName`, or else of `container`. No limit: the node's `capacity`. No request: the limit.

    Raises `UnknownField` for a container that the pod does not have, and for what is neither a limit nor a request.
    """
    wanted, _, resource = str(reference.get("resource") or "").partition(".")
    name = reference.get("containerName") or container
    everyone = (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ()))
    target = next((item for item in everyone if item["name"] == name), None)
    if target is None:
        names = ", ".join(str(item["name"]) for item in everyone)
        raise UnknownField(f"resourceFieldRef: container {name!r} is not one of the pod ({names})")
    if wanted not in ("limits", "requests") or not resource:
        raise UnknownField(f"resourceFieldRef: resource {reference.get('resource')!r} is not supported (limits.cpu is)")
    amounts = target.get("resources") or {}
    found = (amounts.get(wanted) or {}).get(resource)
    if found is None and wanted == "requests":
        found = (amounts.get("limits") or {}).get(resource)
    if found is None:
        amount = capacity.get(resource, Fraction(0)) if wanted == "limits" else Fraction(0)
    else:
        amount = read_quantity(found)
    divisor = read_quantity(reference.get("divisor") or 1) or Fraction(1)
    return format_quantity(Fraction(math.ceil(amount / divisor)))


def _lines(values: Mapping[str, str]) -> str:
    """Labels as a downward API volume writes them: sorted lines of `key="value"`."""
    escaped = ((key, str(value).replace("\\", "\\\\").replace('"', '\\"')) for key, value in sorted(values.items()))
    return "\n".join(f'{key}="{value}"' for key, value in escaped)


def _addresses(found: Sequence[Manifest] | None) -> str:
    return ",".join(str(item.get("ip")) for item in found or ())
