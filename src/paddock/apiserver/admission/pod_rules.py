"""Rules of a pod's spec that the server alone has: what no program of Paddock writes, and users seldom get wrong.

Source: Kubernetes' pkg/apis/core/validation. `kube.validation.pods` has those that are checked before a submission too.
Callers have checked the types and set the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.kube.errors import FieldCause
from paddock.kube.quantities import read_quantity
from paddock.kube.validation.names import DNS_SUBDOMAIN, check_env_name

Causes = Iterator[FieldCause]

DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OWN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_OWN_PREFIXES = ("hugepages-", "requests.hugepages-")
_LONGEST_PORT_NAME = 15
_SOURCES_OF_NAMES = {"configMap": "name", "secret": "secretName"}
_IN_VOLUMES = ("name",)


def check_pod(spec: Mapping[str, Any], path: str) -> Causes:
    """The errors of a pod's or template's spec at `path`."""
    if (policy := spec.get("dnsPolicy") or "ClusterFirst") not in DNS_POLICIES:
        yield field_errors.not_supported(f"{path}.dnsPolicy", policy, DNS_POLICIES)
    if account := spec.get("serviceAccountName"):
        yield from field_errors.explain(DNS_SUBDOMAIN.check(account, (path, "serviceAccountName")))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _check_toleration(toleration, f"{path}.tolerations[{index}]")
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _check_volume(volume, f"{path}.volumes[{index}]")
    for section in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(section) or ()):
            yield from _check_container(container, f"{path}.{section}[{index}]")


def _check_toleration(toleration: Mapping[str, Any], path: str) -> Causes:
    operator, key, value = toleration.get("operator") or "Equal", toleration.get("key"), toleration.get("value")
    if not key and operator != "Exists":
        yield field_errors.invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    if operator not in ("Equal", "Exists"):
        yield field_errors.not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    elif operator == "Exists" and value:
        yield field_errors.invalid(f"{path}.operator", toleration, "value must be empty when `operator` is 'Exists'")
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        yield field_errors.not_supported(f"{path}.effect", effect, _EFFECTS)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield field_errors.invalid(
            f"{path}.effect", effect or "", "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )


def _check_volume(volume: Mapping[str, Any], path: str) -> Causes:
    sources = [name for name, source in volume.items() if name not in _IN_VOLUMES and source is not None]
    for name in sources[1:]:
        yield field_errors.forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
    for kind, field in _SOURCES_OF_NAMES.items():
        if (source := volume.get(kind)) is not None and not source.get(field):
            yield field_errors.required(f"{path}.{kind}.{field}")


def _check_container(container: Mapping[str, Any], path: str) -> Causes:
    image = container.get("image") or ""
    if image and image != image.strip():
        yield field_errors.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    yield from _check_ports(container.get("ports") or (), f"{path}.ports")
    for index, source in enumerate(container.get("envFrom") or ()):
        yield from _check_env_source(source, f"{path}.envFrom[{index}]")
    yield from _check_resources(container.get("resources") or {}, f"{path}.resources")


def _check_ports(ports: Any, path: str) -> Causes:
    taken: set[str] = set()
    for index, port in enumerate(ports):
        name, where = port.get("name") or "", f"{path}[{index}].name"
        if len(name) > _LONGEST_PORT_NAME:
            yield field_errors.invalid(where, name, f"must be no more than {_LONGEST_PORT_NAME} characters")
        elif name and name in taken:
            yield field_errors.duplicate(where, name)
        taken.add(name)


def _check_env_source(source: Mapping[str, Any], path: str) -> Causes:
    if prefix := source.get("prefix"):
        yield from field_errors.explain(check_env_name(prefix, (path, "prefix")))
    given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
    if len(given) != 1:
        said = "must specify one of: `configMapRef` or `secretRef`" if not given else (
            "may not have more than one field specified at a time"
        )  # fmt: skip
        yield field_errors.invalid(path, "", said)
    for name in given:
        if not source[name].get("name"):
            yield field_errors.required(f"{path}.{name}.name")


def _check_resources(resources: Mapping[str, Any], path: str) -> Causes:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for section, name in chain((("limits", name) for name in limits), (("requests", name) for name in requests)):
        where = f"{path}.{section}[{name}]"
        if "/" not in name and name not in _OWN_RESOURCES and not name.startswith(_OWN_PREFIXES):
            yield field_errors.invalid(where, name, "must be a standard resource for containers")
        elif _is_extended(name) and not _is_whole(resources[section][name]):
            yield field_errors.invalid(where, resources[section][name], "must be an integer")
    for name in requests:
        if _is_extended(name) and name not in limits:
            yield field_errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _is_extended(name: str) -> bool:
    """Whether it is counted in whole pieces, such as `nvidia.com/gpu`."""
    prefix, slash, _ = name.partition("/")
    return bool(slash) and prefix != "kubernetes.io" and not prefix.endswith(".kubernetes.io")


def _is_whole(amount: Any) -> bool:
    """Whether it is a whole number; also of what is no quantity, which another rule reports."""
    try:
        return read_quantity(amount) % 1 == 0
    except ValueError:
        return True
