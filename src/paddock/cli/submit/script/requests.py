"""A typed command and its options -> the checked documents of its job, as `cli.submit.manifest_files` has a file's.

Reads files and the environment of the shell, and creates nothing. What is built of them is decided in `script`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.home import UNSANDBOXED, read_running
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.language import readers_language
from paddock.cli.output.paths import shorten_path
from paddock.cli.submit.job_datasets import read_data
from paddock.cli.submit.script.files import Machine, check_script
from paddock.cli.submit.script.imports import find_hiding, read_contents
from paddock.cli.submit.script.named_packages import explain_refused, find_beside, read_named_modules
from paddock.cli.submit.script.options import ScriptOptions
from paddock.cli.submit.script.own_environments import explain_taken, explain_two, explain_unused, find_manager
from paddock.cli.submit.script.sources import Sources
from paddock.cli.submit.script.variables import explain_open_secrets, read_hidden, read_plain
from paddock.environments.needed import Needed
from paddock.history.notes import Note, explain_tags, read_note, write_annotations
from paddock.jobs.labels import FRAMEWORK_ANNOTATION, OUTPUTS_ANNOTATION, REQUIREMENTS_ANNOTATION, RESUME_ANNOTATION
from paddock.jobs.model import Job
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.environments import ENVIRONMENT_ANNOTATION
from paddock.kube.errors import NotFound
from paddock.kube.held_pods import HOLD_ANNOTATION, write_hold
from paddock.kube.meta import SECRETS, Manifest, annotations_of, labels_of
from paddock.launches.containers import find_script
from paddock.launches.launch import Launch
from paddock.launches.reading import find_main, read_typed
from paddock.preflight import Document, check, explain_problem
from paddock.preflight.command_words import explain_typed
from paddock.script import plain_job
from paddock.script.arguments import explain_no_place, with_arguments
from paddock.script.behind import explain_behind
from paddock.script.contents import Contents
from paddock.script.hiding import explain_hiding
from paddock.script.kinds import NONE, choose_framework, explain_other_launcher, find_kind
from paddock.script.manifest import build_command, build_manifest, find_name
from paddock.script.names import build_secret_name
from paddock.script.pytorch_job import needs_variables
from paddock.script.queues import with_priority, with_queue
from paddock.script.request import ScriptRequest
from paddock.script.shell_variables import explain_left
from paddock.script.told_launchers import explain_inside, explain_unset
from paddock.script.variables import build_secret, build_variables, with_variables
from paddock.submission.documents import Checked, build_checked, find_resource
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.kube.api import Api

Notify = Callable[[Phrase], None]


def read_request(
    words: Sequence[str],
    options: ScriptOptions,
    place: ClusterChoice,
    environ: Mapping[str, str],
    notify: Notify,
    *,
    may_lack: bool = False,
    sources: Sources | None = None,
) -> ScriptRequest:
    """The request, checked. `may_lack`: whether a program that is not on this machine is said and not refused, as it
    may be in the image; `sources`: files of the program that were read before. Raises `UserError`."""
    sources = sources or Sources()
    if not words:
        raise UserError(phrase("a command is wanted behind `--`, as in `paddock run -- python train.py --lr 0.1`"))
    for word in words:
        _check_word(word)
    local = place.home is not None
    if not local:
        _refuse_local_options(options)
    directory = find_directory(options.workdir)
    _refuse_quoted(words, directory)
    launch = find_main(read_typed(words))
    program = launch.program
    requirements = options.requirements_path
    beside = find_beside(program.script, directory) if options.requirements is None else None
    taken = beside if local and options.image is None else None
    refused = explain_refused(taken) if taken else None
    taken = None if refused else taken
    own_environment = requirements or taken or not local
    machine = Machine(directory, None if own_environment else environ.get("PATH", os.defpath), _hides_tmp(place),
                      (place.home.cache,) if place.home is not None else (), may_lack, sources.read)  # fmt: skip
    check_script(words, machine, servers=bool(options.servers), notify=notify)
    if local and directory == Path("/") and not os.path.isabs(program.script or "/"):  # noqa: PTH117 - a word as typed
        raise UserError(
            phrase("programs do not start in /: call paddock in a directory of its own, or name one by --workdir")
        )
    named = read_named_modules(requirements or beside, None if requirements else directory)
    contents = read_contents(words, directory, named, sources)
    framework = find_framework(launch, contents, options, notify)
    for said in explain_hiding(program.script or program.name, contents.imports, find_hiding(program, directory)):
        notify(said)
    manager = find_manager(contents.launches)
    if manager and requirements:
        notify(explain_two(manager))
    elif local and not manager and requirements is None and options.image is None:
        is_needed = framework != NONE.framework or bool(contents.imports & contents.requirements)
        requirements = taken if is_needed else None
        unused = [refused] if refused and is_needed else explain_unused(words, framework, directory, environ)
        for said in [explain_taken(shorten_path(str(requirements)))] if requirements else unused:
            notify(said)
    if options.shares is not None and (options.gpus or 1) > 1:
        raise UserError(
            phrase("--share-gpu: a rank that shares a GPU asks for one, and --gpus {count} for several: leave one out",
                   count=options.gpus or 1)
        )  # fmt: skip
    # on a cluster they go into a claim or a registry, over the packages of the image (`cli.submit.ways_of_sending`)
    needed = Needed(requirements, framework, bool(options.servers)) if requirements and local else None
    request = ScriptRequest(
        words=tuple(words),
        framework=framework,
        imports=contents.imports,
        alone=contents.alone,
        rank_variables=framework != "pytorch" or (options.workers or 1) > 1 or needs_variables(contents),
        name=options.name or "",
        namespace=options.namespace,
        workers=options.workers or 1,
        servers=options.servers or 0,
        gpus=options.gpus or (1 if options.shares else 0),
        cpus=options.cpus or "",
        memory=options.memory or "",
        queue=options.queue or "",
        priority=options.priority or "",
        shares=options.shares or 0,
        restarts=options.restarts or 0,
        end_wait=ceil(options.end_wait) if options.end_wait is not None else None,
        hold=options.hold,
        mounts=read_data({}, options.data),
        resume=options.resume,
        outputs=options.outputs or "",
        note=Note(options.note, options.tags),
        keeps_pods=not local,
        image=options.image or (plain_job.IMAGE if manager and not needed else ""),
        environment=needed.name if needed else "",
        requirements=str(requirements) if needed else "",
        directory=str(directory) if local and directory != Path("/") else "",
        variables=tuple(read_plain(options.env, environ)),
        secrets=tuple(read_hidden(options.env_files, options.secrets, environ)),
    )
    if problems := list(find_kind(request).explain_refused(request)):
        raise UserError(*problems)
    for said in explain_typed(words, options.gpus or 0, options.workers or 1):
        notify(phrase("warning: {said}", said=said))
    for said in (
        *find_kind(request).explain_workers(request, contents.launches), *explain_unset(request),
        *explain_inside(request, contents.launches), *explain_behind(request, contents.launches),
        *explain_open_secrets(options.env, environ),
        *explain_left(request, contents, environ),
    ):  # fmt: skip
        notify(said)
    return request


def find_framework(launch: Launch, contents: Contents, options: ScriptOptions, notify: Notify) -> str:
    """The framework of a typed command: --framework, else what the command and its files tell. Raises `UserError`."""
    if options.framework is not None:
        if problem := explain_other_launcher(launch, options.framework):
            raise UserError(problem)
        return options.framework
    choice = choose_framework(launch, contents)
    if options.servers and choice.framework == "none":
        return "paddle"  # whose alone parameter servers are
    # where the image is named, what it has does not depend on the framework
    if choice.doubt is not None and not (contents.unread and options.image):
        notify(choice.doubt)
    return choice.framework


def _check_word(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        shown = word.encode(errors="surrogateescape").decode(errors="replace")
        raise UserError(
            phrase("{word} is not a text in UTF-8, and a manifest can hold nothing else", word=shown)
        ) from None


def _refuse_local_options(options: ScriptOptions) -> None:
    if options.image is None:
        raise UserError(phrase("a cluster pulls images: name one with --image"))


def find_directory(workdir: str | None) -> Path:
    """The directory in which the programs start, absolute. Raises `UserError`."""
    try:
        directory = Path.cwd() if workdir is None else Path(workdir).resolve()
    except FileNotFoundError:
        raise UserError(phrase("the current directory does not exist any more: `cd` to another one")) from None
    _check_word(str(directory))
    return directory


def _hides_tmp(place: ClusterChoice) -> bool:
    """Whether pods have a /tmp of their own; assumed of a cluster that is not up yet."""
    running = read_running(place.home) if place.home is not None else None
    return place.home is not None and (running is None or running.sandbox != UNSANDBOXED)


def build_documents(request: ScriptRequest) -> list[Checked]:
    """The Secret, if there is one, and the job. Raises `UserError` with the problems of the manifest."""
    manifest = build_manifest(replace(request, requirements="") if request.environment else request)
    problems = [each for each in check(Document(manifest)) if each.severity == "error"]
    options = find_kind(request).options
    if problems:
        language = readers_language()
        raise UserError(
            *(
                phrase(
                    "{option}: {problem}",
                    option=options.get(each.path, "paddock run"),
                    problem=explain_problem(each, language),
                )
                for each in problems
            )
        )
    label = find_name(request)
    job = build_checked(label, Document(manifest), manifest, find_resource(manifest))
    return [*_build_secret(job, request.secrets), job]


def _build_secret(job: Checked, secrets: Sequence[tuple[str, str]]) -> list[Checked]:
    if not secrets:
        return []
    secret = build_secret(build_secret_name(job.key.name), job.key.namespace, job.resource.qualified, secrets)
    return [Checked(job.file, Document(secret), secret, SECRETS)]


def _refuse_quoted(words: Sequence[str], directory: Path) -> None:
    """A whole line of a shell in quotes, as other tools take it: no program is called so."""
    if len(words) == 1 and len(words[0].split()) > 1 and not os.path.exists(directory / words[0]):  # noqa: PTH110
        raise UserError(
            phrase(
                "{word} is one word, and no program is called so: leave the quotes out, or have a shell read it: "
                "`{command}`",
                word=shlex.quote(words[0]), command=shlex.join(["paddock", "run", "--", "bash", "-c", words[0]]),
            )
        )  # fmt: skip


def change_job(
    checked: Sequence[Checked], words: Sequence[str], options: ScriptOptions, environ: Mapping[str, str]
) -> list[Checked]:
    """The documents of a file, with what follows `--`, variables, --queue, --priority, --data, --resume, --outputs and
    --hold for its one job. Raises `UserError`."""
    for word in words:
        _check_word(word)
    plain, hidden = read_plain(options.env, environ), read_hidden(options.env_files, options.secrets, environ)
    place, job = next((place, each) for place, each in enumerate(checked) if each.is_job)
    assert job.job is not None
    if words and (why := explain_no_place(job.job)):
        raise UserError(phrase("{option}: {problem}", option=job.file, problem=why))
    if hidden and not job.key.name:
        raise UserError(
            phrase("{file}: --env-file and --secret need a job with a name, not with generateName", file=job.file)
        )
    manifest = with_priority(with_queue(job.manifest, options.queue or ""), options.priority or "")
    manifest = with_arguments(manifest, job.job, words)
    entries = build_variables(plain, build_secret_name(job.key.name), [key for key, _ in hidden])
    manifest = with_variables(manifest, job.job, entries)
    if options.data:
        manifest = _annotate(manifest, MOUNTS_ANNOTATION, read_data(manifest, options.data))
    if options.resume:
        manifest = _annotate(manifest, RESUME_ANNOTATION, options.resume)
    if options.outputs:
        manifest = _annotate(manifest, OUTPUTS_ANNOTATION, options.outputs)
    if options.hold is not None:
        manifest = _annotate(manifest, HOLD_ANNOTATION, write_hold(options.hold))
    manifest = _with_note(manifest, Note(options.note, options.tags))
    changed = job.with_manifest(manifest) if manifest != job.manifest else job
    return [*checked[:place], *_build_secret(job, hidden), changed, *checked[place + 1 :]]


def _annotate(manifest: Manifest, name: str, value: str) -> Manifest:
    metadata = {**manifest["metadata"], "annotations": {**annotations_of(manifest), name: value}}
    return {**manifest, "metadata": metadata}


def _with_note(manifest: Manifest, note: Note) -> Manifest:
    """The job with a note in the place of its own, and with more tags. Raises `UserError`."""
    own = read_note(annotations_of(manifest))
    joined = Note(note.text or own.text, tuple(dict.fromkeys((*own.tags, *note.tags))))
    if (wrong := explain_tags(joined.tags)) is not None:
        raise UserError(phrase("{option}: {problem}", option="--tag", problem=wrong))
    written = write_annotations(joined) if note != Note() else {}
    for name, value in written.items():
        manifest = _annotate(manifest, name, value) if value else manifest
    return manifest


def with_note(checked: Sequence[Checked], note: Note) -> list[Checked]:
    """The documents, with --tag and --note for each job among them. Raises `UserError`."""
    if note != Note() and not any(each.is_job for each in checked):
        option = "--tag" if note.tags else "--note"
        raise UserError(phrase("{option} is for jobs, and there is none here: leave it out", option=option))
    return [each.with_manifest(_with_note(each.manifest, note)) if each.is_job and note != Note() else each
            for each in checked]  # fmt: skip


def with_hold(checked: Sequence[Checked], seconds: int | None) -> list[Checked]:
    """The documents, with --hold for each job among them. Raises `UserError`."""
    if seconds is None:
        return list(checked)
    if not any(each.is_job for each in checked):
        raise UserError(phrase("--hold is for jobs, and there is none here: leave it out"))
    return [_with_hold(each, write_hold(seconds)) if each.is_job else each for each in checked]


def with_place(checked: Sequence[Checked], queue: str, priority: str) -> list[Checked]:
    """The documents, with --queue and --priority for each job among them. Raises `UserError`."""
    named = [option for option, name in (("--queue", queue), ("--priority", priority)) if name]
    if named and not any(each.is_job for each in checked):
        raise UserError(phrase("{option} is for jobs, and there is none here: leave it out", option=named[0]))
    return [
        each.with_manifest(with_priority(with_queue(each.manifest, queue), priority)) if each.is_job and named else each
        for each in checked
    ]


def _with_hold(each: Checked, value: str) -> Checked:
    return each.with_manifest(_annotate(each.manifest, HOLD_ANNOTATION, value))


def with_environment(each: Checked, needed: Needed) -> Checked:
    """The job in the environment of a requirements file."""
    return each.with_manifest(_annotate(each.manifest, ENVIRONMENT_ANNOTATION, needed.name))


def read_needed(job: Job, requirements: Path) -> Needed:
    """The environment that a job needs: parameter servers need another PaddlePaddle, and a program of no framework
    needs none."""
    framework = job.annotations.get(FRAMEWORK_ANNOTATION) or job.framework
    return Needed(requirements, framework, any(not role.trains for role in job.roles))


def find_needed(each: Checked, requirements: Path | None = None) -> Needed | None:
    """The environment of `requirements`, else of the file that the manifest of a job names; None without one. Raises
    `UserError` if that is not there."""
    if each.job is None:
        return None
    path = requirements or _find_requirements(each)
    return read_needed(each.job, path) if path else None


def _find_requirements(each: Checked) -> Path | None:
    named = annotations_of(each.manifest).get(REQUIREMENTS_ANNOTATION)
    if not named:
        return None
    path = (Path.cwd() if each.file == "stdin" else Path(each.file).parent) / named
    if not path.is_file():
        raise UserError(
            phrase(
                "{file}: annotation {name}: {path} is not there: correct the path",
                file=each.file, name=REQUIREMENTS_ANNOTATION, path=str(path),
            )
        )  # fmt: skip
    return path


def without_directory(request: ScriptRequest, *, named: bool) -> ScriptRequest:
    """The request for a file that others may use: without the directory of this machine, where `paddock run` of the
    file finds the script by itself (`app.submitted.directories`). `named`: by --workdir."""
    portable = find_script({"command": build_command(request)}) and not named
    return replace(request, directory="") if portable else request


async def fetch_foreign_secrets(api: Api, checked: Sequence[Checked]) -> list[tuple[Checked, Phrase]]:
    """The hidden values for which a Secret of the name exists that is of somebody else or of a job of another kind: it
    is not overwritten. Each with its sentence."""
    found = []
    for each in checked:
        if not each.is_hidden:
            continue
        try:
            there = await api.get(SECRETS, *each.key)
        except NotFound:
            continue
        if dict(labels_of(there)) != dict(labels_of(each.manifest)):
            said = phrase(
                "there is a Secret {name} already, which is not this job's: --name gives the job another name",
                name=each.key.name,
            )
            found.append((each, said))
    return found
