"""The kind Dataset (paddock.dev/v1alpha1): where data comes from, and what of it is there.

Namespaced, as the claims that pods mount are. Another source is fetched as a new dataset would be; `spec.round` fetches
the same source again.
"""

from __future__ import annotations

from typing import Any

from paddock.datasets.options import OPTIONS, Schema, text
from paddock.kube.meta import CRDS, DATASETS, Manifest


def build_crd() -> Manifest:
    """The CustomResourceDefinition, apiextensions.k8s.io/v1."""
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": DATASETS.qualified},
        "spec": {
            "group": DATASETS.group,
            "scope": "Namespaced",
            "names": {
                "kind": DATASETS.kind,
                "listKind": f"{DATASETS.kind}List",
                "plural": DATASETS.plural,
                "singular": "dataset",
            },
            "versions": [
                {
                    "name": DATASETS.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _COLUMNS,
                    "schema": {"openAPIV3Schema": _object("Data that jobs mount, fetched once.", ("spec",),
                                                          spec=_SPEC, status=_STATUS)},
                }
            ],
        },
    }  # fmt: skip


def _object(description: str, required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": properties}
    return schema | {"required": list(required)} if required else schema


def _count(description: str, **limits: Any) -> Schema:
    return {"type": "integer", "format": "int64", "description": description, "minimum": 0, **limits}


def _options(above: str) -> dict[str, Schema]:
    """The fields of options below a path."""
    return {each.key: each.schema for each in OPTIONS.values() if each.path.startswith(above)}


_SOURCE = _object(
    "Where the data comes from.",
    ("uri",),
    uri=text(
        "https://HOST/FILE, s3://BUCKET/PREFIX, git+https://HOST/REPOSITORY.git, git+ssh://…, hf://datasets/NAME, "
        "modelscope://datasets/NAME, file:///DIRECTORY of the machine, or claim://NAME of this namespace.",
        minLength=1,
        maxLength=4096,
        pattern=r"^[A-Za-z0-9+]+://",
    ),
    **_options("spec.source."),
)

_SPEC = _object(
    "Where the data comes from, and where it is kept.",
    ("source",),
    source=_SOURCE,
    round=_count("Add 1 to fetch again: what has changed at the source is fetched.", maximum=2**31 - 1),
    storage=_object(
        "The claim that is made for it on a cluster.",
        **_options("spec.storage."),
    ),
)  # fmt: skip

_STATUS = _object(
    "What is there.",
    phase=text("Pending, Fetching, Ready or Failed.", enum=["Pending", "Fetching", "Ready", "Failed"]),
    progress=_count("Per cent of the bytes; of the files where the bytes are not known.", maximum=100),
    message=text("One sentence: what is being done, what is there, or what failed and what to do."),
    fault=text("Of a failure: network, machine (both are tried again), or source.",
                enum=["network", "machine", "source"]),
    retries={"type": "boolean", "description": "Whether a failure is tried again without anybody's doing."},
    observedGeneration=_count("The generation of the spec that this status is about."),
    bytesDone=_count("Bytes that are there."),
    bytesTotal=_count("Bytes in all, if the source says."),
    files=_count("Files that are there."),
    filesTotal=_count("Files in all, if the source says."),
    revision=text("What the source calls this content: a commit, an ETag."),
    round=_count("The round that is there."),
    claim=text("The PersistentVolumeClaim that pods mount."),
    path=text("The directory on this machine; on a cluster, empty."),
    fetchedBy=text("On a cluster: the Job that fetches."),
    finishedAt=text("When it became ready.", format="date-time"),
    lengthUnknown={
        "type": "boolean",
        "description": "Whether the server did not tell the length of a file without a checksum: it may have been cut.",
    },
)  # fmt: skip

_COLUMNS = [
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Progress", "type": "integer", "jsonPath": ".status.progress", "description": "Per cent."},
    {"name": "Source", "type": "string", "jsonPath": ".spec.source.uri", "priority": 1},
    {"name": "Claim", "type": "string", "jsonPath": ".status.claim", "priority": 1},
    {"name": "Message", "type": "string", "jsonPath": ".status.message", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
