"""Why a submission is refused: every check between a file without problems and the first write, in one list.

`paddock run`, `paddock submit` and the Python calls stop at the first check that refuses, then write; `paddock explain
--why-not` makes all of them and writes nothing, `validate --context` those of the documents alone. A check may change
the documents that are sent, as the next one judges them so. What is wrong with the text stands in `preflight`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.app.submitted.directories import explain_unfound, fetch_working_directories, with_path
from paddock.app.submitted.prepare import leave_out_lacking, record_code
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.kinds import name_for_kubectl
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.output.language import readers_language, say
from paddock.cli.output.local_paths import format_path
from paddock.cli.submit.job_datasets import check_datasets, fetch_kept
from paddock.cli.submit.mount_paths import find_unmountable
from paddock.cli.submit.output_claims import fetch_notes, fetch_refused, find_named
from paddock.cli.submit.replacing import fetch_named
from paddock.cli.submit.resumed import explain_unresumed
from paddock.cli.submit.script.requests import fetch_foreign_secrets, find_needed
from paddock.cli.submit.storage import USUAL, Storage
from paddock.cli.submit.submission import drop_devices
from paddock.cli.submit.ways_of_sending import Sending, add_sent
from paddock.environments.needed import Needed
from paddock.jobs.model import Job
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound
from paddock.kube.meta import NAMESPACES, NODES, PRIORITY_CLASSES
from paddock.script.queues import without_queue
from paddock.submission.documents import Checked
from paddock.submission.dry_run import explain_left_out, explain_refused, fetch_refusal, is_awaited
from paddock.submission.local_only import find_place_reasons, find_unhonoured_fields
from paddock.submission.missing_classes import explain_missing_class, find_missing_classes, read_classes
from paddock.submission.missing_secrets import explain_missing, find_missing_secrets, read_brought
from paddock.submission.queues import (
    explain_no_queue,
    explain_queue_left_out,
    explain_unknown_queue,
    fetch_queues,
    place_in_queue,
)
from paddock.submission.room import (
    explain_cpu_limits,
    explain_too_large,
    fetch_judgements,
    fetch_room,
    judge,
    with_cpu_limits,
)
from paddock.submission.same_name import explain_taken, find_other_directory
from paddock.views.flags import Flags
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase
from paddock.words.unhonoured import explain_unhonoured

if TYPE_CHECKING:
    from paddock.cli.submit.claim_directories import Fill
    from paddock.cli.submit.pushed_images import PushedImages
    from paddock.kube.api import PodApi

Notify = Callable[[Phrase], None]
_NOTHING = phrase("nothing was submitted")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one document is refused."""

    each: Checked
    why: Phrase | str
    """The reason alone: `explain --why-not` puts the document before it."""
    shown: Phrase | str
    """With the place of the document, as `run` and `submit` print it."""


@dataclass(slots=True)
class Submission:
    """What is to be submitted. The checks replace `checked` by what is sent."""

    api: PodApi
    place: ClusterChoice
    checked: list[Checked]
    notify: Notify
    """It gets each deviation from the manifest."""
    workdir: str | None = None
    """The value of --workdir."""
    without: tuple[str, ...] = ()
    """Devices to remove from requests: the values of --without."""
    needed: Sequence[Needed] = ()
    """The environments of requirements files, which are made first."""
    data: tuple[str, ...] = ()
    """The values of --data, which the manifests have too."""
    packages: Path | None = None
    """On a cluster: the requirements file of -r, whose packages go into a claim."""
    storage: Storage = USUAL
    """What claims are asked of a cluster's storage."""
    runs: bool = False
    """As `paddock run` does: what exists is brought to the file's state, and on the local cluster a device that no node
    has is left out."""
    creates_only: bool = False
    """With `runs`: what exists beside the job is another's, and refused."""
    queue: str = ""
    """The value of --queue, which the manifests have too."""
    priority: str = ""
    """The value of --priority, which the manifests have too."""
    typed: bool = False
    """The job was made of a typed command, where --name is at hand."""
    pushes: PushedImages | None = None
    """The images of --push."""
    there: list[tuple[Checked, StoredJob]] = field(default_factory=list)
    """The documents whose names jobs have, with those jobs, which are replaced if nothing refuses. Of `NAME`."""
    fills: list[Fill] = field(default_factory=list)
    """The claims of a cluster that must be filled before the jobs are created. Of `DIRECTORIES`."""
    show: Callable[[str], None] = lambda _: None
    """The live line, while something is waited for; it goes with an empty text."""
    announced: list[Phrase] = field(default_factory=list)
    """What is told of what will be sent, once nothing refuses it."""
    left_out: list[Phrase] = field(default_factory=list)
    """What is told of documents that the place does not run, which are not sent."""

    @property
    def is_local(self) -> bool:
        return self.place.home is not None

    @property
    def flags(self) -> Flags:
        return self.place.flags

    def leave_out(self, each: Checked, said: Phrase) -> None:
        self.checked = [other for other in self.checked if other is not each]
        self.left_out.append(said)
        self.notify(said)


@dataclass(frozen=True, slots=True)
class Check:
    """One reason to refuse a submission."""

    find: Callable[[Submission], Awaitable[list[Refusal]]]
    """The refusals. It may change `checked`, and raises what is not about the documents."""
    closing: Phrase | None = None
    """The last line of what `run` and `submit` print."""


def find_place_refusals(checked: Sequence[Checked], *, is_local: bool) -> list[Refusal]:
    """What the place does not support. Pure."""
    return [
        Refusal(each, why, phrase("{file}: {why}", file=each.file, why=why))
        for each in checked
        for why in find_place_reasons(each, is_local=is_local)
    ]


async def _find_place(submission: Submission) -> list[Refusal]:
    return find_place_refusals(submission.checked, is_local=submission.is_local)


async def _find_unmountable(submission: Submission) -> list[Refusal]:
    """A volume that not all ranks could mount on this machine."""
    if submission.place.home is None:
        return []
    found = find_unmountable(submission.checked, submission.place.home)
    return [Refusal(each, why, phrase("{file}: {why}", file=each.file, why=why)) for each, why in found]


async def _find_requirements(submission: Submission) -> list[Refusal]:
    """A requirements file that a manifest names and that is not there."""
    found = []
    looked_for = (submission.is_local or submission.runs) and not submission.needed
    for each in submission.checked if looked_for else ():
        try:
            find_needed(each)
        except UserError as error:
            found += [Refusal(each, said, said) for said in error.said]
    return found


async def _find_namespaces(submission: Submission) -> list[Refusal]:
    """Refuses nothing. A Namespace is created before all that may lie in it; one that is there stays as it is, and so
    does one that may not be read."""
    namespaces = [each for each in submission.checked if each.resource == NAMESPACES]
    others = [each for each in submission.checked if each.resource != NAMESPACES]
    new = []
    for each in namespaces:
        try:
            await submission.api.get(NAMESPACES, "", each.key.name)
            said = phrase("namespace {name} is there already, and stays as it is", name=each.key.name)
        except NotFound:
            new.append(each)
            continue
        except Forbidden:
            said = phrase("you may not read namespace {name}: it is taken to be there", name=each.key.name)
        submission.notify(said)
    submission.checked = [*new, *others]
    return []


async def _find_queues(submission: Submission) -> list[Refusal]:
    """A queue that the cluster does not have. The jobs are written as it reads --queue and --priority."""
    queue, priority = submission.queue, submission.priority
    if not queue and not (priority and not submission.is_local):
        return []
    if submission.is_local:
        submission.notify(explain_queue_left_out(queue))
        submission.checked = [
            each.with_manifest(without_queue(each.manifest)) if each.is_job else each for each in submission.checked
        ]
        return []
    found: list[Refusal] = []
    for number, each in enumerate(submission.checked):
        if not each.is_job:
            continue
        queues = await fetch_queues(submission.api, each.manifest, each.resource, queue, priority)
        if queue and (why := explain_no_queue(queues, queue, each.key.namespace)) is not None:
            found.append(Refusal(each, why, why))
        if queue and (said := explain_unknown_queue(queues, queue, each.key.namespace)) is not None:
            submission.notify(said)
        submission.checked[number] = each.with_manifest(place_in_queue(each.manifest, queues, queue, priority))
    return found


async def _find_datasets(submission: Submission) -> list[Refusal]:
    """A Dataset that exists with another spec. One that is there as it is written is left out."""
    kept, others = await fetch_kept(submission.api, submission.place, submission.checked)
    for each in kept:
        submission.notify(phrase("dataset {name} is there already, as it is written here", name=each.key.name))
    submission.checked = [each for each in submission.checked if not any(each is other for other in kept)]
    return [Refusal(each, said, said) for each, said in others]


async def _leave_out_devices(submission: Submission) -> list[Refusal]:
    """Refuses nothing: `drop_devices` raises `UserError` for a device that no job asks for."""
    submission.checked = drop_devices(submission.checked, submission.without)
    if not submission.runs or not submission.is_local:  # a cluster may add nodes
        return []
    submission.checked, told = await leave_out_lacking(submission.api, submission.checked)
    for said in told:
        submission.notify(said)
    return []


async def _find_directories(submission: Submission) -> list[Refusal]:
    """A script that is found nowhere, and a directory that cannot be sent."""
    if submission.is_local:
        directory = Path.cwd() if submission.workdir is None else Path(submission.workdir).resolve()
        is_named = submission.workdir is not None
        placed = await fetch_working_directories(submission.api, submission.checked, directory, named=is_named)
        submission.checked = [with_path(each, os.environ.get("PATH", "")) for each, _ in placed]
        return [Refusal(each, why, explain_unfound(each, why)) for each, why in placed if why is not None]
    found: list[Refusal] = []
    sent: list[Checked] = []
    sending = Sending(
        submission.workdir, submission.packages, submission.storage, submission.announced.append, submission.pushes
    )
    for each in submission.checked:
        try:
            documents, fills = await add_sent(submission.api, each, sending)
            sent += documents
            submission.fills += fills
        except UserError as error:
            sent.append(each)
            found += [Refusal(each, said, said) for said in error.said]
    submission.checked = sent
    return found


async def _tell_unhonoured(submission: Submission) -> list[Refusal]:
    """Refuses nothing. What a laptop does not honour is told once a job, not by each of its pods."""
    uid = os.getuid()
    for each, found in find_unhonoured_fields(submission.checked, uid) if submission.is_local else ():
        submission.notify(phrase("{object}: {problem}", object=each.label, problem=explain_unhonoured(found, uid)))
    return []


async def _find_room(submission: Submission) -> list[Refusal]:
    """A job whose pods the namespace refuses, or a typed one that this machine is too small for. What only has to wait
    is told."""
    if submission.typed:
        return await _find_typed_room(submission)
    found: list[Refusal] = []
    for each, judged in await fetch_judgements(submission.api, submission.checked):
        found += [Refusal(each, why, phrase("{file}: {why}", file=each.file, why=why)) for why in judged.refused]
        for said in judged.told:
            submission.notify(phrase("{object}: {problem}", object=each.label, problem=said))
    return found


async def _find_typed_room(submission: Submission) -> list[Refusal]:
    """Its ranks get a limit of CPUs where the namespace wants one, as no option says it."""
    ((place, each, job),) = ((place, each, each.job) for place, each in enumerate(submission.checked) if each.job)
    room = await fetch_room(submission.api, each.key.namespace)
    judged = judge(job, room, typed=True)
    if judged.wants_cpu_limit:
        submission.checked[place] = each = each.with_manifest(with_cpu_limits(each.manifest, job))
        submission.notify(explain_cpu_limits(room.namespace))
        judged = judge(each.job or job, room, typed=True)
    too_large = await _find_too_large(submission, job)
    for said in (*judged.told, *(() if submission.is_local else too_large)):
        submission.notify(said)
    return [Refusal(each, why, why) for why in (*judged.refused, *(too_large if submission.is_local else ()))]


async def _find_too_large(submission: Submission, job: Job) -> list[Phrase]:
    """Nothing for who may not list nodes."""
    try:
        nodes = (await submission.api.list(NODES)).items
    except Forbidden:
        return []
    return list(explain_too_large(job, nodes, is_local=submission.is_local))


async def _tell_classes(submission: Submission) -> list[Refusal]:
    """Refuses nothing. A PriorityClass that is not there may be made later."""
    jobs = {id(each.job): each for each in submission.checked if each.job and any(read_classes(each.job))}
    brought = read_brought(submission.checked, PRIORITY_CLASSES)
    named = [each.job for each in jobs.values() if each.job]
    for name, job in (await find_missing_classes(submission.api, named, brought)).items():
        why = explain_missing_class(name, submission.flags, is_local=submission.is_local)
        submission.notify(phrase("{object}: {problem}", object=jobs[id(job)].label, problem=why))
    return []


async def _record_code(submission: Submission) -> list[Refusal]:
    """Refuses nothing. On a laptop a job says which code it begins with, for `paddock history`."""
    if not submission.is_local:
        return []
    submission.checked = [await record_code(each) for each in submission.checked]
    return []


async def _find_names(submission: Submission) -> list[Refusal]:
    """A name that a job has which neither has finished nor was suspended by `paddock run`."""
    submission.there = [(each, job) for each in submission.checked for job in await fetch_named(submission.api, each)]
    found = [
        Refusal(each, said, said)
        for each, job in submission.there
        if (said := _explain_taken(each, job, submission.flags)) is not None
    ]
    if found and submission.typed:
        each = submission.there[0][0]
        another = phrase("--name gives this one another name: `--name {name}`", name=f"{each.key.name}-2")
        found.append(Refusal(each, another, another))
    return found


def _explain_taken(each: Checked, job: StoredJob, flags: Flags) -> Phrase | None:
    return explain_taken(job, time.time(), flags, format_path(find_other_directory(each.manifest, job)))


async def _find_resumed(submission: Submission) -> list[Refusal]:
    """A run whose checkpoints a job names, and that has none."""
    home = submission.place.home
    jobs = [each for each in submission.checked if each.job] if home is not None else []
    said = [(each, explain_unresumed(each.job, home)) for each in jobs if each.job and home is not None]
    return [Refusal(each, why, why) for each, why in said if why is not None]


async def _find_foreign_secrets(submission: Submission) -> list[Refusal]:
    return [Refusal(each, said, said) for each, said in await fetch_foreign_secrets(submission.api, submission.checked)]


async def _ask_server(submission: Submission) -> list[Refusal]:
    """What the server says that is shown each document, before any is created. What a laptop does not run is left
    out."""
    found: list[Refusal] = []
    brought = read_brought(submission.checked, NAMESPACES)
    updates = submission.runs and not submission.creates_only
    for each in sorted(submission.checked, key=lambda each: not each.document.places):  # generated documents last
        if found and not each.document.places:
            break
        error = await fetch_refusal(submission.api, each, merges=updates and each.is_merged)
        if said := explain_left_out(each, error, is_local=submission.is_local):
            submission.leave_out(each, said)
        elif isinstance(error, AlreadyExists):
            found += () if updates and each.is_hidden else _refuse_existing(submission, each)
        elif error is not None and not is_awaited(error, brought):
            found.append(refuse_by_server(each, error, submission.flags))
    return found


def refuse_by_server(each: Checked, error: ApiError, flags: Flags) -> Refusal:
    """What a server refuses a document for. Pure."""
    why = explain_refused(each, error, flags)
    said = say(why, readers_language())
    return Refusal(each, why, f"{each.file}:{each.document.line}: {said}")


def _refuse_existing(submission: Submission, each: Checked) -> list[Refusal]:
    """The name of a job that is replaced was judged before."""
    if any(each is other for other, _ in submission.there):
        return []
    said = phrase(
        "{file}: {object} exists already: `{command}` removes it",
        file=each.file, object=each.label, command=_write_deletion(each, submission.flags),
    )  # fmt: skip
    return [Refusal(each, said, said)]


def _write_deletion(each: Checked, flags: Flags) -> str:
    where = flags.of(each.key.namespace)
    if each.is_job:
        return f"paddock delete {each.key.name}{where}"
    namespace = where.removeprefix(flags.options)
    return f"{flags.kubectl} delete {name_for_kubectl(each.resource)} {each.key.name}{namespace}"


async def _find_missing_secrets(submission: Submission) -> list[Refusal]:
    """A Secret that neither the documents nor the namespace has; on a cluster others may make it later. What a job owns
    that is replaced is gone."""
    jobs = {id(each.job): each for each in submission.checked if each.job}
    if not submission.is_local or not jobs:
        return []
    brought, gone = read_brought(submission.checked), {job.uid for _, job in submission.there}
    missing = await find_missing_secrets(
        submission.api, [each.job for each in jobs.values() if each.job], brought, gone
    )
    found = []
    for one in missing:
        why = explain_missing(one)
        label = f"{one.job.resource.kind} {one.job.key}"
        found.append(Refusal(jobs[id(one.job)], why, phrase("{option}: {problem}", option=label, problem=why)))
    return found


async def _find_claims(submission: Submission) -> list[Refusal]:
    """A claim that cannot be had, or that not all ranks could mount."""
    if not submission.fills:
        return []
    from paddock.cli.submit.filled_claims import find_refusals as find_unfilled

    found = await find_unfilled(submission.api, submission.fills, submission.flags, submission.notify)
    return [Refusal(fill.each, why, phrase("{file}: {why}", file=fill.each.file, why=why)) for fill, why in found]


async def _find_data(submission: Submission) -> list[Refusal]:
    """A Dataset of --data that does not exist. Any other that the jobs name is told, as they wait for it."""
    try:
        await check_datasets(submission.api, submission.place, submission.checked, submission.data, submission.notify)
    except UserError as error:
        each = next(each for each in submission.checked if each.is_job)
        return [Refusal(each, said, said) for said in error.said]
    return []


async def _find_output_claims(submission: Submission) -> list[Refusal]:
    """A claim for outputs that is not there, or into which pods could never write; of one that may keep them waiting it
    is told. On a laptop a run has its outputs anyway."""
    if submission.is_local:
        for each, job in find_named(submission.checked):
            told = phrase("the claim {claim} is of a cluster: here Paddock itself keeps what each run writes",
                          claim=job.outputs)  # fmt: skip
            submission.notify(phrase("{object}: {problem}", object=each.label, problem=told))
        return []
    for said in await fetch_notes(submission.api, submission.checked):
        submission.notify(said)
    found = await fetch_refused(submission.api, submission.checked, submission.flags)
    return [Refusal(each, said, phrase("{file}: {why}", file=each.file, why=said)) for each, said in found]


PLACE = Check(_find_place, _NOTHING)
VOLUMES = Check(_find_unmountable, _NOTHING)
REQUIREMENTS = Check(_find_requirements)
SPACES = Check(_find_namespaces)
QUEUES = Check(_find_queues, _NOTHING)
DATASETS = Check(_find_datasets, _NOTHING)
DEVICES = Check(_leave_out_devices)
DIRECTORIES = Check(_find_directories)
CODE = Check(_record_code)
NAMES = Check(_find_names)
RESUMED = Check(_find_resumed, _NOTHING)
FOREIGN_SECRETS = Check(_find_foreign_secrets)
OUTPUTS = Check(_find_output_claims, _NOTHING)
SERVER = Check(_ask_server, phrase("nothing was submitted, changed or deleted"))
ROOM = Check(_find_room, _NOTHING)
CLASSES = Check(_tell_classes)
UNHONOURED = Check(_tell_unhonoured)
SECRETS = Check(_find_missing_secrets, _NOTHING)
DATA = Check(_find_data)
CLAIMS = Check(_find_claims, _NOTHING)
CHECKS = (
    PLACE,
    VOLUMES,
    REQUIREMENTS,
    SPACES,
    QUEUES,
    DATASETS,
    DEVICES,
    DIRECTORIES,
    CODE,
    NAMES,
    RESUMED,
    FOREIGN_SECRETS,
    OUTPUTS,
    CLAIMS,
    SERVER,
    ROOM,
    SECRETS,
    DATA,
    CLASSES,
    UNHONOURED,
)
"""In their order. What costs the user least to mend comes first, and the server is asked of what would be sent. PLACE
looks at the documents alone, REQUIREMENTS and DIRECTORIES at files; the others ask the cluster."""


async def find_refusals(submission: Submission, checks: Sequence[Check] = CHECKS) -> list[Refusal]:
    """What all checks refuse."""
    return [refusal for check in checks for refusal in await check.find(submission)]


async def refuse(submission: Submission, checks: Sequence[Check] = CHECKS) -> None:
    """Raises `UserError` with all that the first check refuses."""
    for check in checks:
        if found := await check.find(submission):
            raise UserError(*(each.shown for each in found), *([check.closing] if check.closing else []))
    for said in submission.announced:
        submission.notify(said)
