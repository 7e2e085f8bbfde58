"""The kind Dataset (paddock.dev/v1alpha1): where data comes from, and what of it is there.

Namespaced, as the claims that pods mount are. Another source is fetched as a new dataset would be; `spec.round` fetches
the same source again.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import CRDS, DATASETS, Manifest

Schema = dict[str, Any]


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


def _text(description: str, **limits: Any) -> Schema:
    return {"type": "string", "description": description, **limits}


def _texts(description: str, **limits: Any) -> Schema:
    return {"type": "array", "description": description, "items": {"type": "string", "minLength": 1}, **limits}


def _count(description: str, **limits: Any) -> Schema:
    return {"type": "integer", "format": "int64", "description": description, "minimum": 0, **limits}


_SOURCE = _object(
    "Where the data comes from.",
    ("uri",),
    uri=_text(
        "https://HOST/FILE, s3://BUCKET/PREFIX, git+https://HOST/REPOSITORY.git, git+ssh://…, hf://datasets/NAME, "
        "modelscope://datasets/NAME, file:///DIRECTORY of the machine, or claim://NAME of this namespace.",
        minLength=1,
        maxLength=4096,
        pattern=r"^[A-Za-z0-9+]+://",
    ),
    sha256=_text("Of a file by http: the checksum that it must have.", pattern=r"^[0-9a-fA-F]{64}$"),
    revision=_text("Of git and hubs: a branch, a tag or a commit. Absent: the default branch.", maxLength=255),
    endpoint=_text("Of s3: the server that speaks it, for OSS, BOS, OBS or MinIO; of a hub: a mirror.",
                   pattern=r"^https?://[^\s]+$"),
    region=_text("Of s3: the region, if the server asks for one.", maxLength=63),
    include=_texts("Of s3 and hubs: patterns of the files to fetch, as *.parquet. Absent: all."),
    exclude=_texts("Of s3 and hubs: patterns of files to leave out."),
    secretName=_text(
        "A Secret of this namespace: accessKeyID, secretAccessKey and sessionToken (s3); token, or username and "
        "password (http, git); ssh-privatekey and known_hosts (git); token (hubs).",
        maxLength=253,
    ),
)  # fmt: skip

_SPEC = _object(
    "Where the data comes from, and where it is kept.",
    ("source",),
    source=_SOURCE,
    round=_count("Add 1 to fetch again: what has changed at the source is fetched.", maximum=2**31 - 1),
    storage=_object(
        "The claim that is made for it on a cluster.",
        size={"description": "Its size; 10Gi if absent.", "x-kubernetes-int-or-string": True,
              "anyOf": [{"type": "integer"}, {"type": "string"}]},
        storageClassName=_text("Its storage class; the cluster's default if absent.", maxLength=253),
        accessModes=_texts("ReadWriteMany if absent. With ReadWriteOnce, pods of one node alone can mount it."),
    ),
)  # fmt: skip

_STATUS = _object(
    "What is there.",
    phase=_text("Pending, Fetching, Ready or Failed.", enum=["Pending", "Fetching", "Ready", "Failed"]),
    progress=_count("Per cent of the bytes; of the files where the bytes are not known.", maximum=100),
    message=_text("One sentence: what is being done, what is there, or what failed and what to do."),
    fault=_text("Of a failure: network, machine (both are tried again), or source.",
                enum=["network", "machine", "source"]),
    retries={"type": "boolean", "description": "Whether a failure is tried again without anybody's doing."},
    observedGeneration=_count("The generation of the spec that this status is about."),
    bytesDone=_count("Bytes that are there."),
    bytesTotal=_count("Bytes in all, if the source says."),
    files=_count("Files that are there."),
    filesTotal=_count("Files in all, if the source says."),
    revision=_text("What the source calls this content: a commit, an ETag."),
    round=_count("The round that is there."),
    claim=_text("The PersistentVolumeClaim that pods mount."),
    path=_text("The directory on this machine; on a cluster, empty."),
    fetchedBy=_text("On a cluster: the Job that fetches."),
    finishedAt=_text("When it became ready.", format="date-time"),
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
