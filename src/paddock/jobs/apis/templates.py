"""Validates the fields of a pod template that `jobs.objects.pods` reads, and common mistakes.

Without these checks a pod could not be built. The API server checks the other fields against Kubernetes' schema;
`preflight` does so before a manifest is sent.
"""

from __future__ import annotations

from paddock.kube.validation import pods
from paddock.kube.validation.field_errors import Code
from paddock.manifests.fields import Fields
from paddock.words.phrases import phrase

_AT_LEAST_ONE = phrase("a list with at least one container")


def check_template(role: Fields) -> None:
    """Adds the problems of `template` of a role."""
    if not role.has("template"):
        role.refuse("template", phrase("a pod template with at least one container"))
        return
    template = role.child("template")
    metadata = template.child("metadata")
    metadata.texts("labels")
    metadata.texts("annotations")
    spec = template.child("spec")
    for key in ("hostname", "subdomain", "schedulerName", "dnsPolicy"):
        spec.text(key)
    spec.texts("nodeSelector")
    _check_containers(spec)
    for volume in spec.children("volumes"):
        volume.label("name")


def _check_containers(spec: Fields) -> None:
    containers = spec.children("containers")
    if not containers and not (spec.has("containers") and spec.value["containers"] != []):
        spec.refuse("containers", _AT_LEAST_ONE)
    seen: set[str] = set()
    for container in (*containers, *spec.children("initContainers")):
        _check_container(container)
        for error in pods.check_name(container.value, (), seen):
            if error.code is Code.DUPLICATE:
                container.refuse("name", phrase("a name that no other container of the pod has"), code=error.code)


def _check_container(container: Fields) -> None:
    container.label("name")
    if not container.text("image") and not isinstance(container.value.get("image"), bool | int | float | list | dict):
        container.refuse("image", phrase("the name of an image"))
    container.check_texts("command")
    container.check_texts("args")
    for entry in container.children("env"):
        if not entry.text("name"):
            entry.refuse("name", phrase("the name of an environment variable"))
        entry.text("value")
    container.children("envFrom")
    for port in container.children("ports"):
        port.text("name")
        if port.whole("containerPort", *pods.PORTS) is None and not port.has("containerPort"):
            low, high = pods.PORTS
            port.refuse("containerPort", phrase("a whole number from {low} to {high}", low=low, high=high))
    for mount in container.children("volumeMounts"):
        mount.text("name")
        mount.text("mountPath")
    resources = container.child("resources")
    resources.quantities("requests")
    resources.quantities("limits")
