"""What a job gets by claims of the cluster, without a registry: the packages of a requirements file, and a working
directory that is too large for a ConfigMap.

`add_claims` looks at files and changes documents, and asks nobody; `cli.submit.filled_claims` fills the claims before
the job is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.app.filled_claims.contents import Content, build_code, build_packages, find_problems
from paddock.app.filled_claims.mounts import find_taken, mount_packages
from paddock.app.filled_claims.reach import count_ranks, is_on_one_node
from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.directory_files import File, Found, find_files
from paddock.cli.submit.directory_map import MOUNT, left_out, mount_directory, name_files, plan_entries
from paddock.cli.submit.secret_files import explain_secrets, is_secret
from paddock.cli.submit.sent_archives import build_digest
from paddock.cli.submit.sent_directories import Directory, choose_directory, send_directory
from paddock.cli.submit.storage import Storage
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.jobs.frameworks.registry import main_container
from paddock.jobs.model import Job
from paddock.kube.meta import namespace_of
from paddock.kube.quantities import format_bytes
from paddock.submission.documents import Checked
from paddock.submission.templates import change_templates
from paddock.words.phrases import Phrase, counted, phrase

LARGEST = 2**30
"""Bytes of a directory: it goes through the API server, and what is larger is data."""
Notify = Callable[[Phrase], None]


@dataclass(frozen=True, slots=True)
class Fill:
    """A claim that must be filled before its job is sent."""

    content: Content
    namespace: str
    each: Checked
    """The job that mounts it."""
    ranks: int
    together: bool
    """Whether the manifest puts them on one node."""
    storage_class: str | None
    is_asked: bool
    """Whether --storage or --storage-class was typed."""
    file: str
    """The requirements file or the directory, as it is printed."""
    directory: Path | None = None
    """The one to send; None for packages."""
    files: tuple[File, ...] = ()


def read_packages(file: Path) -> Requirements:
    """Raises `UserError` with all that is wrong, or that a cluster cannot have."""
    read = read_requirements(str(file))
    if problems := find_problems(read, str(file)):
        raise UserError(*problems, phrase("nothing was submitted"))
    return read


def add_claims(
    checked: Sequence[Checked], named: str | None, packages: Path | None, storage: Storage, notify: Notify
) -> tuple[list[Checked], list[Fill]]:
    """The documents as they are sent, and the claims that their jobs mount. `named`: the value of --workdir;
    `packages`: of -r. Raises `UserError`; sends nothing."""
    documents: list[Checked] = []
    fills: list[Fill] = []
    for each in checked:
        if not each.is_job:
            documents.append(each)
            continue
        if packages is not None:
            each, more = _add_packages(each, packages, storage)
            fills += more
        directory = choose_directory(each, named, notify)
        if directory is None:
            documents.append(each)
            continue
        found = find_files(directory.path)
        _, refusal = plan_entries(found, directory.shown)
        if refusal is None or not found.files:
            documents += send_directory(each, directory, found, notify)
            continue
        each, fill = _add_code(each, directory, found, storage, notify)
        documents.append(each)
        fills.append(fill)
    return documents, fills


def _add_packages(each: Checked, file: Path, storage: Storage) -> tuple[Checked, list[Fill]]:
    assert each.job is not None
    job, read = each.job, read_packages(file)
    fills: dict[str, Fill] = {}

    def change(template: Mapping[str, Any]) -> Mapping[str, Any]:
        containers = template["spec"]["containers"]
        main = main_container(job, containers)
        if taken := find_taken(containers[main], template["spec"].get("volumes") or ()):
            said = phrase("{job}: {field} is where the packages of {file} go: leave one of the two out",
                          job=each.label, field=taken, file=str(file))  # fmt: skip
            raise UserError(said)
        content = build_packages(read, template, containers[main], storage.size)
        fills.setdefault(content.name, _build_fill(each, job, content, storage, str(file)))
        return mount_packages(template, main, content.name)

    changed = each.with_manifest(change_templates(each.manifest, change))
    return changed, list(fills.values())


def _build_fill(each: Checked, job: Job, content: Content, storage: Storage, file: str) -> Fill:
    return Fill(
        content,
        namespace_of(each.manifest),
        each,
        count_ranks(job),
        is_on_one_node(job),
        storage.storage_class,
        storage.is_asked,
        file,
    )


def _add_code(
    each: Checked, directory: Directory, found: Found, storage: Storage, notify: Notify
) -> tuple[Checked, Fill]:
    """The job that starts in a claim of the directory's content, read-only."""
    assert each.job is not None
    size = sum(file.size for file in found.files)
    if size > LARGEST:
        raise UserError(_explain_too_large(found, directory.shown, size))
    secrets: list[str] = []

    def look(file: File, beginning: bytes) -> None:
        if not file.negated_by_name and is_secret(file.path, beginning):
            secrets.append(file.path)

    digest = build_digest(directory.path, found.files, look)
    if secrets:
        raise UserError(explain_secrets(secrets, directory.shown))
    role = next((role for role in each.job.roles if role.replicas), each.job.roles[0])
    containers = role.template["spec"]["containers"]
    about = f"{len(found.files)} files of {directory.path.resolve().name}"
    content = build_code(digest, size, about, role.template, containers[main_container(each.job, containers)])
    notify(_explain_claim(found, directory.shown, size, content.name))
    notify(phrase("the job starts in it, read-only, at {path}", path=MOUNT))
    volume = {"persistentVolumeClaim": {"claimName": content.name}}
    mounted = each.with_manifest(mount_directory(each.manifest, each.job, volume, {"subPath": "content"}))
    fill = Fill(
        content, namespace_of(each.manifest), mounted, count_ranks(each.job), is_on_one_node(each.job),
        storage.storage_class, storage.storage_class is not None, directory.shown, directory.path, found.files,
    )  # fmt: skip
    return mounted, fill


def _explain_claim(found: Found, directory: str, size: int, claim: str) -> Phrase:
    return counted(
        "{count} file, {size}, of {directory} goes by the claim {claim}{left}\n  {names}",
        "{count} files, {size}, of {directory} go by the claim {claim}{left}\n  {names}",
        count=len(found.files), size=format_bytes(size), directory=directory, claim=claim, left=left_out(found),
        names=name_files(found),
    )  # fmt: skip


def _explain_too_large(found: Found, directory: str, size: int) -> Phrase:
    return phrase(
        "{directory} is too large to be sent: {count} files, {size}, and at most {most}: {names}. Put data into a "
        "volume, programs into an image, or list in .gitignore what the program does not need",
        directory=directory, count=len(found.files), size=format_bytes(size), most=format_bytes(LARGEST),
        names=name_files(found),
    )  # fmt: skip
