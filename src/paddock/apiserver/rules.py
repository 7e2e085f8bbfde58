"""What must hold inside an object of a built-in kind beyond its schema: pods above all.

Source: Kubernetes' pkg/apis/core/validation. Only what a person gets wrong and what the node relies on is checked. The
types are right by then, and the defaults are filled in.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from paddock.apiserver import field_errors, names
from paddock.apiserver.custom import explain_crd
from paddock.apiserver.volume_rules import check_volumes
from paddock.kube.errors import FieldCause
from paddock.kube.quantities import read_quantity

Causes = Iterator[FieldCause]

RESTART_POLICIES = ("Always", "Never", "OnFailure")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_DATA_LIMIT = 1024 * 1024
"""Bytes of all values of a ConfigMap or Secret together (MaxSecretSize)."""
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def check_rules(group: str, kind: str, manifest: Mapping[str, Any]) -> list[FieldCause]:
    """Everything wrong with an object of a built-in kind beyond its schema and metadata."""
    check = _CHECKS.get((group, kind))
    return list(check(manifest)) if check else []


def _check_pod(pod: Mapping[str, Any]) -> Causes:
    spec = pod.get("spec")
    if spec is None:
        yield field_errors.required("spec.containers")
    else:
        yield from check_pod_spec(spec, "spec")


def check_pod_spec(spec: Mapping[str, Any], path: str) -> Causes:
    """A pod's spec, or that of a template: `path` is where it stands."""
    volumes = spec.get("volumes") or ()
    yield from _check_names(volumes, f"{path}.volumes")
    yield from check_volumes(volumes, f"{path}.volumes")
    if _holds_nul(spec):
        yield from _find_nul(spec, path)
    if not spec.get("containers"):
        yield field_errors.required(f"{path}.containers")
    # Init containers and containers share one list of names.
    seen: set[str] = set()
    known = {str(volume.get("name")) for volume in volumes}
    for section in ("initContainers", "containers"):
        items = spec.get(section) or ()
        yield from _check_names(items, f"{path}.{section}", seen)
        for index, container in enumerate(items):
            yield from _check_container(container, f"{path}.{section}[{index}]", known)
    if spec["restartPolicy"] not in RESTART_POLICIES:
        yield field_errors.not_supported(f"{path}.restartPolicy", spec["restartPolicy"], RESTART_POLICIES)
    if spec["terminationGracePeriodSeconds"] < 0:
        yield _negative(f"{path}.terminationGracePeriodSeconds", spec["terminationGracePeriodSeconds"])
    if (deadline := spec.get("activeDeadlineSeconds")) is not None and deadline < 1:
        yield field_errors.invalid(f"{path}.activeDeadlineSeconds", deadline, "must be greater than 0")
    yield from names.check_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            yield from _sentences(f"{path}.{field}", name, names.explain_label(name))


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(item) for item in value.values())
    return isinstance(value, list) and any(_holds_nul(item) for item in value)


def _find_nul(value: Any, path: str) -> Causes:
    """Kubernetes lets it pass and the container never starts; here the pod is refused with the place."""
    if isinstance(value, str) and "\0" in value:
        yield field_errors.invalid(path, value, "must not contain a NUL character: no program can be given one")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _find_nul(item, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_nul(item, f"{path}[{index}]")


def _check_names(items: Iterable[Mapping[str, Any]], path: str, seen: set[str] | None = None) -> Causes:
    """Names that must be there, be labels, and be there once."""
    seen = set() if seen is None else seen
    for index, item in enumerate(items):
        name, where = item.get("name") or "", f"{path}[{index}].name"
        if not name:
            yield field_errors.required(where)
            continue
        yield from _sentences(where, name, names.explain_label(name))
        if name in seen:
            yield field_errors.duplicate(where, name)
        seen.add(name)


def _check_container(container: Mapping[str, Any], path: str, volumes: set[str]) -> Causes:
    if not container.get("image"):
        yield field_errors.required(f"{path}.image")
    if container["imagePullPolicy"] not in PULL_POLICIES:
        yield field_errors.not_supported(f"{path}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES)
    yield from _check_mounts(container.get("volumeMounts") or (), f"{path}.volumeMounts", volumes)
    for index, port in enumerate(container.get("ports") or ()):
        yield from _check_port(port["containerPort"], f"{path}.ports[{index}].containerPort")
        if port["protocol"] not in PROTOCOLS:
            yield field_errors.not_supported(f"{path}.ports[{index}].protocol", port["protocol"], PROTOCOLS)
    for index, variable in enumerate(container.get("env") or ()):
        yield from _check_variable(variable, f"{path}.env[{index}]")
    yield from _check_resources(container["resources"], f"{path}.resources")


def _check_mounts(mounts: Iterable[Mapping[str, Any]], path: str, volumes: set[str]) -> Causes:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        where = f"{path}[{index}]"
        if mount["name"] not in volumes:
            yield field_errors.missing(f"{where}.name", mount["name"])
        target = mount["mountPath"]
        if not target:
            yield field_errors.required(f"{where}.mountPath")
        elif target in seen:
            yield field_errors.invalid(f"{where}.mountPath", target, "must be unique")
        seen.add(target)
        inner = mount.get("subPath") or ""
        if inner.startswith("/") or ".." in inner.split("/"):
            yield field_errors.invalid(f"{where}.subPath", inner, "must be a relative path without '..'")


def _check_port(port: int, path: str) -> Causes:
    if not 1 <= port <= 65_535:
        yield field_errors.invalid(path, port, "must be between 1 and 65535, inclusive")


def _check_variable(variable: Mapping[str, Any], path: str) -> Causes:
    name = variable["name"]
    if not name:
        yield field_errors.required(f"{path}.name")
    else:
        yield from _sentences(f"{path}.name", name, names.explain_environment_name(name))
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        yield field_errors.invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
    if len(source) != 1:
        detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield field_errors.invalid(f"{path}.valueFrom", "", detail)


def _check_resources(resources: Mapping[str, Any], path: str) -> Causes:
    amounts = {}
    for section in ("limits", "requests"):
        for name, amount in (resources.get(section) or {}).items():
            where = f"{path}.{section}[{name}]"
            try:
                amounts[section, name] = read_quantity(amount)
            except ValueError:
                yield field_errors.invalid(where, amount, "must be a quantity, such as 500m, 2 or 1Gi")
                continue
            if amounts[section, name] < 0:
                yield _negative(where, amount)
    for (section, name), amount in amounts.items():
        limit = amounts.get(("limits", name))
        if section == "requests" and limit is not None and amount > limit:
            found = resources["requests"][name]
            detail = f"must be less than or equal to {name} limit of {resources['limits'][name]}"
            yield field_errors.invalid(f"{path}.requests", found, detail)


def _negative(path: str, value: Any) -> FieldCause:
    return field_errors.invalid(path, value, "must be greater than or equal to 0")


def _sentences(path: str, value: str, sentences: Iterable[str]) -> Causes:
    for sentence in sentences:
        yield field_errors.invalid(path, value, sentence)


def _check_service(service: Mapping[str, Any]) -> Causes:
    spec = service["spec"]
    if spec["type"] not in SERVICE_TYPES:
        yield field_errors.not_supported("spec.type", spec["type"], SERVICE_TYPES)
    ports = spec.get("ports") or ()
    # A headless service may have none: it names pods and forwards nothing.
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        yield field_errors.required("spec.ports")
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name") or ""
        yield from _check_port(port["port"], f"{path}.port")
        if not name and len(ports) > 1:
            yield field_errors.required(f"{path}.name")
        elif name:
            yield from _sentences(f"{path}.name", name, names.explain_label(name))
        if name in seen:
            yield field_errors.duplicate(f"{path}.name", name)
        seen.add(name)


def _check_deployment(deployment: Mapping[str, Any]) -> Causes:
    spec = deployment.get("spec")
    if spec is None:
        yield field_errors.required("spec")
        return
    if spec["replicas"] < 0:
        yield _negative("spec.replicas", spec["replicas"])
    if spec["template"].get("spec") is None:
        yield field_errors.required("spec.template.spec.containers")
    else:
        yield from check_pod_spec(spec["template"]["spec"], "spec.template.spec")


def _check_config_map(config_map: Mapping[str, Any]) -> Causes:
    for section in ("data", "binaryData"):
        for key in config_map.get(section) or ():
            yield from _sentences(f"{section}[{key}]", key, names.explain_config_key(key))
    binary = config_map.get("binaryData") or {}
    yield from _check_base64(binary, "binaryData")
    plain = sum(len(text.encode(errors="replace")) for text in (config_map.get("data") or {}).values())
    if plain + _decoded_size(binary) > _DATA_LIMIT:
        yield field_errors.too_long("data", _DATA_LIMIT)


def _check_secret(secret: Mapping[str, Any]) -> Causes:
    for key in secret.get("data") or ():
        yield from _sentences(f"data[{key}]", key, names.explain_config_key(key))
    data = secret.get("data") or {}
    yield from _check_base64(data, "data")
    if _decoded_size(data) > _DATA_LIMIT:
        yield field_errors.too_long("data", _DATA_LIMIT)


def _decoded_size(data: Mapping[str, str]) -> int:
    return sum(len(text) // 4 * 3 - text[-2:].count("=") for text in data.values())


def _check_base64(data: Mapping[str, str], path: str) -> Causes:
    for key, text in data.items():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            # The value stays out of the message: it may be a password that was not encoded.
            yield FieldCause(f"{path}[{key}]", "Invalid value: must be base64; use stringData for plain text")


def _check_crd(crd: Mapping[str, Any]) -> Causes:
    yield from explain_crd(crd)


_CHECKS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Causes]] = {
    ("", "Pod"): _check_pod,
    ("", "Service"): _check_service,
    ("", "ConfigMap"): _check_config_map,
    ("", "Secret"): _check_secret,
    ("apps", "Deployment"): _check_deployment,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _check_crd,
}
