"""Kubernetes' defaults for fields of built-in kinds: the few that programs rely on.

Source: Kubernetes' pkg/apis/core/v1/defaults.go and apps/v1. `objects.builtin_strategies` sets the status of a new
object; custom kinds have their defaults in their schemas. The functions change their argument in place, a copy whose
types `validation` has checked. They are idempotent.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from paddock.apiserver.kinds.custom import build_names
from paddock.kube import rbac
from paddock.kube.meta import Manifest
from paddock.kube.quantities import Quantity, format_quantity, read_quantity

_TOKEN_SECONDS = 3600
_FILE_MODE = 0o644
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def fill(target: Manifest, **values: Any) -> None:
    """Sets the keys that do not exist yet."""
    for name, value in values.items():
        target.setdefault(name, value)


def fill_defaults(group: str, kind: str, manifest: Manifest) -> None:
    """Sets the defaults of a whole object of a built-in kind."""
    filler = _FILLERS.get((group, kind))
    if filler is not None:
        filler(manifest)


def _fill_pod(pod: Manifest) -> None:
    spec = pod.get("spec")
    if spec is None:
        return
    fill_pod_spec(spec)


def fill_pod_spec(spec: Manifest) -> None:
    fill(
        spec,
        restartPolicy="Always",
        dnsPolicy="ClusterFirst",
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
        securityContext={},
        enableServiceLinks=True,
    )
    for container in containers_of(spec):
        _fill_container(container)
    for volume in spec.get("volumes") or ():
        _fill_volume(volume)


def containers_of(spec: Mapping[str, Any]) -> Iterator[Manifest]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _fill_container(container: Manifest) -> None:
    fill(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(container.get("image", "")),
        resources={},
    )
    for section in ("limits", "requests"):
        _write_amounts(container["resources"].get(section) or {})
    limits = container["resources"].get("limits")
    if limits:
        fill(container["resources"].setdefault("requests", {}), **limits)
    for port in container.get("ports") or ():
        fill(port, protocol="TCP")
    for variable in container.get("env") or ():
        if field := (variable.get("valueFrom") or {}).get("fieldRef"):
            fill(field, apiVersion="v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(name)) is not None:
            fill(probe, **_PROBE)
            _fill_handler(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _fill_handler(hook)


def _fill_handler(handler: Manifest) -> None:
    """Of a probe or a hook."""
    if (request := handler.get("httpGet")) is not None:
        fill(request, path="/", scheme="HTTP")


def _write_amounts(amounts: Manifest) -> None:
    """A quantity that was sent as a number is stored as text, as Go's Quantity writes itself."""
    for name, amount in amounts.items():
        if not isinstance(amount, str):
            amounts[name] = format_quantity(read_quantity(amount))


def _pull_policy(image: str) -> str:
    """Always for the tag `latest` and for no tag; IfNotPresent for other tags and for digests."""
    last = image.rsplit("/", 1)[-1]
    tag = last.partition(":")[2]
    return "IfNotPresent" if "@" in last or tag not in ("", "latest") else "Always"


def _fill_volume(volume: Manifest) -> None:
    if not any(source is not None for name, source in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for name in ("configMap", "secret", "projected", "downwardAPI"):
        if (source := volume.get(name)) is not None:
            fill(source, defaultMode=_FILE_MODE)
    for source in (volume.get("projected") or {}).get("sources") or ():
        if (token := source.get("serviceAccountToken")) is not None:
            fill(token, expirationSeconds=_TOKEN_SECONDS)
    if (path := volume.get("hostPath")) is not None:
        fill(path, type="")


def _fill_service(service: Manifest) -> None:
    spec = service.setdefault("spec", {})
    fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        fill(spec, internalTrafficPolicy="Cluster")
    for port in spec.get("ports") or ():
        fill(port, protocol="TCP", targetPort=port.get("port"))


def _fill_secret(secret: Manifest) -> None:
    """Moves `stringData`, which is write-only, into `data`."""
    fill(secret, type="Opaque")
    for key, text in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[key] = base64.b64encode(text.encode(errors="replace")).decode()


def _fill_namespace(namespace: Manifest) -> None:
    if name := namespace["metadata"].get("name"):
        namespace["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name


def _fill_volume_object(volume: Manifest) -> None:
    fill(volume.setdefault("spec", {}), persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")


def _fill_claim(claim: Manifest) -> None:
    fill(claim.setdefault("spec", {}), volumeMode="Filesystem")


def _fill_deployment(deployment: Manifest) -> None:
    spec = deployment.get("spec")
    if spec is None:
        return
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(strategy.setdefault("rollingUpdate", {}), maxSurge="25%", maxUnavailable="25%")
    if (template := spec["template"].get("spec")) is not None:
        fill_pod_spec(template)


def _fill_crd(crd: Manifest) -> None:
    spec = crd.get("spec")
    if spec is None:
        return
    fill(spec, conversion={"strategy": "None"})
    spec["names"] = build_names(spec["names"])


def _fill_role_binding(binding: Manifest) -> None:
    fill(binding["roleRef"], apiGroup=rbac.GROUP)
    for subject in binding.get("subjects") or ():
        if subject["kind"] in ("User", "Group"):
            fill(subject, apiGroup=rbac.GROUP)


def _fill_priority_class(priority: Manifest) -> None:
    fill(priority, preemptionPolicy="PreemptLowerPriority")


def _fill_quota(quota: Manifest) -> None:
    _write_canonical((quota.get("spec") or {}).get("hard") or {})


def _fill_limit_range(limit_range: Manifest) -> None:
    """A default limit of containers is the most that they may have, a default request the limit, else the least."""
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        for section in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            _write_canonical(item.get(section) or {})
        if item["type"] == "Container":
            limits = {**(item.get("max") or {}), **(item.get("default") or {})}
            requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
            item |= {name: found for name, found in (("default", limits), ("defaultRequest", requests)) if found}


def _write_canonical(amounts: Manifest) -> None:
    """Quantities as Go writes them: `1000m` is `1`. One that cannot be read stays, to be refused."""
    for name, amount in amounts.items():
        with suppress(ValueError):
            amounts[name] = str(Quantity.read(amount))


_FILLERS: Mapping[tuple[str, str], Callable[[Manifest], None]] = {
    ("", "Pod"): _fill_pod,
    ("", "Service"): _fill_service,
    ("", "Secret"): _fill_secret,
    ("", "Namespace"): _fill_namespace,
    ("", "PersistentVolume"): _fill_volume_object,
    ("", "PersistentVolumeClaim"): _fill_claim,
    ("apps", "Deployment"): _fill_deployment,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _fill_crd,
    (rbac.GROUP, "RoleBinding"): _fill_role_binding,
    (rbac.GROUP, "ClusterRoleBinding"): _fill_role_binding,
    ("", "ResourceQuota"): _fill_quota,
    ("", "LimitRange"): _fill_limit_range,
    ("scheduling.k8s.io", "PriorityClass"): _fill_priority_class,
}
