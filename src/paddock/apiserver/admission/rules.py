"""Validation of built-in kinds beyond their schema. The rules of pods are in `kube.validation.pods`.

Source: Kubernetes' pkg/apis/core/validation; only frequent mistakes, and what the node relies on. Callers have checked
the types and set the defaults before.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from paddock.apiserver.admission import policy_rules
from paddock.apiserver.kinds.custom import explain_crd
from paddock.apiserver.schema import field_errors
from paddock.kube import rbac
from paddock.kube.budget import Budget
from paddock.kube.errors import FieldCause
from paddock.kube.selectors import match_selector
from paddock.kube.validation import names
from paddock.kube.validation.field_errors import Code, FieldError, Key
from paddock.kube.validation.pods import check_pod_spec, check_port

Causes = Iterator[FieldCause]

_DATA_LIMIT = 1024 * 1024
"""Bytes: the sum over all values of a ConfigMap or Secret (MaxSecretSize)."""
SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def check_rules(group: str, kind: str, manifest: Mapping[str, Any], budget: Budget) -> list[FieldCause]:
    """The errors of an object of a built-in kind beyond its schema and metadata, at most `MOST_CAUSES`. Raises
    `Exhausted`."""
    if (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return explain_crd(manifest, budget)
    check = _CHECKS.get((group, kind))
    return list(islice(check(manifest), field_errors.MOST_CAUSES)) if check else []


def _check_pod(pod: Mapping[str, Any]) -> Causes:
    spec = pod.get("spec")
    if spec is None:
        yield field_errors.required("spec.containers")
    else:
        yield from field_errors.explain(check_pod_spec(spec, ("spec",)))


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
        yield from field_errors.explain(check_port(port["port"], (path, "port")))
        if not name and len(ports) > 1:
            yield field_errors.required(f"{path}.name")
        elif name:
            yield from field_errors.explain(names.DNS_LABEL.check(name, (path, "name")))
        if name in seen:
            yield field_errors.duplicate(f"{path}.name", name)
        seen.add(name)


def _check_deployment(deployment: Mapping[str, Any]) -> Causes:
    spec = deployment.get("spec")
    if spec is None:
        yield field_errors.required("spec")
        return
    if spec["replicas"] < 0:
        yield field_errors.explain_error(FieldError(Code.NEGATIVE, ("spec", "replicas"), spec["replicas"]))
    if spec["template"].get("spec") is None:
        yield field_errors.required("spec.template.spec.containers")
    else:
        errors = check_pod_spec(spec["template"]["spec"], ("spec", "template", "spec"))
        yield from field_errors.explain(errors)


def _check_config_map(config_map: Mapping[str, Any]) -> Causes:
    for section in ("data", "binaryData"):
        for key in config_map.get(section) or ():
            yield from field_errors.explain(names.check_config_key(key, (section, Key(key))))
    binary = config_map.get("binaryData") or {}
    yield from _check_base64(binary, "binaryData")
    plain = sum(len(text.encode(errors="replace")) for text in (config_map.get("data") or {}).values())
    if plain + _decoded_size(binary) > _DATA_LIMIT:
        yield field_errors.too_long("data", _DATA_LIMIT)


def _check_secret(secret: Mapping[str, Any]) -> Causes:
    for key in secret.get("data") or ():
        yield from field_errors.explain(names.check_config_key(key, ("data", Key(key))))
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


def _check_role(role: Mapping[str, Any]) -> Causes:
    for index, rule in enumerate(role.get("rules") or ()):
        path, paths = f"rules[{index}]", rule.get("nonResourceURLs")
        if not rule.get("verbs"):
            yield field_errors.required(f"{path}.verbs")
        if paths and (rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames")):
            yield FieldCause(f"{path}.nonResourceURLs", "Invalid value: rules cannot apply to both regular resources"
                             " and non-resource URLs")  # fmt: skip
        elif paths and (role.get("metadata") or {}).get("namespace"):
            yield FieldCause(f"{path}.nonResourceURLs", "Invalid value: namespaced rules cannot apply to non-resource"
                             " URLs")  # fmt: skip
        elif not paths:
            yield from (field_errors.required(f"{path}.{field}") for field in ("apiGroups", "resources")
                        if not rule.get(field))  # fmt: skip


def _check_cluster_role(role: Mapping[str, Any]) -> Causes:
    yield from _check_role(role)
    for index, selector in enumerate((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()):
        try:
            match_selector(selector)({})
        except ValueError as error:
            yield FieldCause(f"aggregationRule.clusterRoleSelectors[{index}]", f"Invalid value: {error}")


def _check_binding(binding: Mapping[str, Any]) -> Causes:
    role, namespaced = binding["roleRef"], bool((binding.get("metadata") or {}).get("namespace"))
    if role.get("apiGroup") != rbac.GROUP:
        yield field_errors.not_supported("roleRef.apiGroup", role.get("apiGroup"), (rbac.GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind") not in kinds:
        yield field_errors.not_supported("roleRef.kind", role.get("kind"), kinds)
    if not role.get("name"):
        yield field_errors.required("roleRef.name")
    for index, subject in enumerate(binding.get("subjects") or ()):
        path, kind = f"subjects[{index}]", subject.get("kind")
        if kind not in ("User", "Group", "ServiceAccount"):
            yield field_errors.not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
            continue
        wanted = "" if kind == "ServiceAccount" else rbac.GROUP
        if (subject.get("apiGroup") or "") != wanted:
            yield field_errors.not_supported(f"{path}.apiGroup", subject.get("apiGroup"), (wanted,))
        if not subject.get("name"):
            yield field_errors.required(f"{path}.name")
        if kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
            yield field_errors.required(f"{path}.namespace")


_CHECKS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Causes]] = {
    ("", "Pod"): _check_pod,
    ("", "Service"): _check_service,
    ("", "ConfigMap"): _check_config_map,
    ("", "Secret"): _check_secret,
    ("apps", "Deployment"): _check_deployment,
    (rbac.GROUP, "Role"): _check_role,
    (rbac.GROUP, "ClusterRole"): _check_cluster_role,
    (rbac.GROUP, "RoleBinding"): _check_binding,
    (rbac.GROUP, "ClusterRoleBinding"): _check_binding,
    **policy_rules.CHECKS,
}
