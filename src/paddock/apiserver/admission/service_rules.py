"""The rules of a Service.

Source: Kubernetes' pkg/apis/core/validation (ValidateService). Callers have checked the types and set the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.apiserver.schema import field_errors
from paddock.kube.errors import FieldCause
from paddock.kube.validation import names
from paddock.kube.validation.pods import PROTOCOLS, check_port

Causes = Iterator[FieldCause]

SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITIES = ("ClientIP", "None")


def check_service(service: Mapping[str, Any]) -> Causes:
    spec = service["spec"]
    if spec["type"] not in SERVICE_TYPES:
        yield field_errors.not_supported("spec.type", spec["type"], SERVICE_TYPES)
    if (affinity := spec["sessionAffinity"]) not in AFFINITIES:
        yield field_errors.not_supported("spec.sessionAffinity", affinity, AFFINITIES)
    if spec["type"] == "ExternalName":
        yield from _check_external_name(spec)
    yield from field_errors.explain(names.check_labels(spec.get("selector") or {}, ("spec", "selector")))
    yield from _check_ports(spec)


def _check_external_name(spec: Mapping[str, Any]) -> Causes:
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        yield from field_errors.explain(names.DNS_SUBDOMAIN.check(name, ("spec", "externalName")))
    else:
        yield field_errors.required("spec.externalName")


def _check_ports(spec: Mapping[str, Any]) -> Causes:
    ports = spec.get("ports") or ()
    # A headless service may have none: it names pods and forwards nothing.
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        yield field_errors.required("spec.ports")
    taken: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        yield from _check_port(port, path, only=len(ports) == 1, taken=taken)
        number = (port["protocol"], port["port"])
        if number in numbers:
            yield field_errors.duplicate(path, {"protocol": number[0], "port": number[1]})
        numbers.add(number)


def _check_port(port: Mapping[str, Any], path: str, *, only: bool, taken: set[str]) -> Causes:
    name = port.get("name") or ""
    if not name and not only:
        yield field_errors.required(f"{path}.name")
    elif name:
        yield from field_errors.explain(names.DNS_LABEL.check(name, (path, "name")))
    if name and name in taken:
        yield field_errors.duplicate(f"{path}.name", name)
    taken.add(name)
    yield from field_errors.explain(check_port(port["port"], (path, "port")))
    if port["protocol"] not in PROTOCOLS:
        yield field_errors.not_supported(f"{path}.protocol", port["protocol"], sorted(PROTOCOLS))
    target = port.get("targetPort")
    if isinstance(target, int):
        yield from field_errors.explain(check_port(target, (path, "targetPort")))
