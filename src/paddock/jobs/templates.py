"""What is wrong with a pod template: everything that `jobs.pods` reads of one, and the mistakes that are easy to make.

This is what must hold so that a pod can be built; the rest of the pod's fields is checked against Kubernetes' schema
by the API server, and before anything is sent by `jobs.preflight`.
"""

from __future__ import annotations

from paddock.jobs.fields import Fields
from paddock.jobs.phrases import phrase

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
        name = container.value.get("name")
        if isinstance(name, str) and name in seen:
            container.refuse("name", phrase("a name that no other container of the pod has"))
        seen.add(str(name))


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
        if port.whole("containerPort", 1, 65535) is None and not port.has("containerPort"):
            port.refuse("containerPort", phrase("a whole number from {low} to {high}", low=1, high=65535))
    for mount in container.children("volumeMounts"):
        mount.text("name")
        mount.text("mountPath")
    resources = container.child("resources")
    resources.quantities("requests")
    resources.quantities("limits")
