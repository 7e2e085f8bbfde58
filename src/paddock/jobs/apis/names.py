"""What a job may be called, in every API group: its name begins the names of its pods.

A pod's name is a DNS subdomain of at most 253 characters, the index included, and so is the name of a custom resource.
What has to be shorter, Services and labels, is shortened in `jobs.names`. An API server takes names that no kubelet can
start a pod of; those are taken here too, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.jobs.fields import Fields, nearest_label
from paddock.jobs.model import Role
from paddock.jobs.names import LONGEST_NAME
from paddock.jobs.phrases import phrase
from paddock.jobs.text import quoted, told

_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_PART}(\.{_PART})*")
_NAME_ALLOWED = phrase("a name of a-z 0-9 - ., beginning and ending with a letter or digit, around dots too,")
_TOO_LONG_FOR_A_NODE = (
    "on a cluster its pods cannot start: in what a node calls the directory of their logs there is room for {most} "
    "characters of this name"
)
_GENERATED = "xxxxx"  # what the API server appends to generateName has this length
_ROOM_ON_A_NODE = 255 - len("__") - 36
"""For namespace and pod: a kubelet keeps logs in NAMESPACE_POD_UID, of at most 255 bytes (kubernetes issue 104288)."""


def check_name(metadata: Fields, roles: Sequence[Role]) -> None:
    """Adds the problems of `name`, or of `generateName` where it is the one that counts."""
    key = "name" if metadata.has("name") or not metadata.has("generateName") else "generateName"
    found = metadata.value.get(key)
    if not isinstance(found, str) or not found:
        metadata.refuse(key, _NAME_ALLOWED)
        return
    name = found if key == "name" else found + _GENERATED
    if not _NAME.fullmatch(name):
        metadata.refuse(key, _NAME_ALLOWED, nearest_label(found))
    suffix = max((f"-{role.name}-{role.replicas - 1}" for role in roles if role.replicas), key=len, default="")
    appended = len(suffix) + len(name) - len(found)
    most, room = LONGEST_NAME - appended, _ROOM_ON_A_NODE - len(metadata.text("namespace")) - appended
    if len(found) > most:
        said = phrase(
            "found {found}, a name of at most {most} characters is allowed: "
            'with "{suffix}" it names a pod, in at most 253',
            found=quoted(found),
            most=most,
            suffix=suffix,
        )
        metadata.add(told(metadata.path_of(key), said, found, phrase("a name of at most {most} characters", most=most)))
    elif len(found) > room:
        metadata.warn(key, phrase(_TOO_LONG_FOR_A_NODE, most=room))
