"""What the runs of a job have written into its claim, on a cluster: read in a pod of the job that runs, else in one of
our own that has the claim mounted (`app.claimed.pod`), which goes when the command ends."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddock.app.claimed.conversation import SILENT_SECONDS, Conversation, ProgramEnded, Silent
from paddock.app.claimed.files import BadAnswer, ClaimedRun
from paddock.app.claimed.pod import (
    CLAIM_PATH,
    CONTAINER,
    build_command,
    build_pod,
    choose_source,
    find_running,
    read_program,
)
from paddock.app.pods_beside import find_pin, has_not_started, list_users, read_modes
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import NoJob, fetch_all, fetch_job
from paddock.cli.follow.cluster_board import explain_wait
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_notice
from paddock.client.pod_streams import open_exec
from paddock.jobs.apis.outputs import OUTPUT_PATH
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.errors import ApiError, Conflict, Forbidden, NotFound, Unavailable
from paddock.kube.meta import CLAIMS, EVENTS, PODS, Manifest, name_of, uid_of
from paddock.kube.pod_streams import StreamRequest, is_not_started
from paddock.views.commands import choose_word
from paddock.views.outputs import find_places
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Foreign, Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client

_LOOK_SECONDS = 1.0
_EVENT_SECONDS = 5.0
_WAITED_IN_VAIN = frozenset({"InvalidImageName", "ErrImageNeverPull"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says."""

    job: str
    number: int | None = None
    """Of the run; None for the last one."""
    claim: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files of the job are read."""

    pod: str
    container: str
    root: str
    """The directory of the job in the claim, or that of its run (`run`)."""
    run: str
    """The UID of the one run that is there; empty where all runs of the job are."""


class ClusterOutputs:
    """The claim of one job. Its methods raise `UserError`, `Failed`, `ApiError`."""

    def __init__(self, client: Client, place: ClusterChoice, namespace: str, wanted: Wanted) -> None:
        self._client, self._flags, self._namespace, self._wanted = client, place.flags, namespace, wanted
        self.name = wanted.job.rpartition("/")[2]
        self.job: Job | None = None
        """None for one that is deleted."""
        self.claim = wanted.claim
        self._word = self.name
        self._place: Place | None = None
        self._unknown: NoJob | None = None

    def advise(self, *, image: str = "") -> str:
        """The command that reads the same claim."""
        given = {
            "--claim": self._wanted.claim, "--image": image or self._wanted.image,
            "--run": str(self._wanted.number or ""),
        }  # fmt: skip
        options = "".join(f" {name} {shlex.quote(value)}" for name, value in given.items() if value)
        return f"paddock outputs {self._word}{self._flags.of(self._namespace) + options}"

    async def find(self) -> None:
        """Which claim it is, and of which job."""
        try:
            stored = await fetch_job(self._client, self._namespace, self._wanted.job, self._flags)
        except NoJob as unknown:
            self._unknown = unknown
            self.claim = self.claim or await self._guess_claim()
            return
        self._word = choose_word(stored, self._wanted.job)
        self.job = self._read(stored)
        self.claim = self.claim or self.job.outputs
        if not self.claim:
            raise Failed(*explain_none(self.job))

    def _read(self, stored: StoredJob) -> Job:
        if stored.job is None:
            command = f"paddock explain {choose_word(stored, self._wanted.job)}{self._flags.of(self._namespace)}"
            raise Failed(phrase("{job}: its manifest is wrong, so what it mounts is not known; `{command}` says where",
                                job=self.name, command=command))  # fmt: skip
        return stored.job

    async def _guess_claim(self) -> str:
        """That of a job that is deleted: the one for outputs of its namespace, if there is one alone."""
        assert self._unknown is not None
        others = await self._list_others()
        named = sorted({each.outputs for each in others if each.outputs})
        if len(named) == 1:
            return named[0]
        if not named:
            with suppress(ApiError):
                named = sorted(map(name_of, (await self._client.list(CLAIMS, self._namespace)).items))
        if len(named) == 1:
            return named[0]
        if not named:
            raise self._unknown
        said = phrase("if it is deleted, --claim says where it has written: {names}", names=Names(tuple(named), most=8))
        raise UserError(*self._unknown.said, said)

    async def _list_others(self) -> list[Job]:
        with suppress(Forbidden):
            found = await fetch_all(self._client, KINDS, self._namespace)
            return [stored.job for each in found if (stored := read_stored(*each)).job is not None]
        return []

    # The pod

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """A place where the files can be read, until the end of the context."""
        found = None
        if self.job is not None and self._wanted.number is None and self.claim == self.job.outputs:
            pods = (await self._client.list(PODS, self._namespace)).items
            found = find_running(self.job, pods)
        if found is not None and self.job is not None:
            self._place = Place(*found, OUTPUT_PATH, self.job.uid)
            yield
            return
        creating = asyncio.create_task(self._create())
        try:
            pod = await asyncio.shield(creating)
            await self._wait_until_it_runs(pod)
            self._place = Place(name_of(pod), CONTAINER, f"{CLAIM_PATH}/{self.name}", "")
            yield
        finally:
            await self._delete(creating)

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Conversation]:
        """A conversation with the program that reads the files. Errors of that program are told as `Failed`; a pod that
        says nothing as `Unavailable`."""
        assert self._place is not None
        place = self._place
        request = StreamRequest(place.container, build_command(place.root), stdin=True)
        session = await open_exec(self._client, self._namespace, place.pod, request)
        conversation = Conversation(session)
        try:
            await conversation.begin(read_program())
            yield conversation
        except ProgramEnded as ended:
            raise Failed(*self._explain_ended(ended)) from None
        except Silent:
            said = phrase("nothing has come from the pod {pod} for {count} s: its node, the storage of the claim "
                          "{claim} or the connection does not answer", pod=place.pod, count=SILENT_SECONDS,
                          claim=self.claim)  # fmt: skip
            raise Unavailable(localized(said)) from None
        except BadAnswer as bad:
            said = phrase("the pod {pod} answers what is not understood: {answer}", pod=place.pod,
                          answer=Foreign(str(bad)))  # fmt: skip
            raise Failed(said) from None
        finally:
            await conversation.close()

    def _explain_ended(self, ended: ProgramEnded) -> list[Phrase]:
        assert self._place is not None
        if is_not_started(ended.ended):
            return self._explain_no_python(ended.ended.message)
        last = (ended.said or ended.ended.message or f"exit code {ended.ended.code}").splitlines()[-1]
        return [phrase("what reads the files in the pod {pod} has ended: {why}", pod=self._place.pod,
                       why=Foreign(last))]  # fmt: skip

    def _explain_no_python(self, why: str) -> list[Phrase]:
        said = phrase("no python3 can be started in the pod, which is to read the claim {claim}: {why}",
                      claim=self.claim, why=Foreign(why))  # fmt: skip
        return [said, phrase("name an image that has it: `{command}`", command=self.advise(image="IMAGE"))]

    async def _create(self) -> Manifest:
        pin = find_pin(*await self._find_users())
        others = [] if self.job is not None else await self._list_others()
        source = choose_source(self.job, others, self.claim, self._wanted.image)
        if source is None:
            raise UserError(
                phrase("{job} is deleted, and no job of namespace {namespace} has an image to read the claim {claim} "
                       "with: `{command}` names one that has python3", job=self.name, namespace=self._namespace,
                       claim=self.claim, command=self.advise(image="IMAGE"))
            )  # fmt: skip
        pod = build_pod(self._namespace, self.name, self.claim, source, secrets.token_hex(3), self.job, pin)
        made = await self._client.create(PODS, pod)
        said = phrase("the pod {pod} reads the claim {claim}, with the image {image}", pod=name_of(made),
                      claim=self.claim, image=source.image)  # fmt: skip
        print_notice(localized(said))
        return made

    async def _find_users(self) -> tuple[Manifest | None, str, Sequence[Manifest]]:
        claim: Manifest | None = None
        with suppress(Forbidden):
            try:
                claim = await self._client.get(CLAIMS, self._namespace, self.claim)
            except NotFound:
                if self._unknown is not None and not self._wanted.claim:  # it was a guess
                    raise self._unknown from None
                raise Failed(phrase("there is no claim {claim} in namespace {namespace}", claim=self.claim,
                                    namespace=self._namespace)) from None  # fmt: skip
        pods = (await self._client.list(PODS, self._namespace)).items
        users = list_users(self.claim, pods)
        if read_modes(claim) == ["ReadWriteOncePod"] and users:
            raise Failed(
                phrase("only one pod at a time may have the claim {claim} (ReadWriteOncePod), and {pod} has it: what "
                       "is in it can be read when that has ended", claim=self.claim, pod=name_of(users[0]))
            )  # fmt: skip
        return claim, self.claim, pods

    async def _wait_until_it_runs(self, pod: Manifest) -> None:
        said, events, looked = "", list[Manifest](), 0.0
        loop = asyncio.get_running_loop()
        while True:
            now = await self._look(pod)
            if (now.get("status") or {}).get("phase") == "Running":
                return
            if loop.time() - looked > _EVENT_SECONDS:
                events, looked = await self._list_events(pod), loop.time()
            why = explain_wait(now, events, readers_language(), "outputs")
            if why and why != said:
                if not said:
                    print_notice(localized(phrase("Ctrl-C ends the wait, and the pod with it")))
                print_notice(localized(phrase("{said}: {why}", said=name_of(pod), why=why)))
                said = why
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self, pod: Manifest) -> Manifest:
        """The pod now. Raises `Failed` if it cannot start any more."""
        try:
            now = await self._client.get(PODS, self._namespace, name_of(pod))
        except NotFound:
            raise Failed(phrase("the pod {pod} is gone: somebody has deleted it, or the job", pod=name_of(pod))) from (
                None
            )
        statuses = (now.get("status") or {}).get("containerStatuses") or ()
        for each in statuses:
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _WAITED_IN_VAIN:
                raise Failed(phrase("the pod {pod} cannot start: {why}", pod=name_of(pod),
                                    why=Foreign(str(waiting.get("message") or waiting["reason"]))))  # fmt: skip
        if (now.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            ends = [(each.get("state") or {}).get("terminated") or {} for each in statuses]
            why = next((str(each.get("message") or each.get("reason") or "") for each in ends), "")
            why = str((now.get("status") or {}).get("message") or why)
            if has_not_started(now):
                raise Failed(*self._explain_no_python(why))
            raise Failed(phrase("the pod {pod} cannot start: {why}", pod=name_of(pod), why=Foreign(why)))
        return now

    async def _list_events(self, pod: Manifest) -> list[Manifest]:
        """Empty where they may not be read."""
        with suppress(ApiError):
            found = await self._client.list(EVENTS, self._namespace, fields=f"involvedObject.uid={uid_of(pod)}")
            return list(found.items)
        return []

    async def _delete(self, creating: asyncio.Task[Manifest]) -> None:
        (made,) = await asyncio.gather(creating, return_exceptions=True)
        if isinstance(made, BaseException):
            return
        try:
            await self._client.delete(PODS, self._namespace, name_of(made), uid=uid_of(made))
        except (NotFound, Conflict):
            return
        except ApiError as error:
            said = phrase("the pod {pod} could not be deleted ({why}), and ends by itself in a minute",
                          pod=name_of(made), why=Foreign(error.message))  # fmt: skip
            print_notice(localized(said))

    # Its runs

    async def choose(self, conversation: Conversation) -> tuple[ClaimedRun | None, list[ClaimedRun], str]:
        """The run that is asked for, all that are known, and the directory to ask for. The run is None where its record
        cannot be seen: in a pod of the job's own, which has the directory of its run alone."""
        assert self._place is not None
        if self._place.run:
            return None, [], ""
        runs = await conversation.list_runs()
        if not runs:
            if self._unknown is not None:
                raise self._unknown
            raise Failed(phrase("{job} has no outputs in the claim {claim}: none of its programs has been started, or "
                                "what runs it keeps them elsewhere", job=self.name, claim=self.claim))  # fmt: skip
        run = choose_run(runs, self._wanted.number, self.job)
        if run is None:
            numbers = Names(tuple(str(each.number) for each in runs if each.number), most=8)
            raise UserError(
                phrase("{job} has no run {run} in the claim {claim}, which has {runs}", job=self.name,
                       run=self._wanted.number or 0, claim=self.claim, runs=numbers)
            )  # fmt: skip
        return run, runs, run.uid

    @property
    def run_uid(self) -> str:
        """Of the one run that is there, in a pod of the job's own; else empty."""
        return self._place.run if self._place is not None else ""


def choose_run(runs: Sequence[ClaimedRun], number: int | None, job: Job | None) -> ClaimedRun | None:
    """`runs`: the oldest first. Without a number, the newest. Pure."""
    kind = f"{job.resource.kind}.{job.resource.group}" if job is not None else ""
    own = [each for each in runs if not kind or each.kind in ("", kind)]
    if number is not None:
        return next((each for each in reversed(own) if each.number == number), None)
    current = [each for each in own if job is not None and each.uid == job.uid]
    return (current or own or list(runs))[-1]


def explain_none(job: Job) -> list[Phrase]:
    """Why nothing of a job is kept in a claim, and how the next run of it is."""
    said = phrase("{job} names no claim for what it writes, so nothing of it is found here", job=job.key.name)
    cure = phrase("its next run keeps its outputs with --outputs CLAIM (the annotation paddock.dev/outputs)")
    if places := find_places(job):
        return [phrase("{said}; its pods write to {places}", said=said, places=Names(places)), cure]
    return [said, cure]
