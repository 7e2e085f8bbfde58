"""A document of a manifest file as it is sent: with its namespace, its resource, and the job read from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.meta import SECRETS, Key, Manifest, Resource, name_of, namespace_of
from paddock.preflight import KNOWN, Document, without_server_fields


@dataclass(frozen=True, slots=True)
class Checked:
    """A document without errors, with its namespace and resource. `job`: parsed from it once; None for other kinds."""

    file: str
    document: Document
    manifest: Manifest
    resource: Resource
    job: Job | None = None

    @property
    def key(self) -> Key:
        return Key(namespace_of(self.manifest), name_of(self.manifest))

    @property
    def label(self) -> str:
        return f"{self.resource.kind} {self.key}"

    @property
    def is_job(self) -> bool:
        return self.job is not None

    @property
    def is_hidden(self) -> bool:
        """Whether it holds the values of --env-file and --secret: a Secret that stands in no file."""
        return self.resource == SECRETS and not self.document.places

    def with_manifest(self, manifest: Manifest) -> Checked:
        """The same document with another content."""
        return build_checked(self.file, self.document, manifest, self.resource)


def build_checked(file: str, document: Document, manifest: Manifest, resource: Resource) -> Checked:
    """The only place that parses a manifest to be submitted as a job."""
    api = KINDS.get(resource)
    return Checked(file, document, manifest, resource, api.read_job(manifest) if api else None)


def place_document(file: str, document: Document, namespace: str) -> Checked:
    """A document without errors as it is sent. `namespace`: the default."""
    manifest, resource = without_server_fields(document.manifest), find_resource(document.manifest)
    if resource.namespaced and not namespace_of(manifest):
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
    return build_checked(file, document, manifest, resource)


def find_resource(manifest: Mapping[str, Any]) -> Resource:
    """The resource of a manifest whose kind the checks have accepted."""
    wanted = (manifest.get("apiVersion"), manifest.get("kind"))
    return next(each for each in KNOWN if (each.api_version, each.kind) == wanted)
