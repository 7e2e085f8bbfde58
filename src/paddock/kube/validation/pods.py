"""The rules of a pod beyond its schema: names, ports, variables, mounts, amounts, probes and hooks.

Source: Kubernetes' pkg/apis/core/validation; only frequent mistakes, and what a node relies on. The API server calls
`check_pod_spec` with checked types and defaults. `preflight` calls the rules of parts with raw manifests: they
ignore values of a wrong type, which the schema's check reports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from paddock.kube.quantities import read_quantity
from paddock.kube.validation.downward import check_env_sources
from paddock.kube.validation.field_errors import Code, FieldError, Key, Path
from paddock.kube.validation.names import DNS_LABEL, check_env_name, check_labels
from paddock.kube.validation.probes import check_cares
from paddock.kube.validation.volumes import check_volumes

RESTART_POLICIES = ("Always", "Never", "OnFailure")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("TCP", "UDP", "SCTP")
PORTS = (1, 65_535)
DEADLINES = (1, 2**31 - 1)
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")


def check_pod_spec(spec: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """The errors of a pod's or template's spec at `path`."""
    volumes = spec.get("volumes") or ()
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        yield from check_name(volume, (*path, "volumes", index), seen)
    yield from check_volumes(volumes, (*path, "volumes"))
    if _holds_nul(spec):
        yield from _find_nul(spec, path)
    if not spec.get("containers"):
        yield FieldError(Code.REQUIRED, (*path, "containers"))
    # A name must be unique among init containers and containers together.
    taken: set[str] = set()
    for section in ("initContainers", "containers"):
        containers = spec.get(section) or ()
        for index, container in enumerate(containers):
            yield from check_name(container, (*path, section, index), taken)
        for index, container in enumerate(containers):
            yield from _check_container(container, (*path, section, index), seen)
            init, grace = section == "initContainers", spec.get("terminationGracePeriodSeconds")
            yield from check_cares(container, (*path, section, index), init=init, grace=grace)
    yield from check_choice(spec, "restartPolicy", RESTART_POLICIES, path)
    if (grace := spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield FieldError(Code.NEGATIVE, (*path, "terminationGracePeriodSeconds"), grace)
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        yield from _check_range(deadline, (*path, "activeDeadlineSeconds"), DEADLINES)
    yield from check_labels(spec.get("nodeSelector") or {}, (*path, "nodeSelector"))
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            yield from DNS_LABEL.check(name, (*path, field))


def check_name(item: Mapping[str, Any], path: Path, seen: set[str]) -> Iterator[FieldError]:
    """The name of a container or volume: required, a DNS label, and not in `seen`. Adds it to `seen`."""
    name, where = item.get("name") or "", (*path, "name")
    if not name:
        yield FieldError(Code.REQUIRED, where)
    elif isinstance(name, str):
        yield from DNS_LABEL.check(name, where)
        if name in seen:
            yield FieldError(Code.DUPLICATE, where, name)
        seen.add(name)


def check_choice(holder: Mapping[str, Any], field: str, allowed: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    """A field with a fixed set of values. None is allowed, as the default replaces it; an empty string is an error."""
    found = holder.get(field)
    if isinstance(found, str) and found not in allowed:
        yield FieldError(Code.NOT_SUPPORTED, (*path, field), found, {"allowed": allowed})


def _check_container(container: Mapping[str, Any], path: Path, volumes: Collection[str]) -> Iterator[FieldError]:
    if not container.get("image"):
        yield FieldError(Code.REQUIRED, (*path, "image"))
    yield from check_choice(container, "imagePullPolicy", PULL_POLICIES, path)
    yield from check_choice(container, "terminationMessagePolicy", MESSAGE_POLICIES, path)
    yield from check_mounts(container, path, volumes)
    for index, port in enumerate(container.get("ports") or ()):
        where = (*path, "ports", index)
        yield from check_port(port["containerPort"], (*where, "containerPort"))
        yield from check_choice(port, "protocol", PROTOCOLS, where)
    for index, variable in enumerate(container.get("env") or ()):
        yield from check_variable(variable, (*path, "env", index))
    yield from check_amounts(container.get("resources") or {}, (*path, "resources"))


def check_mounts(container: Mapping[str, Any], path: Path, volumes: Collection[str]) -> Iterator[FieldError]:
    """The volume mounts of a container. `volumes`: the names of the pod's volumes."""
    seen: set[str] = set()
    for index, mount in _mappings(container.get("volumeMounts")):
        where = (*path, "volumeMounts", index)
        name, target = mount.get("name"), mount.get("mountPath")
        if isinstance(name, str) and name not in volumes:
            yield FieldError(Code.NOT_FOUND, (*where, "name"), name, {"names": tuple(volumes)})
        if not target:
            yield FieldError(Code.REQUIRED, (*where, "mountPath"))
        elif isinstance(target, str):
            if target in seen:
                yield FieldError(Code.NOT_UNIQUE, (*where, "mountPath"), target)
            seen.add(target)
        for field in ("subPath", "subPathExpr"):
            inner = mount.get(field)
            if isinstance(inner, str) and (inner.startswith("/") or ".." in inner.split("/")):
                yield FieldError(Code.INVALID_SUB_PATH, (*where, field), inner)


def check_port(port: int, path: Path) -> Iterator[FieldError]:
    yield from _check_range(port, path, PORTS)


def _check_range(number: int, path: Path, bounds: tuple[int, int]) -> Iterator[FieldError]:
    low, high = bounds
    if not low <= number <= high:
        yield FieldError(Code.OUT_OF_RANGE, path, number, {"low": low, "high": high})


def check_variable(variable: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """One entry of `env`."""
    name, source = variable.get("name"), variable.get("valueFrom")
    if not name:
        yield FieldError(Code.REQUIRED, (*path, "name"))
    elif isinstance(name, str):
        yield from check_env_name(name, (*path, "name"))
    if source is not None and variable.get("value"):
        yield FieldError(Code.VALUE_AND_SOURCE, (*path, "valueFrom"), "")
    if isinstance(source, Mapping):
        if len(source) != 1:
            yield FieldError(Code.NOT_ONE_SOURCE, (*path, "valueFrom"), "")
        yield from check_env_sources(source, (*path, "valueFrom"))


def check_amounts(resources: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """`limits` and `requests` of a container."""
    amounts = {}
    for section in ("limits", "requests"):
        for name, amount in _mapping(resources.get(section)).items():
            where = (*path, section, Key(name))
            try:
                amounts[section, name] = read_quantity(amount)
            except ValueError:
                yield FieldError(Code.INVALID_QUANTITY, where, amount)
                continue
            if amounts[section, name] < 0:
                yield FieldError(Code.NEGATIVE, where, amount)
    for (section, name), amount in amounts.items():
        limit = amounts.get(("limits", name))
        if section == "requests" and limit is not None and amount > limit:
            args = {"resource": name, "limit": resources["limits"][name]}
            yield FieldError(Code.ABOVE_LIMIT, (*path, "requests"), resources["requests"][name], args)


def _holds_nul(spec: Mapping[str, Any]) -> bool:
    """Whether a string may hold one: JSON has no other way to write it."""
    return b"\\u0000" in msgspec.json.encode(spec)


def _find_nul(value: Any, path: Path) -> Iterator[FieldError]:
    """NUL characters in strings. Kubernetes accepts them and the container never starts; here the pod is refused."""
    if isinstance(value, str) and "\0" in value:
        yield FieldError(Code.NUL_CHARACTER, path, value)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _find_nul(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_nul(item, (*path, index))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    items = value if isinstance(value, list) else ()
    return ((index, item) for index, item in enumerate(items) if isinstance(item, Mapping))
