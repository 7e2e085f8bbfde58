"""Builds the environment and the arguments of a container's program. Pure.

Order, later wins: defaults (PATH, HOME, …), the image's environment, `envFrom`, `env`. `$(VAR)` is expanded as in
Kubernetes, from `envFrom` and the earlier entries of `env`, not from the image's variables; the shell's `$VAR` is not
expanded. Sources: core/v1 EnvVar and Container, third_party/forked/golang/expansion.

A reference to a missing ConfigMap, Secret, key or field raises `ContainerWaiting` with kubelet's message.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.kube.downward import Expanded, UnknownField, expand, expand_marked, host_name, read_field, read_resource
from paddock.kube.meta import Manifest
from paddock.node.runtime.images import Image
from paddock.node.runtime.pod_state import Obstacle
from paddock.words.phrases import Phrase, phrase

CONFIG_ERROR = "CreateContainerConfigError"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INHERITED = frozenset(
    {"HOME", "USER", "LANG", "TZ", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}
    | {"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
)
"""The variables that pods inherit from the daemon, with LC_*. Pods see no others."""


class ContainerWaiting(Exception):
    """A container cannot start yet; becomes its waiting state."""

    def __init__(self, message: Phrase | str, reason: str = CONFIG_ERROR, notice: str = "") -> None:
        super().__init__(str(message))
        self.obstacle = Obstacle(reason, str(message), notice)


class CannotStart(Exception):
    """A container cannot start, and waiting would not help; its run ends as that of a command that does not exist."""


MakeToken = Callable[[Manifest, str, int], str]
"""A token of a pod's service account, for an audience (empty: the API itself), for so many seconds. Raises `ApiError`
where there is no such account."""


@dataclass(frozen=True, slots=True)
class Configs:
    """The ConfigMaps, Secrets and PersistentVolumeClaims of one namespace, by name."""

    namespace: str = ""
    config_maps: Mapping[str, Manifest] = field(default_factory=dict)
    secrets: Mapping[str, Manifest] = field(default_factory=dict)
    claims: Mapping[str, Manifest] = field(default_factory=dict)
    make_token: MakeToken | None = None

    def data(self, kind: str, name: str) -> dict[str, bytes] | None:
        """The keys and values of a `configmap` or `secret`; None if it does not exist."""
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


def select_inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the daemon's environment that programs inherit."""
    return {name: value for name, value in environment.items() if name in INHERITED or name.startswith("LC_")}


def build_environment(
    pod: Manifest,
    container: Manifest,
    image: Image,
    configs: Configs,
    *,
    inherited: Mapping[str, str],
    capacity: Mapping[str, Fraction],
    rename: Callable[[str], str] = str,
) -> tuple[dict[str, str], dict[str, str]]:
    """The whole environment, and the part of it that `$(VAR)` in command and args can use.

    `inherited` is the daemon's part (`select_inherited`). `capacity` is what a resourceFieldRef reads if the container
    sets no limit. `rename` is applied to the values of `envFrom` and `env` (see `node.runtime.hosts`), but not to a
    fieldRef.
    """
    # Without PYTHONUNBUFFERED, Python holds lines back, and a log shows them late.
    defaults = {"PATH": DEFAULT_PATH, "HOME": "/root", "PYTHONUNBUFFERED": "1", "HOSTNAME": host_name(pod), **inherited}
    defaults |= {"PADDOCK_STACKS": "1"}  # for `environments.stacks.paddock_stacks`
    own: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        own |= {name: rename(value) for name, value in _read_source(source, configs).items()}
    for entry in container.get("env") or ():
        value = _read_value(entry, pod, container, configs, capacity, own)
        if value is not None:
            # A fieldRef tells the pod's identity, not its address.
            own[entry["name"]] = value if "fieldRef" in (entry.get("valueFrom") or {}) else rename(value)
    return {**defaults, **image.environment, **own}, own


def keep_names(words: Sequence[Expanded]) -> tuple[str, ...]:
    """The words as they are."""
    return tuple(word.text for word in words)


def build_arguments(
    container: Manifest,
    image: Image,
    variables: Mapping[str, str],
    rename: Callable[[Sequence[Expanded]], tuple[str, ...]] = keep_names,
) -> tuple[str, ...]:
    """The program and its arguments: `command`, or else the image's ENTRYPOINT, followed by `args`. `rename` is applied
    to all of them together.

    Raises `ContainerWaiting` if both are empty.
    """
    command = tuple(container.get("command") or image.command)
    words = (*command, *(container.get("args") or ()))
    if not words:
        raise ContainerWaiting(
            phrase(
                "no command: the container has neither command nor args, and image {image} brings none; set "
                "spec.containers[].command",
                image=repr(image.name),
            ),
            "CreateContainerError",
        )
    # Kubernetes expands `command` and `args`, not the image's ENTRYPOINT.
    given = bool(container.get("command"))
    return rename(
        [
            Expanded(word) if index < len(command) and not given else expand_marked(str(word), variables)
            for index, word in enumerate(words)
        ]
    )


def _read_source(source: Manifest, configs: Configs) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field_name, kind in (("configMapRef", "configmap"), ("secretRef", "secret")):
        if (reference := source.get(field_name)) is not None:
            data = read_config(configs, kind, reference.get("name") or "", optional=bool(reference.get("optional")))
            return {prefix + key: value.decode(errors="replace") for key, value in data.items()}
    return {}


def read_config(configs: Configs, kind: str, name: str, *, optional: bool = False) -> dict[str, bytes]:
    """The data of a ConfigMap or Secret. If missing: empty when optional, else `ContainerWaiting`."""
    data = configs.data(kind, name)
    if data is None and not optional:
        raise ContainerWaiting(phrase('{kind} "{name}" not found', kind=kind, name=name))
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
        return read_pod_field(pod, reference.get("fieldPath") or "")
    if (reference := origin.get("resourceFieldRef")) is not None:
        return read_resource_field(pod, str(container["name"]), reference, capacity)
    for field_name, kind in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
        if (reference := origin.get(field_name)) is not None:
            return _read_key(configs, kind, reference)
    raise ContainerWaiting(
        phrase(
            "env {name}: valueFrom has none of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef",
            name=repr(entry.get("name")),
        )
    )


def _read_key(configs: Configs, kind: str, reference: Manifest) -> str | None:
    name, key, optional = reference.get("name") or "", reference.get("key") or "", bool(reference.get("optional"))
    data = read_config(configs, kind, name, optional=optional)
    if key in data:
        return data[key].decode(errors="replace")
    if optional:
        return None
    title = "ConfigMap" if kind == "configmap" else "Secret"
    raise ContainerWaiting(
        phrase("couldn't find key {key} in {kind} {name}", key=key, kind=title, name=f"{configs.namespace}/{name}")
    )


def read_pod_field(pod: Manifest, path: str) -> str:
    """The value of a fieldRef; `ContainerWaiting` for a field that cannot be read."""
    try:
        return read_field(pod, path)
    except UnknownField as error:
        raise ContainerWaiting(str(error)) from error


def read_resource_field(pod: Manifest, container: str, reference: Manifest, capacity: Mapping[str, Fraction]) -> str:
    """The value of a resourceFieldRef; `ContainerWaiting` for one that cannot be read."""
    try:
        return read_resource(pod, container, reference, capacity)
    except ValueError as error:
        raise ContainerWaiting(str(error)) from error
