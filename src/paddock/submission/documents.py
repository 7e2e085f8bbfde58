"""A document of a manifest file as it is sent: with its namespace, its resource, and the job read from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.meta import SECRETS, Key, Manifest, Resource, metadata, name_of, namespace_of
from paddock.manifests.nulls import without_nulls
from paddock.preflight import BESIDE_JOBS, Document, without_server_fields


@dataclass(frozen=True, slots=True)
class Checked:
    """A document without errors, as it is sent."""

    file: str
    """The file that it stands in, as it is printed: `stdin`, a path; of a typed command the name of its job."""
    document: Document
    """As it is written. Without `places` for what stands in no file."""
    manifest: Manifest
    """Without fields of the server and, of a job, without nulls; with its namespace."""
    resource: Resource
    job: Job | None = None
    """The job that `manifest` is; None for other kinds."""

    @property
    def key(self) -> Key:
        return Key(namespace_of(self.manifest), name_of(self.manifest))

    @property
    def label(self) -> str:
        """`PaddleJob default/mnist`."""
        return f"{self.resource.kind} {self.key}"

    @property
    def is_job(self) -> bool:
        return self.job is not None

    @property
    def is_hidden(self) -> bool:
        """Whether it holds the values of --env-file and --secret: a Secret that stands in no file."""
        return self.resource == SECRETS and not self.document.places

    @property
    def is_merged(self) -> bool:
        """Whether `paddock run` merges it into what is there: it stands beside a job in its file."""
        return bool(self.document.places and self.key.name) and not self.is_job

    def with_manifest(self, manifest: Manifest) -> Checked:
        """The same document with another content, read anew."""
        return build_checked(self.file, self.document, manifest, self.resource)


def build_checked(file: str, document: Document, manifest: Manifest, resource: Resource) -> Checked:
    """A manifest that nobody has read yet. Raises `InvalidJob`."""
    api = KINDS.get(resource)
    return Checked(file, document, manifest, resource, api.read_job(manifest) if api else None)


def place_document(file: str, document: Document, namespace: str, job: Job | None = None) -> Checked:
    """A document without errors as it is sent. `namespace`: the default; `job`: what `preflight` has read from the
    document, None if it is to be read here. Raises `InvalidJob`, of a document that was not examined."""
    manifest, resource = without_server_fields(document.manifest), find_resource(document.manifest)
    if api := KINDS.get(resource):
        manifest = without_nulls(manifest, api.build_schema())
    if resource.namespaced and not namespace_of(manifest):  # it is the server that wants metadata of other kinds
        manifest = {**manifest, "metadata": {**metadata(manifest), "namespace": namespace}}
    if job is None:
        return build_checked(file, document, manifest, resource)
    return Checked(file, document, manifest, resource, _as_sent(job, namespace_of(manifest)))


def _as_sent(job: Job, namespace: str) -> Job:
    """The job of the same manifest without fields of the server. No other part of a `Job` is read from them."""
    key = Key(namespace, job.key.name)
    return replace(job, key=key, uid="", generation=0, created=None, deleting=False)


def find_resource(manifest: Mapping[str, Any]) -> Resource:
    """The resource of a manifest whose kind is known (`is_known`)."""
    return next(each for each in BESIDE_JOBS if (each.api_version, each.kind) == _kind_of(manifest))


def is_known(manifest: Mapping[str, Any]) -> bool:
    """Whether its kind is one that is sent. Another one beside a job has a warning, and is left out."""
    return any((each.api_version, each.kind) == _kind_of(manifest) for each in BESIDE_JOBS)


def _kind_of(manifest: Mapping[str, Any]) -> tuple[Any, Any]:
    return manifest.get("apiVersion"), manifest.get("kind")
