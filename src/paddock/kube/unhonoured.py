"""Fields and kinds that are stored as in Kubernetes but have no effect on a laptop. Pure; `words.unhonoured` says them.

Without a word a user id would seem to work. The list follows what the node leaves out
(`node.kubelet.kubelet`); a field that the node implements is removed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from paddock.kube.meta import Manifest, Resource, controller_of


class Why(StrEnum):
    """Why a field has no effect."""

    USER = "user"
    """Programs run as the user of the cluster."""
    RIGHTS = "rights"
    """Programs have the rights of that user."""
    AMOUNT = "amount"
    """Nothing limits what programs write."""
    PROCESSES = "processes"
    """Each container has processes of its own, or sees all of the machine."""
    NAMES = "names"
    """Names are looked up as on the machine."""
    QUEUE = "queue"
    """Nobody admits jobs here."""
    TERMINAL = "terminal"
    """Programs of containers have a file for their output, and no terminal."""
    UNKNOWN = ""
    """Nothing more is to be said."""


@dataclass(frozen=True, slots=True)
class Unhonoured:
    """One field without effect."""

    path: str
    """From the root of the object: `spec.containers[0].securityContext.runAsUser`."""
    kind: str
    """The field wherever it stands: `securityContext.runAsUser`."""
    why: Why = Why.UNKNOWN


_IDLE_KINDS: Mapping[tuple[str, str], str] = {
    ("apps", "deployments"): "Deployments are stored and nothing acts on them in this cluster",
}
_MOST = 100
_POD_FIELDS = ("ephemeralContainers", "runtimeClassName", "topologySpreadConstraints")
_AFFINITIES = ("podAffinity", "podAntiAffinity")
_CONTAINER_FIELDS = ("volumeDevices",)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_POD_REASONS = {
    **dict.fromkeys(("hostPID", "hostIPC", "shareProcessNamespace"), Why.PROCESSES),
    "dnsConfig": Why.NAMES,
    "resourceClaims": Why.UNKNOWN,
}
"""More fields of a pod, with why they do nothing."""
_USERS = ("runAsUser", "runAsGroup", "runAsNonRoot", "fsGroup", "fsGroupChangePolicy", "supplementalGroups")
_QUEUE = "kueue.x-k8s.io/queue-name"
_MOST_LEVELS = 6
"""How deep below `spec` a template of pods is looked for."""


def explain_idle(resource: Resource) -> str:
    """A warning about a whole kind on which nothing acts here; '' for any other."""
    return _IDLE_KINDS.get((resource.group, resource.plural), "")


def find_unhonoured(resource: Resource, manifest: Manifest, uid: int) -> tuple[Unhonoured, ...]:
    """Each field of a pod that has no effect here; of an object with templates of pods each kind of field, once.
    `uid`: of the user as whom programs run; what asks for that user is honoured.

    Of a pod with a controller nothing is said: it was said of the controller.
    """
    if (resource.group, resource.plural) != ("", "pods"):
        return (*_find_queue(manifest), *find_in_templates(manifest, uid))
    if controller_of(manifest) is not None:
        return ()
    return tuple(islice(_find_in_pod(manifest.get("spec") or {}, "spec", uid), _MOST))


def _find_queue(manifest: Manifest) -> Iterator[Unhonoured]:
    """Kueue's label of a job: on a cluster it waits in that queue."""
    labels = _mapping(_mapping(manifest.get("metadata")).get("labels"))
    if labels.get(_QUEUE):
        yield Unhonoured(f"metadata.labels[{_QUEUE}]", _QUEUE, Why.QUEUE)


def find_in_templates(manifest: Mapping[str, Any], uid: int) -> tuple[Unhonoured, ...]:
    """Each kind of field that has no effect here, where it stands first in the pod templates of an object."""
    found: dict[str, Unhonoured] = {}
    for path, spec in _find_templates(manifest.get("spec"), "spec", _MOST_LEVELS):
        for each in _find_in_pod(spec, path, uid):
            found.setdefault(each.kind, each)
    return tuple(islice(found.values(), _MOST))


def _find_templates(value: Any, path: str, levels: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The specs of pods in templates, wherever a kind has them: `spec.worker.template`, `spec.tasks[0].template`."""
    if isinstance(value, Mapping):
        spec = value.get("spec")
        if path.endswith(".template") and isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            yield f"{path}.spec", spec
        elif levels:
            for key, inner in value.items():
                yield from _find_templates(inner, f"{path}.{key}", levels - 1)
    elif isinstance(value, list) and levels:
        for index, inner in enumerate(value):
            yield from _find_templates(inner, f"{path}[{index}]", levels - 1)


def _find_in_pod(spec: Mapping[str, Any], path: str, uid: int) -> Iterator[Unhonoured]:
    yield from _given(spec, _POD_FIELDS, path)
    yield from _given(_mapping(spec.get("affinity")), _AFFINITIES, f"{path}.affinity")
    yield from _find_security(spec, path, uid)
    for field, why in _POD_REASONS.items():
        yield from _given(spec, (field,), path, why=why)
    for index, volume in enumerate(_list(spec.get("volumes"))):
        empty, where = _mapping(_mapping(volume).get("emptyDir")), f"{path}.volumes[{index}].emptyDir"
        yield from _given(empty, ("sizeLimit",), where, "emptyDir.", Why.AMOUNT)
    for section in ("initContainers", "containers"):
        for index, container in enumerate(map(_mapping, _list(spec.get(section)))):
            inside = f"{path}.{section}[{index}]"
            yield from _given(container, _CONTAINER_FIELDS, inside)
            yield from _given(container, ("tty",), inside, why=Why.TERMINAL)
            for probe in _PROBES:
                yield from _given(_mapping(container.get(probe)), ("grpc",), f"{inside}.{probe}", f"{probe}.")
            yield from _find_security(container, inside, uid)
            limits = _mapping(_mapping(container.get("resources")).get("limits"))
            yield from _given(
                limits, ("ephemeral-storage",), f"{inside}.resources.limits", "resources.limits.", Why.AMOUNT
            )


def _find_security(holder: Mapping[str, Any], path: str, uid: int) -> Iterator[Unhonoured]:
    context = _mapping(holder.get("securityContext"))
    for field, value in context.items():
        mine = (field == "runAsUser" and value == uid) or (field == "runAsNonRoot" and uid)
        if not mine:
            why = Why.USER if field in _USERS else Why.RIGHTS
            yield from _given(context, (str(field),), f"{path}.securityContext", "securityContext.", why)


def _given(
    holder: Mapping[str, Any], fields: Sequence[str], path: str, kind: str = "", why: Why = Why.UNKNOWN
) -> Iterator[Unhonoured]:
    for field in fields:
        value = holder.get(field)
        # False and empty values ask for nothing, but 0 may: runAsUser 0 is root.
        if value not in (None, "", [], {}) and value is not False:
            yield Unhonoured(f"{path}.{field}", f"{kind}{field}", why)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
