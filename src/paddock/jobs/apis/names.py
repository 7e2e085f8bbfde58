"""The rules of a job's name, in every API group: the names of its pods begin with it.

Names of pods and custom resources are DNS subdomains of at most 253 characters, a pod's index included. `jobs.names`
shortens the names of Services and the values of labels. An API server accepts names that are too long for a kubelet's
directory of logs; they are accepted here too, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.jobs.model import Role
from paddock.jobs.names import LONGEST_NAME
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.manifests.fields import Fields, nearest_label
from paddock.words.phrases import phrase
from paddock.words.sentences import quoted, told

_NAME_ALLOWED = phrase("a name of a-z 0-9 - ., beginning and ending with a letter or digit, around dots too,")
_GENERATED = "xxxxx"  # what the API server appends to generateName has this length
_LONGEST_OF_LOGS = 255 - len("__") - 36
"""Namespace and pod name together: a kubelet's directory of logs is NAMESPACE_POD_UID, at most 255 bytes (kubernetes
issue 104288)."""


def check_name(metadata: Fields, roles: Sequence[Role]) -> None:
    """Adds the problems of `name`, or of `generateName` in a manifest without a name."""
    key = "name" if metadata.has("name") or not metadata.has("generateName") else "generateName"
    found = metadata.value.get(key)
    if not isinstance(found, str) or not found:
        metadata.refuse(key, _NAME_ALLOWED)
        return
    name = found if key == "name" else found + _GENERATED
    if not DNS_SUBDOMAIN.matches(name):
        metadata.refuse(key, _NAME_ALLOWED, nearest_label(found))
    suffix = max((f"-{role.name}-{role.replicas - 1}" for role in roles if role.replicas), key=len, default="")
    appended = len(suffix) + len(name) - len(found)
    most, most_of_logs = LONGEST_NAME - appended, _LONGEST_OF_LOGS - len(metadata.text("namespace")) - appended
    if len(found) > most:
        said = phrase(
            "found {found}, a name of at most {most} characters is allowed: "
            'with "{suffix}" it names a pod, in at most 253',
            found=quoted(found),
            most=most,
            suffix=suffix,
        )
        metadata.add(told(metadata.path_of(key), said, found, phrase("a name of at most {most} characters", most=most)))
    elif len(found) > most_of_logs:
        said = phrase(
            "on a cluster its pods cannot start: in what a node calls the directory of their logs there is room for "
            "{most} characters of this name",
            most=most_of_logs,
        )
        metadata.warn(key, said)
