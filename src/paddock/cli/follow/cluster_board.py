"""The board of a job on a cluster: a pod beside its own, reached by a forwarded port (`app.boards.pod`)."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.app.boards.pod import ANY, Asked, build_pod, choose_image, name_board, read_board
from paddock.app.boards.process import make_scratch
from paddock.app.boards.tools import TOOLS
from paddock.app.pods_beside import Pin, find_pin, has_not_started, list_users, read_modes
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_job
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.streams import print_notice
from paddock.jobs.causes import PodsStarting
from paddock.jobs.labels import INDEX_LABEL, ROLE_LABEL
from paddock.jobs.model import CauseRecord, Job
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.sentences.explain import explain
from paddock.jobs.waiting import plan_waiting_cause
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from paddock.kube.meta import CLAIMS, EVENTS, PODS, Manifest, labels_of, metadata, name_of, uid_of
from paddock.views.claims import Unclear, choose_shown
from paddock.views.commands import choose_word
from paddock.views.events import build_event_rows, is_about
from paddock.words.phrases import Foreign, Names, Phrase, phrase

if TYPE_CHECKING:
    from paddock.app.boards.proxy import Access
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client

MARK = "paddock-board "
_LOOK_SECONDS = 1.0
_EVENT_SECONDS = 5.0
_GONE_SECONDS = 60.0
_LINES = 8
"""Of what the pod printed last, for the message that it has ended."""
_LACKS = 3
"""The exit code of the program of `app.boards.paddock_pod_board` where the image lacks what shows the files."""
_WAITED_IN_VAIN = frozenset({"InvalidImageName", "ErrImageNeverPull"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says."""

    job: str
    claim: str = ""
    """NAME, or NAME:SUBPATH."""
    path: str = ""
    image: str = ""
    tool: str = ""
    """Of `TOOLS`; empty for what the files call for."""
    idle: int = 600
    """Seconds."""
    keeps: bool = False


class IdleEnd(Exception):
    """The pod has ended, as nobody has looked."""


def read_told(log: str) -> list[dict[str, Any]]:
    """What the program in the pod has told. Pure."""
    found = []
    for line in log.splitlines():
        if line.startswith(MARK):
            with suppress(ValueError):
                told = json.loads(line[len(MARK) :])
                if isinstance(told, dict):
                    found.append(told)
    return found


def explain_wait(pod: Manifest, events: list[Manifest], language: str, role: str = "board") -> str:
    """Why the pod does not run yet, in the words in which a rank's would; empty if it does. `role`: as which it is told
    of. Pure."""
    labels = {**labels_of(pod), ROLE_LABEL: role, INDEX_LABEL: "0"}
    read = read_pod({**pod, "metadata": {**metadata(pod), "labels": labels}})
    cause = plan_waiting_cause([read], 1) if read is not None else None
    if cause is None:
        return ""
    said = explain(CauseRecord(cause.reason, cause.args()), language)
    if not isinstance(cause, PodsStarting):
        return said
    rows = build_event_rows(each for each in events if is_about(each, {uid_of(pod)}))
    warned = next((row.message for row in rows if row.type == "Warning"), "")
    return localized(phrase("{said}: {why}", said=said, why=warned)) if warned else said


class PodBoard:
    """A `app.boards.serve.Source`. `access`: it gets the path of the pod's pages, which a pod that is there has
    already."""

    def __init__(self, client: Client, place: ClusterChoice, namespace: str, wanted: Wanted, access: Access) -> None:
        self._client, self._place, self._namespace = client, place, namespace
        self._wanted, self._access = wanted, access
        self._scratch = make_scratch()  # nobody else reaches the port
        self._creating: asyncio.Task[Manifest] | None = None
        self._pod: Manifest | None = None
        self._options = place.flags.of(namespace)
        self._typed = ""
        self._tasks: list[asyncio.Task[Any]] = []
        self._listening: socket.socket | None = None
        self.problem = ""

    @property
    def socket(self) -> Path:
        return self._scratch / "socket"

    async def start(self) -> None:
        """Raises `UserError`, `Failed`, `ApiError`."""
        stored = await fetch_job(self._client, self._namespace, self._wanted.job, self._place.flags)
        word, options = shlex.quote(choose_word(stored, self._wanted.job)), self._options
        self._typed = f"paddock board {word}{options}"
        if stored.job is None:
            raise Failed(phrase("{job}: its manifest is wrong, so what it mounts is not known; `{command}` says where",
                                job=stored.key.name, command=f"paddock explain {word}{options}"))  # fmt: skip
        claim, _, below = self._wanted.claim.partition(":")
        try:
            shown = choose_shown(stored.job, claim, below, self._wanted.path, self._typed)
        except Unclear as unclear:
            raise (UserError if self._wanted.claim or self._wanted.path else Failed)(*unclear.said) from None
        mount = shown.mount
        image = choose_image(stored.job, mount.path, self._wanted.image)
        asked = Asked(mount.claim, mount.path, mount.below, shown.directory, image, self._wanted.tool or ANY)
        self._pod = await self._find(stored.job, asked)
        told = await self._wait_until_it_listens()
        self._say_shown(asked, told)
        await self._forward(int(told["port"]))

    async def wait(self) -> str:
        """Raises `IdleEnd`, `Failed`, `ApiError`."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
        raise AssertionError("each ends by an error")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listening is not None:
            self._listening.close()
        await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)
        await self._delete_own()

    # The pod

    async def _find(self, job: Job, asked: Asked) -> Manifest:
        """The pod that shows this already, or a new one."""
        name = name_board(job.key.name)
        pod = await self._get(name)
        if pod is not None:
            found = read_board(pod, job)
            if found.asked is None:
                raise Failed(phrase("there is a pod {pod} which is no board of {job}", pod=name, job=job.key.name))
            if not found.ended and is_shown(asked, found.asked):
                self._access.place = found.place
                print_notice(localized(phrase("the pod {pod} shows it already", pod=name)))
                return pod
            if not found.ended:
                raise Failed(
                    phrase("the pod {pod} shows something else of {job}, or by another image or program: {shown} "
                           "({image}, {tool})", pod=name, job=job.key.name, shown=tell_asked(found.asked),
                           image=found.asked.image or "-", tool=_name_tool(found.asked.wanted)),
                    phrase("it goes when nobody looks; `{command}` ends it now", command=self._tell_deletion(name)),
                )  # fmt: skip
            await self._remove(name, uid_of(pod))
        pin = await self._find_pin(asked.claim)
        manifest = build_pod(
            job, asked, place=self._access.place, language=readers_language(), idle=self._wanted.idle, pin=pin
        )
        self._creating = asyncio.create_task(self._client.create(PODS, manifest))
        try:
            made = await asyncio.shield(self._creating)
        except AlreadyExists:
            raise Failed(phrase("another command has just made the pod {pod}: type `{command}` again to use it",
                                pod=name, command=self._typed)) from None  # fmt: skip
        print_notice(localized(phrase("made the pod {pod}, which shows {shown}", pod=name, shown=tell_asked(asked))))
        return made

    async def _get(self, name: str) -> Manifest | None:
        try:
            return await self._client.get(PODS, self._namespace, name)
        except NotFound:
            return None

    async def _remove(self, name: str, uid: str) -> None:
        """A board that has ended, or is about to."""
        with suppress(NotFound, Conflict):
            await self._client.delete(PODS, self._namespace, name, uid=uid)
        try:
            async with asyncio.timeout(_GONE_SECONDS):
                while (pod := await self._get(name)) is not None and uid_of(pod) == uid:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_SECONDS / 4)
        except TimeoutError:
            command = f"{self._place.flags.kubectl} describe pod {name} -n {self._namespace}"
            said = phrase("the pod {pod} of a board that has ended is not gone after {count} s, and the next has its "
                          "name: {command}", pod=name, count=round(_GONE_SECONDS), command=command)  # fmt: skip
            raise Failed(said) from None

    async def _find_pin(self, name: str) -> Pin | None:
        claim: Manifest | None = None
        with suppress(Forbidden):
            try:
                claim = await self._client.get(CLAIMS, self._namespace, name)
            except NotFound:
                raise Failed(phrase("there is no claim {claim} in namespace {namespace}, which the job mounts",
                                    claim=name, namespace=self._namespace)) from None  # fmt: skip
        pods = (await self._client.list(PODS, self._namespace)).items
        users = list_users(name, pods)
        if read_modes(claim) == ["ReadWriteOncePod"] and users:
            raise Failed(
                phrase("only one pod at a time may have the claim {claim} (ReadWriteOncePod), and {pod} has it: the "
                       "board can be opened when that has ended", claim=name, pod=name_of(users[0]))
            )  # fmt: skip
        return find_pin(claim, name, pods)

    async def _delete_own(self) -> None:
        if self._creating is None:
            return
        (made,) = await asyncio.gather(self._creating, return_exceptions=True)
        if isinstance(made, BaseException):
            return
        name = name_of(made)
        if self._wanted.keeps:
            said = phrase("the pod {pod} stays until nobody has looked for {count} min; `{command}` ends it now",
                          pod=name, count=self._wanted.idle // 60, command=self._tell_deletion(name))  # fmt: skip
            print_notice(localized(said))
            return
        try:
            await self._client.delete(PODS, self._namespace, name, uid=uid_of(made))
        except (NotFound, Conflict):
            return
        except ApiError as error:
            said = phrase("the pod {pod} could not be deleted ({why}), and goes when nobody has looked for {count} min",
                          pod=name, why=Foreign(error.message), count=self._wanted.idle // 60)  # fmt: skip
            print_notice(localized(said))
            return
        print_notice(localized(phrase("the pod {pod} is deleted", pod=name)))

    def _tell_deletion(self, name: str) -> str:
        return f"{self._place.flags.kubectl} delete pod {name} -n {self._namespace}"

    # Its program

    async def _wait_until_it_listens(self) -> dict[str, Any]:
        """What it tells then."""
        said, events, looked = "", list[Manifest](), 0.0
        loop = asyncio.get_running_loop()
        while True:
            pod = await self._look()
            if (pod.get("status") or {}).get("phase") == "Running":
                told = read_told(await self._read_log(pod))
                if found := next((each for each in told if "port" in each), None):
                    return found
            elif loop.time() - looked > _EVENT_SECONDS:
                events, looked = await self._list_events(pod), loop.time()
            why = explain_wait(pod, events, readers_language()) or localized(phrase("waiting for its program to start"))
            if why != said:
                print_notice(localized(phrase("{said}: {why}", said=name_of(pod), why=why)))
                said = why
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self) -> Manifest:
        """The pod now. Raises `Failed`, `IdleEnd` if it has ended."""
        assert self._pod is not None
        pod = await self._get(name_of(self._pod))
        if pod is None or uid_of(pod) != uid_of(self._pod):
            raise Failed(phrase("the pod {pod} is gone: somebody has deleted it, or the job", pod=name_of(self._pod)))
        status = pod.get("status") or {}
        if status.get("phase") in ("Succeeded", "Failed"):
            await self._explain_end(pod)
        for each in status.get("containerStatuses") or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _WAITED_IN_VAIN:
                raise Failed(phrase("the pod {pod} cannot start: {why}", pod=name_of(pod),
                                    why=Foreign(str(waiting.get("message") or waiting["reason"]))))  # fmt: skip
        return pod

    async def _explain_end(self, pod: Manifest) -> None:
        """Raises `Failed`, `IdleEnd`."""
        log = ""
        with suppress(ApiError):
            log = await self._read_log(pod)
        told, status = read_told(log), pod.get("status") or {}
        if any("idle" in each for each in told):
            raise IdleEnd
        ends = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or ()]
        lacks: list[str] = next((each["lacks"] for each in told if "lacks" in each), [])
        if lacks and any(each.get("exitCode") == _LACKS for each in ends):
            raise Failed(*self._explain_lack(lacks))
        why = str(status.get("message") or status.get("reason") or "")
        why = why or next((str(each.get("message") or each.get("reason") or "") for each in ends), "")
        if has_not_started(pod) and not told:
            image = str(pod["spec"]["containers"][0].get("image") or "-")
            said = phrase("no python3 can be started in the image {image}: {why}", image=image, why=Foreign(why))
            raise Failed(said, self._advise_image())
        last = "\n".join([line for line in log.splitlines() if not line.startswith(MARK)][-_LINES:])
        said = phrase("the pod {pod} has ended by itself ({why}); it printed last:", pod=name_of(pod), why=Foreign(why))
        raise Failed(said, last or "-")

    def _explain_lack(self, lacks: list[str]) -> list[Phrase]:
        assert self._pod is not None
        image = str(self._pod["spec"]["containers"][0].get("image") or "")
        titles = Names(tuple(TOOLS[each].title for each in lacks if each in TOOLS), "or")
        said = phrase("the image {image} has no {tools}, or no Python that finds it", image=image or "-", tools=titles)
        return [said, self._advise_image()]

    def _advise_image(self) -> Phrase:
        return phrase("name an image that has it: `{command}`", command=f"{self._typed} --image IMAGE")

    async def _read_log(self, pod: Manifest) -> str:
        """What it has printed; empty while its node gives nothing."""
        parts = list[bytes]()
        try:
            async for chunk in self._client.stream_log(self._namespace, name_of(pod), container="board"):
                parts.append(chunk)
        except Forbidden:
            raise
        except ApiError:
            return ""
        return b"".join(parts).decode(errors="replace")

    async def _list_events(self, pod: Manifest) -> list[Manifest]:
        """Empty where they may not be read."""
        try:
            found = await self._client.list(EVENTS, self._namespace, fields=f"involvedObject.uid={uid_of(pod)}")
        except ApiError:
            return []
        return found.items

    def _say_shown(self, asked: Asked, told: dict[str, Any]) -> None:
        tool = TOOLS[str(told["name"])]
        said = phrase("{tool} over {shown}", tool=tool.title, shown=tell_asked(asked))
        print_notice(localized(said))
        if not told.get("files") and not self._wanted.tool:
            said = phrase("there is no file of TensorBoard or VisualDL yet; --with names the program, --path another "
                          "directory")  # fmt: skip
            print_notice(localized(said))
        elif not told.get("files"):
            print_notice(localized(phrase("there is no file of {tool} yet", tool=tool.title)))
        elif told.get("others"):
            other = next(each for each in TOOLS.values() if each is not tool)
            said = phrase("there are files of {tool} too: --with {option}", tool=other.title, option=other.name)
            print_notice(localized(said))

    # Its port

    async def _forward(self, port: int) -> None:
        """Raises `ApiError` where the port cannot be had, before a link to it is shown."""
        from paddock.cli.follow.forwarding import Forwarder
        from paddock.client.pod_streams import open_port

        assert self._pod is not None
        name = name_of(self._pod)
        await (await open_port(self._client, self._namespace, name, port)).close()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(self.socket))
        self._listening.listen(128)
        forwarder = Forwarder(self._client, self._namespace, name, name, lambda said: print_notice(localized(said)))
        self._tasks = [
            asyncio.create_task(forwarder.run([(self._listening, port)])),
            asyncio.create_task(self._watch()),
        ]

    async def _watch(self) -> None:
        """Ends by an error once the pod has ended."""
        assert self._pod is not None
        fields = f"metadata.name={name_of(self._pod)}"
        async for _ in self._client.follow(PODS, self._namespace, fields=fields):
            await self._look()


def tell_asked(asked: Asked) -> Phrase:
    return phrase("{path} of the claim {claim}", path=asked.directory, claim=asked.claim)


def is_shown(asked: Asked, found: Asked) -> bool:
    """Whether a board is the one that is asked for. Pure."""
    return found == (replace(asked, wanted=found.wanted) if asked.wanted == ANY else asked)


def _name_tool(wanted: str) -> str | Names:
    return TOOLS[wanted].title if wanted in TOOLS else Names(tuple(each.title for each in TOOLS.values()), "or")
