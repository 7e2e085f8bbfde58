"""Files -> checked manifests -> objects in the cluster. If one document is wrong, none is created."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.cli.errors import Failed, UserError
from paddock.cli.language import readers_language
from paddock.cli.places import LOCAL, Flags
from paddock.cli.terminal import stderr
from paddock.jobs.phrases import phrase, render
from paddock.jobs.preflight import (
    Document,
    check,
    check_together,
    find_api,
    format_problem,
    read_bytes,
    without_server_fields,
)
from paddock.jobs.substitutions import without
from paddock.kube import meta
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import NODES, Key, Manifest, Resource, name_of, namespace_of
from paddock.kube.quantities import read_amounts

if TYPE_CHECKING:
    from paddock.kube.api import Api

_LARGEST = 8 * 2**20
"""Bytes of a manifest file: more is a wrong file (a checkpoint, a log)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A document without errors, with its namespace filled in, and what the API calls it."""

    file: str
    document: Document
    manifest: Manifest
    resource: Resource

    @property
    def key(self) -> Key:
        return Key(namespace_of(self.manifest), name_of(self.manifest))

    @property
    def label(self) -> str:
        return f"{self.resource.kind} {self.key}"

    @property
    def is_job(self) -> bool:
        return find_api(self.document) is not None


def read_files(files: Sequence[str], namespace: str) -> list[Checked]:
    """Every document of every file, checked. All problems of all files at once as `UserError`; warnings on stderr."""
    checked: list[Checked] = []
    wrong: list[str] = []
    language = readers_language()
    for file in files:
        shown = "stdin" if file == "-" else file
        documents = read_bytes(_read(file))
        for document, twice in zip(documents, check_together(documents), strict=True):
            problems = (*check(document), *([twice] if twice else ()))
            wrong += [format_problem(each, shown, language) for each in problems if each.severity == "error"]
            for each in problems:
                if each.severity != "error":
                    stderr().print(format_problem(each, shown, language))
            if not any(each.severity == "error" for each in problems):
                checked.append(place_document(shown, document, namespace))
    wrong += list(_find_twins(checked))
    if wrong:
        one, more = (
            phrase("1 problem; nothing was submitted"),
            phrase("{count} problems; nothing was submitted", count=len(wrong)),
        )
        raise UserError("\n".join((*wrong, render(one if len(wrong) == 1 else more, language))))
    return checked


def _find_twins(checked: Iterable[Checked]) -> Iterator[str]:
    """What stands twice once the namespace is filled in, or in two files: the server sees it too late."""
    seen: dict[tuple[Resource, Key], Checked] = {}
    for each in checked:
        first = seen.setdefault((each.resource, each.key), each)
        if first is not each and each.key.name:
            place, before = (f"{one.file}:{one.document.line_of('metadata.name')}" for one in (each, first))
            said = phrase("a {kind} of this name stands in {place} already", kind=each.resource.kind, place=before)
            yield f"{place}: metadata.name: {render(said, readers_language())}"


def _read(file: str) -> bytes:
    try:
        data = sys.stdin.buffer.read(_LARGEST + 1) if file == "-" else _read_file(Path(file))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; a manifest in YAML or JSON is wanted") from error
    if len(data) > _LARGEST:
        raise UserError(f"{file}: larger than {_LARGEST >> 20} MiB: this is no manifest")
    return data


def _read_file(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_LARGEST + 1)


def place_document(file: str, document: Document, namespace: str) -> Checked:
    """A document without errors as it is sent; `namespace` is for one that names none."""
    manifest, resource = without_server_fields(document.manifest), find_resource(document.manifest)
    if resource.namespaced and not namespace_of(manifest):
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
    return Checked(file, document, manifest, resource)


def find_resource(manifest: Mapping[str, Any]) -> Resource:
    """The resource of a manifest whose kind the checks have accepted."""
    from paddock.jobs.preflight import KNOWN

    wanted = (manifest.get("apiVersion"), manifest.get("kind"))
    return next(each for each in KNOWN if (each.api_version, each.kind) == wanted)


def read_devices(manifests: Iterable[Manifest]) -> dict[str, Fraction]:
    """How many of each device (extended resource: `nvidia.com/gpu`) a job's pods ask for together."""
    asked: dict[str, Fraction] = {}
    for manifest in manifests:
        api = find_api(Document(manifest))
        for role in api.read_job(manifest).roles if api else ():
            for container in (role.template.get("spec") or {}).get("containers") or ():
                for name, amount in _amounts(container).items():
                    if "/" in name:
                        asked[name] = asked.get(name, Fraction(0)) + amount * role.replicas
    return asked


def _amounts(container: Mapping[str, Any]) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    return read_amounts(resources.get("requests")) | read_amounts(resources.get("limits"))


async def fetch_devices(api: Api) -> set[str]:
    """The devices that any node of the cluster has."""
    return read_offered((await api.list(NODES)).items)


def find_lacking(manifests: Iterable[Manifest], nodes: Iterable[Manifest]) -> list[str]:
    """The devices that the jobs ask for and no node has."""
    there = read_offered(nodes)
    return [name for name in read_devices(manifests) if name not in there]


def read_offered(nodes: Iterable[Manifest]) -> set[str]:
    """What any of the nodes has for pods."""
    return {
        name
        for node in nodes
        for name, amount in read_amounts((node.get("status") or {}).get("allocatable")).items()
        if amount > 0
    }


def drop_devices(checked: Sequence[Checked], devices: Iterable[str]) -> list[Checked]:
    """The same documents without asking for `devices`; what was asked is kept in an annotation of each job."""
    result = list(checked)
    for device in devices:
        result = [
            Checked(each.file, each.document, without(each.manifest, device)[0], each.resource) for each in result
        ]
    return result


async def check_with_server(
    api: Api, checked: Sequence[Checked], *, update: bool = False, flags: Flags = LOCAL
) -> None:
    """Let the server look at every document before any is created (dryRun=All, strict). Raises `UserError`.

    With `update`, what is there already and is no job is brought to the text's state, as a second run needs it.
    """
    wrong: list[str] = []
    for each in sorted(checked, key=lambda each: not each.document.places):  # what is ours, last
        if wrong and not each.document.places:
            break
        try:
            await api.create(each.resource, each.manifest, strict=True, dry_run=True)
        except AlreadyExists:
            if each.is_job or not update:
                wrong.append(f"{each.file}: {each.label} exists already: `{_deletion(each, flags)}` removes it")
        except (Forbidden, Unauthorized):  # of who asks, not of the text (a quota's refusal is of the text)
            raise
        except ApiError as error:
            if error.code >= 500:
                raise
            wrong.append(f"{each.file}:{each.document.line}: {explain_refused(each, error, flags)}")
    if wrong:
        raise UserError("\n".join((*wrong, render(phrase("nothing was submitted"), readers_language()))))


def explain_refused(each: Checked, error: ApiError, flags: Flags) -> str:
    """The server's own words, and for what it does not have what to do about it."""
    if not isinstance(error, NotFound):
        return error.message
    language = readers_language()
    if error.kind == "namespaces" and error.name:
        said = phrase(
            "there is no namespace {name}: `{command}` makes it, -n names another",
            name=error.name, command=f"{flags.kubectl} create namespace {error.name}",
        )  # fmt: skip
        return render(said, language)
    if error.name:
        return error.message
    if each.is_job:
        name = each.resource.qualified
        said = phrase(
            "the cluster serves no {kind} of {version}: `{command}` installs the kind, and the operator takes it with "
            "--kinds={name}",
            kind=each.resource.kind, version=each.resource.api_version, name=name,
            command=f"paddock manifests crd --kinds {name} | {flags.kubectl} apply -f -",
        )  # fmt: skip
        return render(said, language)
    said = phrase(
        "the cluster serves no {kind} of {version}: leave it out, or have it installed (`{command}` shows what there "
        "is)",
        kind=each.resource.kind, version=each.resource.api_version, command=f"{flags.kubectl} api-resources",
    )  # fmt: skip
    return render(said, language)


def _deletion(each: Checked, flags: Flags) -> str:
    where = flags.of(each.key.namespace)
    if each.is_job:
        return f"paddock delete {each.key.name}{where}"
    kubectl = flags.kubectl if flags.options else "kubectl"
    namespace = where.removeprefix(flags.options)
    return f"{kubectl} delete {each.resource.kind.lower()} {each.key.name}{namespace}"


async def create_all(
    api: Api, checked: Sequence[Checked], *, update: bool = False, created: list[Manifest] | None = None
) -> list[Manifest]:
    """Create in the order of the text. What is refused now, after the dry run was accepted, is somebody's race: then
    `created` holds what was made before it."""
    created = [] if created is None else created
    for each in checked:
        try:
            created.append(await _create(api, each, update=update and not each.is_job))
        except ApiError as error:
            done = ", ".join(f"{meta.key_of(other)}" for other in created)
            sentence = f"{each.file}: {error.message}" + (f"; created before it: {done}" if done else "")
            raise (Failed if error.code >= 500 else UserError)(sentence) from error
    return created


async def _create(api: Api, each: Checked, *, update: bool) -> Manifest:
    try:
        return await api.create(each.resource, each.manifest, strict=True)
    except AlreadyExists:
        if not update:
            raise
        return await api.replace(each.resource, each.manifest)
