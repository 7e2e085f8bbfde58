"""What a job may be called, in every API group: its name begins the names of its pods and Services.

Those are RFC 1035 labels of at most 63 characters, the index included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paddock.jobs.fields import Fields, nearest_label
from paddock.jobs.model import Role
from paddock.jobs.phrases import phrase
from paddock.jobs.text import quoted, told

_LONGEST_POD_NAME = 63  # it is a label and a host name as well
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_ALLOWED = phrase("a name of a-z 0-9 - that begins with a letter and ends with a letter or digit")
_GENERATED = "xxxxx"  # what the API server appends to generateName has this length


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
    most = _LONGEST_POD_NAME - len(suffix) - (len(name) - len(found))
    if len(found) > most:
        said = phrase(
            "found {found}, a name of at most {most} characters is allowed: "
            'with "{suffix}" it names a pod, in at most 63',
            found=quoted(found),
            most=most,
            suffix=suffix,
        )
        metadata.add(told(metadata.path_of(key), said, found, phrase("a name of at most {most} characters", most=most)))
