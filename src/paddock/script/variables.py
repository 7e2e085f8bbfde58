"""Environment variables for the containers that train: values in the manifest, or references to a Secret. Pure.

The values of a Secret appear in no manifest of a job, so neither `get -o yaml`, `describe` nor a record of a run has
them. `mask` is for showing a Secret itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.labels import KIND_LABEL
from paddock.jobs.model import Job
from paddock.kube.meta import SECRETS, Manifest
from paddock.script.secrets import MASK


def build_secret(name: str, namespace: str, kind: str, values: Sequence[tuple[str, str]]) -> Manifest:
    """The Secret. `kind`: the qualified kind of the job; of a variable that is given twice the last value counts."""
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata["labels"] = {"app.kubernetes.io/managed-by": "paddock", KIND_LABEL: kind}
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": metadata,
        "type": "Opaque",
        "stringData": dict(values),
    }


def mask(manifest: Mapping[str, Any]) -> Manifest:
    """A Secret without its values; any other manifest as it is."""
    if (manifest.get("apiVersion"), manifest.get("kind")) != (SECRETS.api_version, SECRETS.kind):
        return dict(manifest)
    hidden = {
        key: dict.fromkeys(value, MASK)
        for key, value in manifest.items()
        if key in ("data", "stringData") and isinstance(value, Mapping)
    }
    return {**manifest, **hidden}


def build_variables(plain: Sequence[tuple[str, str]], secret: str, keys: Sequence[str]) -> list[Manifest]:
    """The entries of `env`. `keys`: the names of variables that the Secret `secret` has; they come last and win."""
    values = dict(plain)
    entries: list[Manifest] = [
        # the kubelet expands $(NAME) in values, and these are meant as they are
        {"name": name, "value": value.replace("$", "$$") if "$(" in value or "$$" in value else value}
        for name, value in values.items()
        if name not in keys
    ]
    references = ({"secretKeyRef": {"name": secret, "key": key}} for key in dict.fromkeys(keys))
    return [*entries, *({"name": each["secretKeyRef"]["key"], "valueFrom": each} for each in references)]


def with_variables(manifest: Mapping[str, Any], job: Job, entries: Sequence[Manifest]) -> Manifest:
    """The manifest of any kind of job with `entries` in the containers that train, in place of entries of these names.
    `job` is what was read of it; the argument is not changed."""
    if not entries:
        return dict(manifest)
    return change_trained(manifest, job, lambda container: _with_entries(container, entries))


def _with_entries(container: Mapping[str, Any], entries: Sequence[Manifest]) -> Manifest:
    names = {entry["name"] for entry in entries}
    kept = [entry for entry in container.get("env") or () if entry.get("name") not in names]
    return {**container, "env": [*kept, *entries]}


def change_trained(
    manifest: Mapping[str, Any], job: Job, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Manifest:
    """The manifest with `change` applied to the container that trains, in each role. Pod templates are found by their
    shape, as their place depends on the API group."""
    result: Manifest = _change(manifest, job, change)
    return result


def _change(value: Any, job: Job, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    spec = value.get("spec")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("containers"), list):
        return {key: _change(item, job, change) for key, item in value.items()}
    containers = list(spec["containers"])
    main = main_container(job, containers)
    containers[main] = dict(change(containers[main]))
    return {**value, "spec": {**spec, "containers": containers}}
