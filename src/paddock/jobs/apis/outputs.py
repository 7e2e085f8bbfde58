"""The annotation `paddock.dev/outputs` of a job -> the claim for what its runs write. Pure.

A claim of another namespace cannot be named, and a name that no claim can have is refused: a job that wrote its results
nowhere would be worse than none. What follows from it is in `jobs.objects.outputs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.jobs.labels import OUTPUTS_ANNOTATION
from paddock.jobs.mounts import find_mounted
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.manifests.fields import Fields, nearest_label
from paddock.words.phrases import phrase
from paddock.words.sentences import perhaps, quoted, told

OUTPUT_PATH = "/paddock/output"
"""Where the programs of a job have the directory of their run, on a cluster."""


def read_outputs(metadata: Fields, spec: Mapping[str, Any]) -> str:
    """The name of the claim (PersistentVolumeClaim, a DNS subdomain); empty without the annotation, and with one that
    has a problem, which is added to `metadata`. `spec`: that of the whole job, whose containers mount other volumes."""
    annotations = metadata.child("annotations")
    found = annotations.value.get(OUTPUTS_ANNOTATION)
    if not isinstance(found, str) or not found:  # another type is reported with all annotations
        return ""
    if is_readable(found, spec):
        return found
    where = annotations.path_of(OUTPUTS_ANNOTATION)
    if not DNS_SUBDOMAIN.allows(found):
        said = phrase(
            "found {found}, which is no name of a claim (PersistentVolumeClaim) in the job's namespace: at most {most} "
            "of a-z 0-9 - and . are allowed, beginning and ending with a letter or digit{perhaps}",
            found=quoted(found), most=DNS_SUBDOMAIN.longest, perhaps=perhaps(nearest_label(found)),
        )  # fmt: skip
        annotations.add(told(where, said, found))
        return ""
    said = phrase(
        "{path} is where the claim would be mounted, and the job mounts a volume there already ({field}): give that "
        "another path, or leave the annotation out",
        path=OUTPUT_PATH, field=find_mounted(spec)[OUTPUT_PATH],
    )  # fmt: skip
    annotations.add(told(where, said, found))
    return ""


def is_readable(name: object, spec: Mapping[str, Any]) -> bool:
    """Whether a claim of this name can be mounted: an edit that says another one is not followed."""
    return isinstance(name, str) and DNS_SUBDOMAIN.allows(name) and OUTPUT_PATH not in find_mounted(spec)
