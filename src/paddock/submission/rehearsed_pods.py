"""The template of a pod as a rehearsal starts it: what it asks of a cluster is taken out, what is not here replaced.
Pure.

A claim, a host's directory or a file server that is not on this machine is a directory of the rehearsal's own, one for
all ranks that mount it, as they share what it stands for. A Secret or a ConfigMap that is not here is left out, as
Kubernetes does with `optional: true`. Names of the job's own pods in commands and variables follow its new name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from paddock.kube.quantities import read_amounts
from paddock.kube.rehearsals import SUFFIX

_POD_FIELDS = (
    "nodeSelector", "nodeName", "affinity", "tolerations", "topologySpreadConstraints", "schedulerName",
    "schedulingGates", "priorityClassName", "priority", "preemptionPolicy", "runtimeClassName", "overhead",
    "resourceClaims", "serviceAccountName", "serviceAccount", "imagePullSecrets",
)  # fmt: skip
_OWN = frozenset({"emptyDir", "configMap", "secret", "downwardAPI", "projected"})
"""Kinds of volumes that are made for a pod, here too."""
_OF_PODS = r"(?=-(?:master|worker|ps|heter|launcher)-[0-9])"
"""What follows the job's name in the names of its pods and Services."""
_LONGEST_OBJECT = 253
_LONGEST_NAME = 200
"""Of the 253 characters of a pod's name; it has the role and the index besides."""


def name_rehearsal(name: str) -> str:
    """`resnet` -> `resnet-rehearsal`. A name that begins others (`generateName`) may end with a dash."""
    return name[:_LONGEST_NAME].rstrip("-.") + SUFFIX


def name_brought(name: str, job: str) -> str:
    """The name of a ConfigMap or Secret of the file of `job`: `conf` -> `conf-resnet-rehearsal`. Two jobs may bring
    different ones of the same name."""
    found = f"{name}-{name_rehearsal(job)}"
    if len(found) <= _LONGEST_OBJECT:
        return found
    digest = hashlib.sha256(f"{name}/{job}".encode()).hexdigest()[:16]
    return f"{name[:_LONGEST_NAME].rstrip('-.')}-{digest}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Here:
    """What this machine and its local cluster have of what a job may name."""

    namespaces: Collection[str] = ()
    claims: Collection[str] = ()
    """In the job's namespace, as what follows but `paths`."""
    secrets: Collection[str] = ()
    config_maps: Collection[str] = ()
    datasets: Collection[str] = ()
    environments: Collection[str] = ()
    """Of the cluster."""
    paths: Collection[str] = ()
    """Of `find_host_paths`, those that exist."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A volume in whose place a directory of the rehearsal's own is mounted."""

    volume: str
    """Its name in the template."""
    what: str
    """`persistentVolumeClaim imagenet`, `nfs 10.0.0.1:/nas`, `hostPath /data`."""
    directory: str
    """Absolute; it is to be made."""
    paths: tuple[str, ...]
    """Where containers have it."""

    def answers_to(self, name: str) -> bool:
        """Whether `name` is that of the volume, or of what it stands for."""
        return name in (self.volume, self.what.partition(" ")[2])


@dataclass(slots=True)
class Draft:
    """What is collected while a manifest is rewritten."""

    here: Here
    brought: frozenset[tuple[str, str]]
    """Kind and name of the ConfigMaps and Secrets of the same file, which have new names."""
    named: Collection[str]
    """Volumes that are replaced though they are here."""
    directory: str
    name: str
    """Of the job as it is written."""
    resources: dict[str, Fraction] = field(default_factory=dict)
    taken_out: dict[str, None] = field(default_factory=dict)
    replaced: dict[str, Replaced] = field(default_factory=dict)
    """By `Replaced.what`."""
    missing: dict[str, None] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)

    def take_out(self, name: str) -> None:
        self.taken_out[name] = None

    def count(self, role: Mapping[str, Any]) -> None:
        """Adds what the pods of a role ask for together."""
        replicas = role.get("replicas", 1)
        for container in _containers(role["template"]["spec"], init=False):
            resources = container.get("resources") or {}
            for name, amount in (
                read_amounts(resources.get("requests")) | read_amounts(resources.get("limits"))
            ).items():
                self.resources[name] = self.resources.get(name, Fraction(0)) + amount * replicas

    def is_away(self, kind: str, name: str) -> bool:
        """Whether a Secret, ConfigMap, Dataset or claim is not here."""
        there = {"Secret": self.here.secrets, "ConfigMap": self.here.config_maps, "Dataset": self.here.datasets,
                 "persistentVolumeClaim": self.here.claims}[kind]  # fmt: skip
        return name not in there

    def replace(self, volume: str, what: str, *paths: str) -> str:
        """The directory in the place of `what`, the same for all that mount it."""
        known = self.replaced.get(what)
        if known is None:
            taken = {each.directory for each in self.replaced.values()}
            names = (volume, *(f"{volume}-{number}" for number in range(2, len(taken) + 3)))
            directory = next(each for name in names if (each := f"{self.directory}/{name}") not in taken)
            known = Replaced(volume, what, directory, ())
        self.replaced[what] = Replaced(
            known.volume, what, known.directory, tuple(dict.fromkeys((*known.paths, *paths)))
        )
        return known.directory

    def mount(self, pod: dict[str, Any], volume: str, directory: str, path: str) -> None:
        """Mounts a directory in all containers of a pod."""
        pod.setdefault("volumes", []).append({"name": volume, "hostPath": {"path": directory, "type": "Directory"}})
        for container in _containers(pod):
            container.setdefault("volumeMounts", []).append({"name": volume, "mountPath": path})


def find_host_paths(pod: Mapping[str, Any]) -> list[str]:
    """The paths of a pod's hostPath volumes."""
    found = (volume.get("hostPath") or {} for volume in pod.get("volumes") or ())
    return [str(each["path"]) for each in found if each.get("path")]


def rewrite_pod(pod: dict[str, Any], draft: Draft, variable: str, value: str) -> None:
    """Changes the spec of a pod. `variable` is set in each container that is no init container."""
    for name in _POD_FIELDS:
        if pod.pop(name, None) not in (None, [], {}, ""):
            draft.take_out(name)
    for volume in pod.get("volumes") or ():
        _replace_volume(volume, pod, draft)
    for container in _containers(pod):
        container.pop("resources", None)
        if image := container.get("image"):
            draft.images[str(image)] = None
        _rename_pods(container, draft.name)
    for container in _containers(pod, init=False):
        others = [entry for entry in container.get("env") or () if entry.get("name") != variable]
        container["env"] = [{"name": variable, "value": value}, *others]
    for kind, reference, key in _find_references(pod):
        _point(kind, reference, key, draft)


def _containers(pod: Mapping[str, Any], *, init: bool = True) -> Iterator[dict[str, Any]]:
    for section in ("initContainers", "containers") if init else ("containers",):
        yield from pod.get(section) or ()


def _replace_volume(volume: dict[str, Any], pod: Mapping[str, Any], draft: Draft) -> None:
    name = str(volume.get("name"))
    kind = next((each for each in volume if each != "name" and volume[each] is not None), "")
    if not kind or kind in _OWN:
        return
    what = f"{kind} {_name_source(kind, volume[kind]) or name}"
    is_named = name in draft.named or what.partition(" ")[2] in draft.named
    if not is_named and _is_here(kind, volume[kind], draft):
        return
    mounts = (mount for container in _containers(pod) for mount in container.get("volumeMounts") or ())
    directory = draft.replace(name, what, *(str(each["mountPath"]) for each in mounts if each.get("name") == name))
    for key in [key for key in volume if key != "name"]:
        del volume[key]
    volume["hostPath"] = {"path": directory, "type": "Directory"}


def _name_source(kind: str, source: Mapping[str, Any]) -> str:
    match kind:
        case "persistentVolumeClaim":
            return str(source.get("claimName") or "")
        case "hostPath":
            return str(source.get("path") or "")
        case "nfs":
            return f"{source.get('server')}:{source.get('path')}"
    return ""


def _is_here(kind: str, source: Mapping[str, Any], draft: Draft) -> bool:
    if kind == "hostPath":
        return source.get("path") in draft.here.paths
    return kind == "persistentVolumeClaim" and not draft.is_away(kind, str(source.get("claimName")))


def _find_references(pod: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each place that names a Secret or a ConfigMap: its kind, the mapping, and the key of the name in it."""
    for container in _containers(pod):
        for entry in container.get("env") or ():
            source = entry.get("valueFrom") or {}
            yield from _named(source, "secretKeyRef", "configMapKeyRef", "name")
        for entry in container.get("envFrom") or ():
            yield from _named(entry, "secretRef", "configMapRef", "name")
    for volume in pod.get("volumes") or ():
        yield from _named(volume, "secret", "", "secretName")
        yield from _named(volume, "", "configMap", "name")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _named(source, "secret", "configMap", "name")


def _named(
    holder: Mapping[str, Any], secret: str, config_map: str, key: str
) -> Iterator[tuple[str, dict[str, Any], str]]:
    for kind, field_name in (("Secret", secret), ("ConfigMap", config_map)):
        if field_name and isinstance(found := holder.get(field_name), dict) and found.get(key):
            yield kind, found, key


def _point(kind: str, reference: dict[str, Any], key: str, draft: Draft) -> None:
    """The reference to what is here: under its new name, or left out."""
    name = str(reference[key])
    if (kind, name) in draft.brought:
        reference[key] = name_brought(name, draft.name)
    elif draft.is_away(kind, name) and not reference.get("optional"):
        reference["optional"] = True
        draft.missing[f"{kind} {name}"] = None


def _rename_pods(container: dict[str, Any], name: str) -> None:
    """`resnet-worker-0` in a command or a variable is `resnet-rehearsal-worker-0`, and its Service too."""
    if not name:
        return
    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}{_OF_PODS}")
    for key in ("command", "args"):
        if isinstance(words := container.get(key), list):
            container[key] = [
                pattern.sub(name_rehearsal(name), word) if isinstance(word, str) else word for word in words
            ]
    for entry in container.get("env") or ():
        if isinstance(entry.get("value"), str):
            entry["value"] = pattern.sub(name_rehearsal(name), entry["value"])
