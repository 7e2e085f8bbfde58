"""A job whose pods mount filled claims: the changes of its manifest. Pure.

All of them are visible in the manifest that is sent, so any operator can run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.kube.meta import Manifest
from paddock.submission.templates import change_templates, is_template

MOUNT = "/paddock/packages"
"""Where packages are built they are used, as scripts begin with the path of their Python."""
PACKAGES_VOLUME = "paddock-packages"
ENVIRONMENT = f"{MOUNT}/env"
_READERS = {"PATH": f"{ENVIRONMENT}/bin", "PYTHONPATH": f"{ENVIRONMENT}/packages"}
"""By PATH the job's `python` is that of the environment; by PYTHONPATH a launcher of the image that begins with a
Python of its own (torchrun) finds the packages too."""


def mount_packages(template: Mapping[str, Any], main: int, claim: str) -> Manifest:
    """`main`: the number of the container that trains."""
    spec = template["spec"]
    containers = list(spec["containers"])
    mount = {"name": PACKAGES_VOLUME, "mountPath": MOUNT, "readOnly": True}
    containers[main] = {
        **containers[main], "volumeMounts": [*(containers[main].get("volumeMounts") or ()), mount],
    }  # fmt: skip
    volume = {"name": PACKAGES_VOLUME, "persistentVolumeClaim": {"claimName": claim}}
    return {
        **template,
        "spec": {**spec, "containers": containers, "volumes": [*(spec.get("volumes") or ()), volume]},
    }


def find_claim(template: Mapping[str, Any]) -> str:
    """The claim of packages that a template mounts; empty if there is none."""
    volumes = template["spec"].get("volumes") or ()
    found = (each for each in volumes if each.get("name") == PACKAGES_VOLUME)
    return next((str(each["persistentVolumeClaim"]["claimName"]) for each in found), "")


def list_claims(value: Any) -> set[str]:
    """The claims that the pod templates of a manifest have."""
    if not isinstance(value, Mapping):
        return set()
    if is_template(value):
        volumes = [each for each in value["spec"].get("volumes") or () if isinstance(each, Mapping)]
        return {str((each.get("persistentVolumeClaim") or {}).get("claimName") or "") for each in volumes} - {""}
    return {claim for each in value.values() for claim in list_claims(each)}


def set_search_paths(manifest: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> Manifest:
    """The manifest, whose programs find the packages first. `reports`: of each claim, what its pod told: the paths of
    the image, to which a manifest cannot refer."""

    def change(template: Mapping[str, Any]) -> Mapping[str, Any]:
        report = reports.get(find_claim(template))
        if report is None:
            return template
        containers = [_set_paths(each, report) for each in template["spec"]["containers"]]
        return {**template, "spec": {**template["spec"], "containers": containers}}

    changed: Manifest = change_templates(manifest, change)
    return changed


def _set_paths(container: Mapping[str, Any], report: Mapping[str, Any]) -> Mapping[str, Any]:
    if not any(each.get("name") == PACKAGES_VOLUME for each in container.get("volumeMounts") or ()):
        return container
    env = list(container.get("env") or ())
    for name, ours in _READERS.items():
        place = next((place for place, each in enumerate(env) if each.get("name") == name), None)
        if place is None:
            env.append({"name": name, "value": _join(ours, str(report.get(name.lower()) or ""))})
        elif "valueFrom" not in env[place]:
            env[place] = {"name": name, "value": _join(ours, str(env[place].get("value") or ""))}
    return {**container, "env": env}


def _join(first: str, others: str) -> str:
    # Kubernetes replaces $(NAME) in values
    return f"{first}:{others}" if others else first


def find_taken(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> str:
    """What of a container is in the way of the packages, as a field; empty if nothing is."""
    for place, each in enumerate(container.get("volumeMounts") or ()):
        if str(each.get("mountPath") or "").rstrip("/") == MOUNT:
            return f"volumeMounts[{place}].mountPath {MOUNT}"
    for place, each in enumerate(volumes):
        if each.get("name") == PACKAGES_VOLUME:
            return f"volumes[{place}].name {PACKAGES_VOLUME}"
    for place, each in enumerate(container.get("env") or ()):
        if each.get("name") == "PYTHONPATH" and "valueFrom" in each:
            return f"env[{place}] PYTHONPATH (valueFrom)"
    return ""
