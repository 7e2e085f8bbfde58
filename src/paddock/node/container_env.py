"""What a container's program is started with: its environment and its arguments. Pure.

Order, later wins: what every program needs (PATH, HOME, …), the image's environment, `envFrom`, `env`. `$(VAR)` is
Kubernetes' own expansion and sees what `envFrom` and the earlier entries of `env` set, not the image's variables; the
shell's `$VAR` is left alone. Sources: core/v1 EnvVar and Container, third_party/forked/golang/expansion.

A reference to a ConfigMap, Secret, key or field that is not there raises `NotReady` with kubelet's sentence.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.kube.meta import Manifest, annotations_of, labels_of, metadata
from paddock.kube.quantities import format_quantity, read_quantity
from paddock.node.images import Image
from paddock.node.pod_state import Obstacle

CONFIG_ERROR = "CreateContainerConfigError"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = frozenset(
    {"HOME", "USER", "LANG", "TZ", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}
    | {"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
)
"""Of the daemon's own environment; and LC_*. Everything else of it stays out of pods."""

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


class NotReady(Exception):
    """A container cannot start as things are; becomes its waiting state."""

    def __init__(self, message: str, reason: str = CONFIG_ERROR) -> None:
        super().__init__(message)
        self.obstacle = Obstacle(reason, message)


@dataclass(frozen=True, slots=True)
class Configs:
    """The ConfigMaps, Secrets and PersistentVolumeClaims of one namespace, by name."""

    namespace: str = ""
    config_maps: Mapping[str, Manifest] = field(default_factory=dict)
    secrets: Mapping[str, Manifest] = field(default_factory=dict)
    claims: Mapping[str, Manifest] = field(default_factory=dict)

    def data(self, kind: str, name: str) -> dict[str, bytes] | None:
        """The keys and values of a `configmap` or `secret`; None where there is none of that name."""
        found = (self.config_maps if kind == "configmap" else self.secrets).get(name)
        if found is None:
            return None
        if kind == "configmap":
            plain = {key: str(value).encode() for key, value in (found.get("data") or {}).items()}
            return plain | _decoded(found.get("binaryData"))
        return _decoded(found.get("data")) | {
            key: str(value).encode() for key, value in (found.get("stringData") or {}).items()
        }


def _decoded(data: Mapping[str, str] | None) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in (data or {}).items()}


def select_passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the daemon's environment that programs may see."""
    return {name: value for name, value in environment.items() if name in PASSED_ON or name.startswith("LC_")}


def build_environment(
    pod: Manifest,
    container: Manifest,
    image: Image,
    configs: Configs,
    *,
    outer: Mapping[str, str],
    capacity: Mapping[str, Fraction],
    rename: Callable[[str], str] = str,
) -> tuple[dict[str, str], dict[str, str]]:
    """The whole environment, and the part of it that `$(VAR)` in command and args may name.

    `outer` is the daemon's part (`select_passed_on`), `capacity` what a resourceFieldRef reads where the container sets
    no limit, `rename` is applied to the values of `envFrom` and `env` (see `paddock.node.names`), but not to those of a
    fieldRef: they say who the pod is, not where.
    """
    outermost = {"PATH": DEFAULT_PATH, "HOME": "/root", "PYTHONUNBUFFERED": "1", "HOSTNAME": host_name(pod), **outer}
    own: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        own |= {name: rename(value) for name, value in _read_source(source, configs).items()}
    for entry in container.get("env") or ():
        value = _read_value(entry, pod, container, configs, capacity, own)
        if value is not None:
            own[entry["name"]] = value if "fieldRef" in (entry.get("valueFrom") or {}) else rename(value)
    return {**outermost, **image.environment, **own}, own


def build_arguments(container: Manifest, image: Image, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The program and its arguments: `command` replaces the image's ENTRYPOINT, `args` follow either.

    Raises `NotReady` where there is nothing to start.
    """
    command = tuple(container.get("command") or image.command)
    words = (*command, *(container.get("args") or ()))
    if not words:
        raise NotReady(
            f"no command: the container has neither command nor args, and image {image.name!r} brings none; "
            "set spec.containers[].command",
            "CreateContainerError",
        )
    given = bool(container.get("command"))
    return tuple(
        word if index < len(command) and not given else expand(str(word), variables) for index, word in enumerate(words)
    )


def host_name(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"].get("hostname") or metadata(pod).get("name"))[:63].rstrip("-.")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` by its value, unknown ones left as they are; `$$` is a plain `$`."""

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else variables.get(name, match[0])

    return re.sub(r"\$\$|\$\((?P<name>[^)]*)\)", replaced, text)


def _read_source(source: Manifest, configs: Configs) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field_name, kind in (("configMapRef", "configmap"), ("secretRef", "secret")):
        if (reference := source.get(field_name)) is not None:
            data = read_config(configs, kind, reference.get("name") or "", optional=bool(reference.get("optional")))
            return {prefix + key: value.decode(errors="replace") for key, value in data.items()}
    return {}


def read_config(configs: Configs, kind: str, name: str, *, optional: bool = False) -> dict[str, bytes]:
    """All of a ConfigMap or Secret; empty if it is missing and optional, else `NotReady`."""
    data = configs.data(kind, name)
    if data is None and not optional:
        raise NotReady(f'{kind} "{name}" not found')
    return data or {}


def _read_value(
    entry: Manifest,
    pod: Manifest,
    container: Manifest,
    configs: Configs,
    capacity: Mapping[str, Fraction],
    variables: Mapping[str, str],
) -> str | None:
    origin = entry.get("valueFrom")
    if not origin:
        return expand(str(entry.get("value") or ""), variables)
    if (reference := origin.get("fieldRef")) is not None:
        return read_field(pod, reference.get("fieldPath") or "")
    if (reference := origin.get("resourceFieldRef")) is not None:
        return _read_resource(pod, container, reference, capacity)
    for field_name, kind in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
        if (reference := origin.get(field_name)) is not None:
            return _read_key(configs, kind, reference)
    raise NotReady(
        f"env {entry.get('name')!r}: valueFrom has none of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef"
    )


def _read_key(configs: Configs, kind: str, reference: Manifest) -> str | None:
    name, key, optional = reference.get("name") or "", reference.get("key") or "", bool(reference.get("optional"))
    data = read_config(configs, kind, name, optional=optional)
    if key in data:
        return data[key].decode(errors="replace")
    if optional:
        return None
    title = "ConfigMap" if kind == "configmap" else "Secret"
    raise NotReady(f"couldn't find key {key} in {title} {configs.namespace}/{name}")


def read_field(pod: Manifest, path: str) -> str:
    """A fieldRef of the downward API (core/v1 ObjectFieldSelector)."""
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
        raise NotReady(f"fieldPath {path!r} is not supported; supported are {', '.join(values)} and labels['…']")
    return str(values[path]() or "")


def _lines(values: Mapping[str, str]) -> str:
    """As a downward API volume writes labels: one `key="value"` a line, sorted."""
    escaped = ((key, str(value).replace("\\", "\\\\").replace('"', '\\"')) for key, value in sorted(values.items()))
    return "\n".join(f'{key}="{value}"' for key, value in escaped)


def _addresses(found: Sequence[Manifest] | None) -> str:
    return ",".join(str(item.get("ip")) for item in found or ())


def _read_resource(pod: Manifest, container: Manifest, reference: Manifest, capacity: Mapping[str, Fraction]) -> str:
    """Rounded up to whole divisors. Without a limit it is the node's amount, without a request it is the limit."""
    wanted, _, resource = str(reference.get("resource") or "").partition(".")
    named = reference.get("containerName")
    everyone = (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ()))
    target = next((item for item in everyone if item["name"] == named), container)
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
