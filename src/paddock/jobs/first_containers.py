"""Containers of Paddock's that run before the one that trains, in its image and as its user. Pure.

`jobs.objects.outputs` makes the directories of a run in a claim, `jobs.frameworks.paddle_servers` waits for parameter
servers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from paddock.kube.meta import Manifest

_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""Those that the first container asks for too: a quota wants them of each container, and a pod is given the larger of
what its first containers and its others ask for, so they cost nothing. Devices are left to the programs."""
_PRIVILEGED = ("privileged", "procMount")


def build_first(
    name: str, trained: Mapping[str, Any], others: Collection[Mapping[str, Any]], command: Sequence[str]
) -> Manifest:
    """`trained`: the container that trains; `others`: all containers of the template, of which one may have the name.
    What the command prints last is in the pod's status if it fails."""
    resources = {
        section: chosen
        for section, amounts in (trained.get("resources") or {}).items()
        if section in ("requests", "limits") and (chosen := {key: amounts[key] for key in _RESOURCES if key in amounts})
    }
    return {
        "name": find_free(name, others),
        "image": trained.get("image"),
        **({"imagePullPolicy": trained["imagePullPolicy"]} if trained.get("imagePullPolicy") else {}),
        "command": list(command),
        "workingDir": "/",
        **({"resources": resources} if resources else {}),
        **({"securityContext": context} if (context := _lower(trained.get("securityContext") or {})) else {}),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _lower(context: Mapping[str, Any]) -> dict[str, Any]:
    """The user, groups and limits of the container that trains, without what it may do beyond other containers."""
    kept = {key: value for key, value in context.items() if key not in _PRIVILEGED}
    capabilities = {key: value for key, value in (context.get("capabilities") or {}).items() if key != "add"}
    kept.pop("capabilities", None)
    return {**kept, **({"capabilities": capabilities} if capabilities else {})}


def find_free(name: str, taken: Collection[Any]) -> str:
    """The template may have a volume or a container of the same name."""
    names, number, found = {str(each.get("name")) for each in taken}, 1, name
    while found in names:
        number += 1
        found = f"{name}-{number}"
    return found
