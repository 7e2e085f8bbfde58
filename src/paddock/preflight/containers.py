"""Checks of a role's pod template that no schema can make: values that Kubernetes refuses, and likely mistakes.

Each check takes a role and yields problems; `CHECKS` lists them. Kubernetes' own rules are in `kube.validation.pods`;
here they get Paddock's sentences. Types and names of fields are checked before, in `jobs.apis.templates` and
`manifests.structure`; a check here ignores values that those have refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from paddock.environments.packages.devices import SHARED_BY_FRACTION
from paddock.kube.nearness import Nearest
from paddock.kube.quantities import read_quantity
from paddock.kube.validation import downward, names, pods
from paddock.kube.validation.field_errors import Code, FieldError
from paddock.manifests.parts import Part, mapping, mappings
from paddock.preflight.cares import check_probes_and_hooks
from paddock.preflight.ports import check_ports
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import either, format_path, join_path, missing, told, wrong

_IMAGE = re.compile(r"(?!.*//)[a-zA-Z0-9][\w.:/-]*(@sha256:[0-9a-f]+)?")
_MOST_NAMES = 14
"""Of volumes in a sentence."""
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_DEVICE_NAMES = {
    "gpu": "nvidia.com/gpu",
    "gpus": "nvidia.com/gpu",
    "nvidia": "nvidia.com/gpu",
    "npu": "huawei.com/Ascend910",
}
_OLD_GPU = "alpha.kubernetes.io/nvidia-gpu"
"""Arena writes it for a job with `nvidiaPath`."""
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "imagePullPolicy": pods.PULL_POLICIES,
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
_POD_CHOICES = {"dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")}


def check_containers(part: Part, nearest: Nearest) -> Iterator[Problem]:
    """`nearest`: of the `Suggestions` of the whole manifest."""
    for check in CHECKS:
        yield from check(part)
    for suggest in _WITH_SUGGESTIONS:
        yield from suggest(part, nearest)


def check_pod_fields(parts: Iterable[Part], restart: str) -> Iterator[Problem]:
    """Warns of fields that containers and pods have both, where the other one is meant. `restart`: the path of a role's
    restartPolicy below the role."""
    for part in parts:
        for container in part.containers():
            if container.value.get("restartPolicy"):
                said = phrase(
                    "is of init containers: Kubernetes before 1.35 refuses a pod with it; that of the role is {path}",
                    path=f"{part.path}.{restart}",
                )
                yield told(f"{container.path}.restartPolicy", said, severity="warning", about_key=True)
        if mapping(part.spec.get("resources")):
            said = phrase(
                "are the pod's own, which Kubernetes has since 1.34 and a laptop does not read: those of a container "
                "are {path}",
                path=f"{part.spec_path}.containers[0].resources",
            )
            yield told(f"{part.spec_path}.resources", said, severity="warning", about_key=True)


def _check_images(part: Part) -> Iterator[Problem]:
    for container in part.containers("containers", "initContainers"):
        image = container.value.get("image")
        if isinstance(image, str) and image and not _IMAGE.fullmatch(image):
            bare = re.sub(r"^https?://|\s+", "", image)
            near = bare if _IMAGE.fullmatch(bare) else ""
            yield wrong(f"{container.path}.image", image, phrase("a name like registry/name:tag without spaces"), near)


def _check_commands(part: Part) -> Iterator[Problem]:
    """Warns of a command line written as one text: the kubelet would look for a program with spaces in its name."""
    for container in part.containers("containers", "initContainers"):
        command = container.value.get("command")
        first = command[0] if isinstance(command, list) and command else None
        if isinstance(first, str) and " " in first.strip() and "/" not in first.split(" ")[-1][:1]:
            said = phrase(
                "a program of the name {first} is looked for, spaces included; did you mean {words}?",
                first=f'"{first[:60]}"',
                words=_as_list(first),
            )
            yield told(f"{container.path}.command[0]", said, first, severity="warning")


def _as_list(line: str) -> str:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return "[" + ", ".join(f'"{word}"' for word in words[:8]) + (", …]" if len(words) > 8 else "]")


def _check_environment(part: Part) -> Iterator[Problem]:
    for container in part.containers("containers", "initContainers"):
        seen: dict[str, str] = {}
        for path, entry in mappings(container.value.get("env"), f"{container.path}.env"):
            name = entry.get("name")
            if isinstance(name, str):
                if name in seen:
                    said = phrase("{name} is set already, by {other}: the later one wins", name=name, other=seen[name])
                    yield told(f"{path}.name", said, name, severity="warning", code=Code.DUPLICATE)
                seen.setdefault(name, path)
            for error in pods.check_variable(entry, ()):
                if error.code is Code.VALUE_AND_SOURCE:
                    said = phrase("value stands beside it: one of the two is allowed")
                    yield told(format_path(error.path, path), said, about_key=True, code=error.code)


def _check_choices(part: Part, nearest: Nearest) -> Iterator[Problem]:
    for key, options in _POD_CHOICES.items():
        yield from _check_choice(part.spec, key, options, part.spec_path, nearest)
    for container in part.containers("containers", "initContainers"):
        for key, choices in _CHOICES.items():
            yield from _check_choice(container.value, key, choices, container.path, nearest)
        for path, port in mappings(container.value.get("ports"), f"{container.path}.ports"):
            yield from _check_choice(port, "protocol", pods.PROTOCOLS, path, nearest)


def _check_choice(
    value: Mapping[str, Any], key: str, options: tuple[str, ...], path: str, nearest: Nearest
) -> Iterator[Problem]:
    for error in pods.check_choice(value, key, options, ()):
        if error.value:  # empty text is the default, as everywhere in Kubernetes
            near = nearest(error.value, options)
            yield wrong(format_path(error.path, path), error.value, either(options), near, code=error.code)


def _check_volumes(part: Part, nearest: Nearest) -> Iterator[Problem]:
    volumes: list[str] = []
    seen: set[str] = set()
    for path, volume in mappings(part.spec.get("volumes"), f"{part.spec_path}.volumes"):
        for error in pods.check_name(volume, (), seen):
            if error.code is Code.DUPLICATE:
                allowed = phrase("a name that no other volume of the pod has")
                yield wrong(format_path(error.path, path), error.value, allowed, code=error.code)
        volumes.append(str(volume.get("name")))
        sources = [key for key in volume if key != "name"]
        if len(sources) > 1:
            said = phrase("a volume comes from one source alone: {sources}", sources=tuple(sources))
            yield told(path, said, about_key=True)
    for container in part.containers("containers", "initContainers"):
        for error in pods.check_mounts(container.value, (), volumes):
            yield from _explain_mount(error, format_path(error.path, container.path), volumes, part.spec_path, nearest)
        for path, mount in mappings(container.value.get("volumeMounts"), f"{container.path}.volumeMounts"):
            place = mount.get("mountPath")
            if isinstance(place, str) and place and not place.startswith("/"):
                yield wrong(f"{path}.mountPath", place, phrase("a path that begins with /"), f"/{place}")


def _check_told(part: Part, nearest: Nearest) -> Iterator[Problem]:
    """What `env` and the files of volumes are told of the pod. The API refuses it pod by pod, when the job is there."""
    names = [str(each.value.get("name")) for each in part.containers("containers", "initContainers")]
    for container in part.containers("containers", "initContainers"):
        for path, entry in mappings(container.value.get("env"), f"{container.path}.env"):
            source, path = mapping(entry.get("valueFrom")), f"{path}.valueFrom"
            for error in downward.check_env_sources(source, ()):
                yield from _explain_told(error, path, nearest)
            yield from _check_told_container(source, path, names, nearest)
    for path, item in _told_files(part):
        for error in downward.check_file_sources(item, ()):
            yield from _explain_told(error, path, nearest)
        yield from _check_told_container(item, path, names, nearest)


def _check_told_container(
    source: Mapping[str, Any], path: str, names: list[str], nearest: Nearest
) -> Iterator[Problem]:
    """A container that the template lacks may be added to each pod by a webhook."""
    name = mapping(source.get("resourceFieldRef")).get("containerName")
    if isinstance(name, str) and name and name not in names:
        where = f"{path}.resourceFieldRef.containerName"
        yield wrong(where, name, either(names), nearest(name, names), severity="warning")


def _told_files(part: Part) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The files of the downward API, of its own volumes and of projected ones."""
    for path, volume in mappings(part.spec.get("volumes"), f"{part.spec_path}.volumes"):
        yield from mappings(mapping(volume.get("downwardAPI")).get("items"), f"{path}.downwardAPI.items")
        for inside, source in mappings(mapping(volume.get("projected")).get("sources"), f"{path}.projected.sources"):
            yield from mappings(mapping(source.get("downwardAPI")).get("items"), f"{inside}.downwardAPI.items")


def _explain_told(error: FieldError, path: str, nearest: Nearest) -> Iterator[Problem]:
    where = format_path(error.path, path)
    if error.code is Code.NOT_SUPPORTED:
        fields = tuple(error.args["allowed"])
        names = fields if error.path[-1] == "resource" else (*fields, *downward.SUBSCRIPTS)
        yield wrong(where, error.value, either(names), nearest(error.value, fields), code=error.code)
    elif error.code is Code.INVALID_DIVISOR:
        yield wrong(where, error.value, phrase("one of {names}", names=error.args["allowed"]), code=error.code)
    elif error.code is Code.FIELD_AND_RESOURCE:
        yield told(where, phrase("fieldRef stands beside resourceFieldRef: one of the two is allowed"), about_key=True)
    elif error.code is Code.REQUIRED and error.path and error.path[-1] == "containerName":
        yield missing(where, phrase("the name of a container of the pod"))


def _explain_mount(
    error: FieldError, path: str, volumes: list[str], spec_path: str, nearest: Nearest
) -> Iterator[Problem]:
    name, empty = error.value, f"{spec_path}.volumes"
    if error.code is Code.NOT_UNIQUE:
        yield wrong(path, name, phrase("a path where nothing else is mounted"), code=error.code)
    elif error.code is Code.NOT_FOUND and volumes:
        near = nearest(name, volumes) if len(volumes) > 1 else ""
        yield wrong(path, name, _list_volumes(volumes), near, code=error.code)
    elif error.code is Code.NOT_FOUND:
        said = phrase("there is no volume {name}: {path} is empty", name=f'"{name}"', path=empty)
        yield told(path, said, name, code=error.code, lacks=empty)


def _list_volumes(volumes: list[str]) -> Phrase:
    """A list of hundreds, at each of hundreds of mounts, would be megabytes that nobody reads."""
    if len(volumes) <= _MOST_NAMES:
        return either(volumes)
    return phrase("the name of one of the pod's {count} volumes", count=len(volumes))


def _check_resources(part: Part, nearest: Nearest) -> Iterator[Problem]:
    for container in part.containers("containers", "initContainers"):
        requests, limits = container.amounts("requests"), container.amounts("limits")
        path = f"{container.path}.resources"
        for key, amounts in (("requests", requests), ("limits", limits)):
            for name, amount in amounts.items():
                yield from _check_amount(join_path(f"{path}.{key}", str(name)), str(name), amount, nearest)
        for error in pods.check_amounts({"requests": requests, "limits": limits}, ()):
            if error.code is Code.ABOVE_LIMIT:
                here = join_path(format_path(error.path, path), error.args["resource"])
                allowed = phrase("at most the limit, {limit},", limit=str(error.args["limit"]))
                yield wrong(here, error.value, allowed, code=error.code)
        for name, amount in requests.items():
            asked, most = _read(amount), _read(limits.get(name))
            if "/" not in str(name) or asked is None or (most is not None and asked >= most):
                continue
            here = join_path(f"{path}.requests", str(name))
            if most is None:
                said = phrase("devices need a limit: write the same under limits, which is enough alone")
                yield told(here, said, amount, about_key=True)
            else:
                yield wrong(here, amount, phrase("the same as the limit, {limit},", limit=str(limits[name])))


def _check_amount(path: str, name: str, amount: Any, nearest: Nearest) -> Iterator[Problem]:
    number = _read(amount)
    if "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
        near = _DEVICE_NAMES.get(name.casefold()) or nearest(name, _NATIVE)
        said = phrase(
            "there is no resource of this name; there are {names}, and devices like nvidia.com/gpu{perhaps}",
            names=_NATIVE,
            perhaps=phrase('; did you mean "{suggestion}"?', suggestion=near) if near else phrase(""),
        )
        yield told(path, said, name, either(_NATIVE), near, about_key=True)
    elif name == _OLD_GPU:
        said = phrase("was the name before Kubernetes 1.10, and no node has it: write {name}", name="nvidia.com/gpu")
        yield told(path, said, name, "nvidia.com/gpu", "nvidia.com/gpu", about_key=True, severity="warning")
    elif name == SHARED_BY_FRACTION and isinstance(amount, float) and not amount.is_integer():
        advice = phrase("; Huawei's CCE alone takes a fraction, which is written as {text}", text=f'"{amount}"')
        yield wrong(path, amount, phrase("a whole number of devices"), advice=advice)
    elif name == SHARED_BY_FRACTION and number is not None and number.denominator != 1 and number > 0:
        said = phrase(
            "{amount} of a device: Huawei's CCE takes a fraction of {name}; any other Kubernetes refuses the pods",
            amount=str(amount), name=name,
        )  # fmt: skip
        yield told(path, said, amount, severity="warning")
    elif "/" in name and number is not None and number.denominator != 1:
        yield wrong(path, amount, phrase("a whole number of devices"))
    elif name == "memory" and number is not None and 0 < number < 2**20:
        advice = phrase('; did you mean "{amount}Gi"?', amount=str(amount)) if str(amount).isdecimal() else phrase("")
        said = phrase("{amount} is less than 1 MiB, in which nothing trains{advice}", amount=str(amount), advice=advice)
        yield told(path, said, amount, severity="warning")


def _read(amount: Any) -> Any:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return None
    try:
        return read_quantity(amount)
    except ValueError:
        return None


def _check_labels(part: Part) -> Iterator[Problem]:
    metadata = mapping(part.template.get("metadata"))
    for where, path in (
        (mapping(metadata.get("labels")), f"{part.path}.template.metadata.labels"),
        (mapping(part.spec.get("nodeSelector")), f"{part.spec_path}.nodeSelector"),
    ):
        yield from check_labels(where, path)


def check_labels(labels: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for error in names.check_labels(labels, ()):
        key = error.args["key"]
        here = join_path(path, key)
        if error.args["of"] == "key":
            allowed = phrase("a name of at most 63 letters, digits and - _ ., with a domain and / before it at most")
            said = phrase(
                "the name of the label is {name}, {allowed} is allowed", name=f'"{key[:80]}"', allowed=allowed
            )
            yield told(here, said, key, allowed, about_key=True, code=error.code)
        else:
            allowed = phrase("at most 63 letters, digits and - _ ., beginning and ending with a letter or digit,")
            yield wrong(here, error.value, allowed, code=error.code)


CHECKS: tuple[Callable[[Part], Iterator[Problem]], ...] = (
    _check_images,
    _check_commands,
    _check_environment,
    _check_labels,
    check_ports,
)
_WITH_SUGGESTIONS: tuple[Callable[[Part, Nearest], Iterator[Problem]], ...] = (
    _check_choices,
    _check_volumes,
    _check_told,
    _check_resources,
    check_probes_and_hooks,
)
