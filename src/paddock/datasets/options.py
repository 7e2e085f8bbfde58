"""The options of a Dataset, beside its name and its address: each is declared once, at its field of `Options`. Pure.

From a declaration come the field of the CustomResourceDefinition (`datasets.crd`), the option of `paddock dataset
create`, the input of the console's form, what is checked (`datasets.manifests`, `preflight.datasets`) and what is read
of an object (`datasets.definition`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from paddock.datasets.sources import SECRET_KEYS, Kind
from paddock.words.phrases import Phrase, phrase

Schema = dict[str, Any]

_REVISED = frozenset({Kind.GIT, Kind.HUGGING_FACE, Kind.MODELSCOPE})
_LISTED = frozenset({Kind.S3, Kind.HUGGING_FACE, Kind.MODELSCOPE})


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is said of an option in one place, for all that read it."""

    path: str
    """In the manifest: `spec.source.revision`, `spec.storage.size`."""
    schema: Schema
    """OpenAPI v3, of the CustomResourceDefinition."""
    flag: str
    """Of `paddock dataset create`, with `metavar` and `help`."""
    metavar: str
    help: str
    label: Phrase | None = None
    """Of the input in the console's form; None for what the form does not ask."""
    hint: str = ""
    """What is typed into the input, as an example."""
    about: Phrase | None = None
    """A sentence below the input."""
    kinds: frozenset[Kind] = frozenset(Kind)
    """For which it means something. It is refused for another kind: ignored silently, a checksum would protect
    nothing."""
    addresses: str = ""
    """How the addresses of these kinds begin."""

    @property
    def is_of_source(self) -> bool:
        """Whether it is a field of `spec.source`; the others are of the claim on a cluster."""
        return self.path.startswith("spec.source.")

    @property
    def key(self) -> str:
        """`secretName` of `spec.source.secretName`."""
        return self.path.rpartition(".")[2]

    @property
    def is_list(self) -> bool:
        return self.schema.get("type") == "array"

    def read(self, spec: Mapping[str, Any]) -> Any:
        """The value in the spec of a Dataset; one of a wrong type counts as absent."""
        part = spec.get("source" if self.is_of_source else "storage")
        value = part.get(self.key) if isinstance(part, Mapping) else None
        if self.is_list:
            return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
        return str(value) if isinstance(value, str if "type" in self.schema else str | int) else ""


def text(description: str, **limits: Any) -> Schema:
    """The schema of a text."""
    return {"type": "string", "description": description, **limits}


def texts(description: str, **limits: Any) -> Schema:
    """The schema of a list of texts."""
    return {"type": "array", "description": description, "items": {"type": "string", "minLength": 1}, **limits}


def _declare(path: str, schema: Schema, flag: str, metavar: str, help_: str, /, **more: Any) -> Any:
    declaration = Declaration(path, schema, flag, metavar, help_, **more)
    return field(default=() if declaration.is_list else "", metadata={"declaration": declaration})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be said of a Dataset. What is empty was not said."""

    sha256: str = _declare(
        "spec.source.sha256",
        text("Of a file by http: the checksum that it must have.", pattern=r"^[0-9a-fA-F]{64}$"),
        "--sha256", "H", "The checksum that a file by https must have.",
        label=phrase("Checksum (SHA-256) of a file by https"),
        kinds=frozenset({Kind.HTTP}), addresses="https://",
    )  # fmt: skip
    revision: str = _declare(
        "spec.source.revision",
        text("Of git and hubs: a branch, a tag or a commit. Absent: the default branch.", maxLength=255),
        "--revision", "R", "A branch, tag or commit (git, hubs).",
        label=phrase("Revision of git and hubs: a branch, a tag or a commit"), hint="main",
        kinds=_REVISED, addresses="git+https://, hf://, modelscope://",
    )  # fmt: skip
    endpoint: str = _declare(
        "spec.source.endpoint",
        text(
            "Of s3: the server that speaks it, for OSS, BOS, OBS or MinIO; of a hub: a mirror.",
            pattern=r"^https?://[^\s]+$",
        ),
        "--endpoint", "URL", "The server that speaks S3 (OSS, BOS, OBS, MinIO), or a mirror of a hub.",
        label=phrase("Endpoint of S3 (OSS, BOS, OBS, MinIO), or a hub's mirror"),
        hint="https://oss-cn-hangzhou.aliyuncs.com",
        kinds=_LISTED, addresses="s3://, hf://, modelscope://",
    )  # fmt: skip
    region: str = _declare(
        "spec.source.region",
        text("Of s3: the region, if the server asks for one.", maxLength=63),
        "--region", "R", "The region (s3).",
        label=phrase("Region of S3, if the server asks for one"), hint="cn-hangzhou",
        kinds=frozenset({Kind.S3}), addresses="s3://",
    )  # fmt: skip
    include: tuple[str, ...] = _declare(
        "spec.source.include",
        texts("Of s3 and hubs: patterns of the files to fetch, as *.parquet. Absent: all."),
        "--include", "PATTERN", "Fetch these files alone, as *.parquet (s3, hubs).",
        label=phrase("Only these files of S3 and hubs"), hint="*.parquet, *.json",
        kinds=_LISTED, addresses="s3://, hf://, modelscope://",
    )  # fmt: skip
    exclude: tuple[str, ...] = _declare(
        "spec.source.exclude",
        texts("Of s3 and hubs: patterns of files to leave out."),
        "--exclude", "PATTERN", "Leave these files out (s3, hubs).",
        label=phrase("None of these files"), hint="*.bin",
        kinds=_LISTED, addresses="s3://, hf://, modelscope://",
    )  # fmt: skip
    secret: str = _declare(
        "spec.source.secretName",
        text(
            "A Secret of this namespace: accessKeyID, secretAccessKey and sessionToken (s3); token, or username and "
            "password (http, git); ssh-privatekey and known_hosts (git); token (hubs).",
            maxLength=253,
        ),
        "--secret", "NAME", "A Secret of the namespace: keys, a token, a password.",
        label=phrase("Secret of this namespace, if the source asks who reads it"),
        about=phrase("Its keys: accessKeyID and secretAccessKey for S3; token, or username and password, for https "
                     "and git; ssh-privatekey for git+ssh; token for hubs."),
        kinds=frozenset(SECRET_KEYS), addresses="https://, s3://, git+https://, hf://",
    )  # fmt: skip
    size: str = _declare(
        "spec.storage.size",
        {"description": "Its size; 10Gi if absent.", "x-kubernetes-int-or-string": True,
         "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "--size", "SIZE", "Of the claim on a cluster, as 50Gi.",
        label=phrase("Size of the claim"), hint="10Gi",
    )  # fmt: skip
    storage_class: str = _declare(
        "spec.storage.storageClassName",
        text("Its storage class; the cluster's default if absent.", maxLength=253),
        "--storage-class", "NAME", "Of the claim on a cluster.",
        label=phrase("Storage class of the claim"),
    )  # fmt: skip
    access_modes: tuple[str, ...] = _declare(
        "spec.storage.accessModes",
        texts("ReadWriteMany if absent. With ReadWriteOnce, pods of one node alone can mount it."),
        "--access-mode", "MODE", "Of the claim on a cluster (default: ReadWriteMany).",
    )  # fmt: skip


OPTIONS: Mapping[str, Declaration] = {each.name: each.metadata["declaration"] for each in fields(Options)}
"""By the name of the field, in the order in which they are shown."""


def read_options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `Options` in a spec of any form."""
    return {name: each.read(spec) for name, each in OPTIONS.items()}
