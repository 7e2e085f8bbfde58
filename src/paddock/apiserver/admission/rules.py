"""Validation of built-in kinds beyond their schema. The rules of pods are in `kube.validation.pods`.

Source: Kubernetes' pkg/apis/core/validation; only frequent mistakes, and what the node relies on. Callers have checked
the types and set the defaults before.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from paddock.apiserver.admission import policy_rules
from paddock.apiserver.admission.pod_rules import check_pod
from paddock.apiserver.admission.service_rules import check_service
from paddock.apiserver.kinds.custom import explain_crd
from paddock.apiserver.schema import field_errors
from paddock.kube import rbac
from paddock.kube.budget import Budget
from paddock.kube.errors import FieldCause
from paddock.kube.quantities import read_quantity
from paddock.kube.selectors import match_selector
from paddock.kube.validation import names
from paddock.kube.validation.field_errors import Code, FieldError, Key
from paddock.kube.validation.pods import check_pod_spec

Causes = Iterator[FieldCause]

STRATEGIES = ("Recreate", "RollingUpdate")
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_DATA_LIMIT = 1024 * 1024
"""Bytes: the sum over all values of a ConfigMap or Secret (MaxSecretSize)."""


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
        yield from check_pod(spec, "spec")


def _check_deployment(deployment: Mapping[str, Any]) -> Causes:
    spec = deployment.get("spec")
    if spec is None:
        yield field_errors.required("spec")
        return
    if spec["replicas"] < 0:
        yield field_errors.explain_error(FieldError(Code.NEGATIVE, ("spec", "replicas"), spec["replicas"]))
    if (kind := spec["strategy"]["type"]) not in STRATEGIES:
        yield field_errors.not_supported("spec.strategy", {"type": kind}, STRATEGIES)
    elif kind == "Recreate" and spec["strategy"].get("rollingUpdate") is not None:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        yield field_errors.forbidden("spec.strategy.rollingUpdate", detail)
    yield from _check_deployment_selector(spec)
    template = spec["template"].get("spec")
    if template is None:
        yield field_errors.required("spec.template.spec.containers")
        return
    yield from field_errors.explain(check_pod_spec(template, ("spec", "template", "spec")))
    yield from check_pod(template, "spec.template.spec")
    if (policy := template.get("restartPolicy")) != "Always":
        yield field_errors.not_supported("spec.template.spec.restartPolicy", policy, ("Always",))


def _check_deployment_selector(spec: Mapping[str, Any]) -> Causes:
    selector = spec["selector"]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield field_errors.invalid("spec.selector", selector, "empty selector is invalid for deployment")
        return
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    try:
        fits = match_selector(selector)(labels)
    except ValueError as error:
        yield field_errors.invalid("spec.selector", selector, str(error))
        return
    if not fits:
        detail = "`selector` does not match template `labels`"
        yield field_errors.invalid("spec.template.metadata.labels", labels, detail)


def _check_claim(claim: Mapping[str, Any]) -> Causes:
    spec = claim.get("spec") or {}
    modes = spec.get("accessModes") or ()
    if not modes:
        yield field_errors.required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield field_errors.not_supported("spec.accessModes", mode, ACCESS_MODES)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield field_errors.required("spec.resources[storage]")
        return
    try:
        positive = read_quantity(size) > 0
    except ValueError as error:
        yield field_errors.invalid("spec.resources.requests[storage]", size, str(error))
        return
    if not positive:
        yield field_errors.invalid("spec.resources[storage]", size, "must be greater than zero")


def _check_lease(lease: Mapping[str, Any]) -> Causes:
    spec = lease.get("spec") or {}
    for field, least in (("leaseDurationSeconds", 1), ("leaseTransitions", 0)):
        if (number := spec.get(field)) is not None and number < least:
            detail = "must be greater than 0" if least else "must be greater than or equal to 0"
            yield field_errors.invalid(f"spec.{field}", number, detail)


def _check_config_map(config_map: Mapping[str, Any]) -> Causes:
    for section in ("data", "binaryData"):
        for key in config_map.get(section) or ():
            yield from field_errors.explain(names.check_config_key(key, (section, Key(key))))
    binary = config_map.get("binaryData") or {}
    for key in sorted(set(config_map.get("data") or ()) & set(binary)):
        yield field_errors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
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
    yield from _check_secret_type(secret, data)


_KEYS_OF_TYPES: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def _check_secret_type(secret: Mapping[str, Any], data: Mapping[str, str]) -> Causes:
    """What a Secret of a known type has."""
    kind = secret.get("type") or ""
    for key in _KEYS_OF_TYPES.get(kind, ()):
        if key not in data:
            yield field_errors.required(f"data[{key}]")
        elif key.startswith(".docker"):
            yield from _check_json(data[key], f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        yield field_errors.required("data[username]")
        yield field_errors.required("data[password]")
    annotations = (secret.get("metadata") or {}).get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield field_errors.required(f"metadata.annotations[{_ACCOUNT}]")


def _check_json(text: str, path: str) -> Causes:
    try:
        json.loads(base64.b64decode(text))
    except (ValueError, RecursionError):
        # The value stays out of the message: it is a password.
        yield FieldCause(path, 'Invalid value: "<secret contents redacted>": it is not JSON')


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
    ("", "Service"): check_service,
    ("", "PersistentVolumeClaim"): _check_claim,
    ("", "ConfigMap"): _check_config_map,
    ("", "Secret"): _check_secret,
    ("apps", "Deployment"): _check_deployment,
    ("coordination.k8s.io", "Lease"): _check_lease,
    (rbac.GROUP, "Role"): _check_role,
    (rbac.GROUP, "ClusterRole"): _check_cluster_role,
    (rbac.GROUP, "RoleBinding"): _check_binding,
    (rbac.GROUP, "ClusterRoleBinding"): _check_binding,
    **policy_rules.CHECKS,
}
