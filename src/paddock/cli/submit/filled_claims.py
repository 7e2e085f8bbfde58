"""Fills the claims of a job before it is created: asks the cluster what is there, makes claim and pod by the user's own
rights, and follows the pod to its end.

A claim that is filled already is used as it is. Two commands that want the same claim follow the same pod. What failed
is removed, so that the next command begins anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddock.app.filled_claims.contents import Kind
from paddock.app.filled_claims.manifests import (
    CONTAINER,
    Held,
    build_claim,
    build_pod,
    build_receiving,
    build_used,
    name_pod,
    read_claim,
)
from paddock.app.filled_claims.mounts import set_search_paths
from paddock.app.filled_claims.reach import (
    STORAGE_CLASSES,
    StorageClass,
    choose_modes,
    count_nodes,
    explain_class,
    find_node,
    judge_modes,
    read_class,
)
from paddock.app.filled_claims.told import (
    Failure,
    Told,
    explain_failed,
    explain_filled,
    explain_step,
    read_told,
)
from paddock.app.pods_beside import has_not_started
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.filled_claims import belongs, end_filling
from paddock.cli.output.language import readers_language
from paddock.cli.submit.claim_directories import Fill
from paddock.cli.submit.sent_archives import Archive, open_archive
from paddock.datasets.claims import explain_lost, explain_pending, is_bound
from paddock.datasets.fetch_pods import explain_end, explain_waiting, has_ended, read_phase
from paddock.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from paddock.kube.meta import CLAIMS, EVENTS, NODES, PODS, VOLUMES, Manifest, Resource, is_deleting, name_of, uid_of
from paddock.kube.pod_streams import StreamRequest, read_not_started
from paddock.kube.quantities import format_bytes
from paddock.kube.times import format_duration, format_time
from paddock.submission.documents import Checked
from paddock.views.flags import Flags
from paddock.words.phrases import Foreign, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.kube.api import Api

LOOK_SECONDS = 1.0
SAY_SECONDS = 20.0
"""Between two lines of progress where there is no live line."""
PATIENCE_SECONDS = 90.0
"""How long a storage may say that it cannot give a volume."""
_TRIES = 3
"""Pods that may be ended from outside, in a row."""
_TAIL = 400
"""Lines of a log that are read while it runs."""
_LARGEST_LOG = 2**20
"""Bytes of it that are kept, the last ones."""
_PIECE = 2**18
_REFUSED = ("ProvisioningFailed", "FailedBinding")
_WAITED_IN_VAIN = frozenset({"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"})
_FROM_OUTSIDE = ("Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated", "NodeAffinity")
Notify = Callable[[Phrase], None]


async def find_refusals(api: Api, fills: Sequence[Fill], flags: Flags, notify: Notify) -> list[tuple[Fill, Phrase]]:
    """What is surely in the way of the claims, before anything is made; what is not known is told. Raises `ApiError`:
    the first request is refused where the right is lacking."""
    found: list[tuple[Fill, Phrase]] = []
    for fill in fills:
        held = await _fetch_held(api, fill)
        if isinstance(held, Phrase):
            found.append((fill, held))
            continue
        classes = await _list_classes(api)
        if held is None and (said := explain_class(classes, fill.storage_class)):
            found.append((fill, said))
            continue
        modes = held.modes if held else choose_modes(classes, fill.storage_class, fill.ranks)
        nodes = await _count_nodes(api) if fill.ranks > 1 and "ReadWriteMany" not in modes else None
        undo = tell_removal(fill.content.name, fill.namespace, flags)
        judged = judge_modes(fill.content.name, modes, fill.ranks, nodes, together=fill.together, undo=undo)
        if judged.refused:
            found.append((fill, judged.refused))
        elif judged.told:
            notify(judged.told)
    return found


def tell_removal(claim: str, namespace: str, flags: Flags) -> str:
    return f"paddock env rm {claim}{flags.of(namespace)}"


async def _fetch_held(api: Api, fill: Fill) -> Held | Phrase | None:
    """The claim as it is; None if there is none. A sentence where it cannot be used."""
    try:
        claim = await api.get(CLAIMS, fill.namespace, fill.content.name)
    except NotFound:
        return None
    return _judge_claim(claim, fill)


def _judge_claim(claim: Mapping[str, Any], fill: Fill) -> Held | Phrase:
    held = read_claim(claim)
    if held is None or not held.is_of(fill.content):
        return phrase(
            "the claim {name} is there and was made for something else, so nothing is written into it: remove it, or "
            "use another namespace", name=name_of(claim),
        )  # fmt: skip
    if lost := explain_lost(claim):
        return phrase("{why}", why=Foreign(lost))
    return held


async def _list_classes(api: Api) -> list[StorageClass] | None:
    """None where they may not be listed, or there is no such kind."""
    try:
        return [read_class(each) for each in (await api.list(STORAGE_CLASSES)).items]
    except (Forbidden, NotFound):
        return None


async def _count_nodes(api: Api) -> int | None:
    try:
        return count_nodes((await api.list(NODES)).items)
    except Forbidden:
        return None


async def fill_claims(
    api: Api,
    fills: Sequence[Fill],
    checked: Sequence[Checked],
    flags: Flags,
    notify: Notify,
    show: Callable[[str], None] = lambda _: None,
) -> list[Checked]:
    """The documents, whose programs find what is in the claims. `show`: the live line. Raises `Failed`, `ApiError`."""
    if not fills:
        return list(checked)
    reports: dict[tuple[str, str], Mapping[str, Any]] = {}
    for fill in fills:
        key = (fill.namespace, fill.content.name)
        if key not in reports:
            reports[key] = await Filling(api, fill, flags, notify, show).run()
    changed = []
    for each in checked:
        own = {name: report for (namespace, name), report in reports.items() if namespace == each.key.namespace}
        manifest = set_search_paths(each.manifest, own) if each.is_job else each.manifest
        changed.append(each.with_manifest(manifest) if manifest != each.manifest else each)
    return changed


class _Disrupted(Exception):
    """The pod was ended from outside: another one begins anew."""


class Filling:
    """One claim, from what is there to its being filled."""

    def __init__(
        self, api: Api, fill: Fill, flags: Flags, notify: Notify, show: Callable[[str], None] = lambda _: None
    ) -> None:
        self._api, self._fill, self._flags, self._notify, self._show = api, fill, flags, notify, show
        self._name, self._namespace = fill.content.name, fill.namespace
        self._begun = self._last_said = self._refused_since = 0.0
        self._said = ""
        self._own = False
        """Whether this command has made the pod."""

    async def run(self) -> Mapping[str, Any]:
        """What the pod told when all was in the claim. Raises `Failed`, `ApiError`."""
        claim = await self._have_claim()
        held = read_claim(claim)
        assert held is not None, "it was judged"
        if held.report is not None:
            await self._mark()
            self._notify(self._explain_ready(held.report, held.size, None))
            await self._tell_node(held.modes)
            return held.report
        self._begun = asyncio.get_running_loop().time()
        report = await self._fill_it(claim, held.size)
        await self._mark(report)
        with suppress(ApiError):
            await end_filling(self._api, claim)
        seconds = asyncio.get_running_loop().time() - self._begun
        self._show("")
        self._notify(self._explain_ready(report, held.size, seconds))
        await self._tell_node(held.modes)
        return report

    async def _tell_node(self, modes: Sequence[str]) -> None:
        """Of storage on a node's own disk, as far as it may be read: the job can run there alone."""
        if {"ReadWriteMany", "ReadOnlyMany"} & set(modes):
            return
        with suppress(ApiError):
            claim = await self._api.get(CLAIMS, self._namespace, self._name)
            volume = await self._api.get(VOLUMES, "", str(claim["spec"].get("volumeName") or ""))
            if node := find_node(volume):
                self._notify(phrase("the volume of the claim {claim} is on the node {node} alone, so the job runs "
                                    "there or waits", claim=self._name, node=node))  # fmt: skip

    def _explain_ready(self, report: Mapping[str, Any], size: str, seconds: float | None) -> Phrase:
        if self._fill.content.kind is Kind.CODE:
            if seconds is None:
                return phrase("the claim {claim} has {directory} already: nothing is sent", claim=self._name,
                              directory=self._fill.file)  # fmt: skip
            return phrase("{directory} is in the claim {claim}, after {seconds}", directory=self._fill.file,
                          claim=self._name, seconds=format_duration(seconds))  # fmt: skip
        what = explain_filled(report, size)
        if seconds is None:
            return phrase("the claim {claim} has the packages of {file} already: {what}", claim=self._name,
                          file=self._fill.file, what=what)  # fmt: skip
        return phrase("the packages of {file} are in the claim {claim}, after {seconds}: {what}", file=self._fill.file,
                      claim=self._name, seconds=format_duration(seconds), what=what)  # fmt: skip

    async def _mark(self, report: Mapping[str, Any] | None = None) -> None:
        patch = build_used(format_time(time.time()), report)
        await self._api.patch(CLAIMS, self._namespace, self._name, patch)

    # The claim

    async def _have_claim(self) -> Manifest:
        while True:
            try:
                claim = await self._api.get(CLAIMS, self._namespace, self._name)
            except NotFound:
                try:
                    return await self._make_claim()
                except AlreadyExists:
                    continue
            if is_deleting(claim):
                await self._wait_until_gone(CLAIMS, claim, phrase("the claim {name} is being removed; it goes when no "
                                                                  "pod mounts it", name=self._name))  # fmt: skip
                continue
            held = _judge_claim(claim, self._fill)
            if isinstance(held, Phrase):
                raise Failed(held)
            if self._fill.is_asked:
                self._notify(phrase("--storage and --storage-class are for a new claim, and {claim}, of {size}, is "
                                    "there: `{command}` removes it", claim=self._name, size=held.size,
                                    command=tell_removal(self._name, self._namespace, self._flags)))  # fmt: skip
            return claim

    async def _make_claim(self) -> Manifest:
        classes = await _list_classes(self._api)
        modes = choose_modes(classes, self._fill.storage_class, self._fill.ranks)
        manifest = build_claim(
            self._fill.content, self._namespace, modes, self._fill.storage_class, format_time(time.time())
        )
        made = await self._api.create(CLAIMS, manifest, strict=True)
        self._notify(phrase("made the claim {claim} of {size} ({modes}) for {what}", claim=self._name,
                            size=self._fill.content.size, modes=", ".join(modes), what=self._fill.file))  # fmt: skip
        return made

    async def _remove(self, claim: Manifest) -> None:
        """The claim, and its pod, which would hold it."""
        await end_filling(self._api, claim)
        with suppress(NotFound, Conflict):
            await self._api.delete(CLAIMS, self._namespace, self._name, uid=uid_of(claim))

    async def _wait_until_gone(self, resource: Resource, gone: Mapping[str, Any], why: Phrase) -> None:
        while True:
            try:
                found = await self._api.get(resource, self._namespace, name_of(gone))
            except NotFound:
                return
            if uid_of(found) != uid_of(gone):
                return
            self._say(why)
            await asyncio.sleep(LOOK_SECONDS)

    # The pod

    async def _fill_it(self, claim: Manifest, size: str) -> Mapping[str, Any]:
        for tries in range(1, _TRIES + 1):
            pod = await self._have_pod(claim)
            try:
                return await self._follow(pod, size)
            except _Disrupted as why:
                if (report := await self._fetch_report(claim)) is not None:
                    return report  # another command has removed the pod, as it had done its work
                if tries == _TRIES:
                    raise Failed(phrase("the claim {claim}: its pod was ended from outside {count} times: {why}",
                                        claim=self._name, count=tries, why=Foreign(str(why)))) from None  # fmt: skip
                self._notify(phrase("the pod {pod} was ended from outside ({why}): another one begins anew",
                                    pod=name_of(pod), why=Foreign(str(why))))  # fmt: skip
            except Failed:
                with suppress(ApiError):
                    await self._remove(claim)
                raise
            except asyncio.CancelledError:
                await self._leave(claim)
                raise
        raise AssertionError("the last try raises")

    async def _fetch_report(self, claim: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            now = await self._api.get(CLAIMS, self._namespace, self._name)
        except NotFound:
            raise Failed(phrase("the claim {claim} was deleted while it was filled", claim=self._name)) from None
        held = read_claim(now)
        return held.report if held is not None and uid_of(now) == uid_of(claim) else None

    async def _leave(self, claim: Manifest) -> None:
        """An interrupt: packages go on being installed, and a directory has nobody any more who sends it."""
        if self._fill.content.kind is Kind.PACKAGES:
            self._notify(phrase("the pod {pod} goes on filling the claim {claim}: the next command finds it there",
                                pod=name_pod(self._name), claim=self._name))  # fmt: skip
        elif self._own:
            with suppress(ApiError):
                await self._remove(claim)

    async def _have_pod(self, claim: Manifest) -> Manifest:
        """The one that fills it; one that has failed is replaced."""
        while True:
            try:
                pod = await self._api.get(PODS, self._namespace, name_pod(self._name))
            except NotFound:
                try:
                    made = await self._api.create(PODS, build_pod(self._fill.content, claim), strict=True)
                except AlreadyExists:
                    continue
                self._own = True
                return made
            if not is_deleting(pod) and read_phase(pod) != "Failed" and belongs(pod, claim):
                if not self._own:
                    self._notify(phrase("another command fills it already, by the pod {pod}", pod=name_of(pod)))
                return pod
            if not is_deleting(pod):
                with suppress(NotFound, Conflict):
                    await self._api.delete(PODS, self._namespace, name_of(pod), uid=uid_of(pod))
            await self._wait_until_gone(PODS, pod, phrase("an earlier pod of it ends"))

    async def _follow(self, pod: Manifest, size: str) -> Mapping[str, Any]:
        """What it told at its end. Raises `Failed`, `_Disrupted`."""
        while True:
            now = await self._look(pod)
            if read_phase(now) == "Pending":
                await self._tell_pending(now)
                await asyncio.sleep(LOOK_SECONDS)
                continue
            ended = has_ended(now)
            told = read_told(await self._read_log(now, whole=ended))
            if told.filled is not None:
                return told.filled
            if told.failed is not None:
                raise Failed(*self._explain_failed(told, size))
            if ended:
                self._explain_end(now)
            if told.step.get("step") == "ready":
                return await self._send(now)
            self._say(explain_step(told))
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, pod: Manifest) -> Manifest:
        try:
            now = await self._api.get(PODS, self._namespace, name_of(pod))
        except NotFound:
            raise _Disrupted(str(phrase("it was deleted"))) from None
        if uid_of(now) != uid_of(pod):
            raise _Disrupted(str(phrase("it was deleted")))
        return now

    def _explain_failed(self, told: Told, size: str) -> list[Phrase]:
        content = self._fill.content
        why = explain_failed(Failure(told, content.image, size, self._fill.file))
        if content.kind is Kind.CODE:
            return [phrase("{directory} was not sent: {why}", directory=self._fill.file, why=why)]
        return [phrase("the packages of {file} cannot be installed on the cluster: {why}", file=self._fill.file,
                       why=why), phrase("nothing was submitted")]  # fmt: skip

    def _explain_end(self, pod: Mapping[str, Any]) -> None:
        """Raises: it has ended and told nothing."""
        status: Mapping[str, Any] = pod.get("status") or {}
        conditions = status.get("conditions") or ()
        disrupted = any(each.get("type") == "DisruptionTarget" and each.get("status") == "True" for each in conditions)
        why = explain_end(pod)
        if disrupted or status.get("reason") in _FROM_OUTSIDE:
            raise _Disrupted(why)
        image, python = self._fill.content.image, self._fill.content.python
        if has_not_started(pod):
            raise Failed(phrase("the image {image} has no {python}, by which the claim would be filled: {why}",
                                image=image, python=python, why=Foreign(why)))  # fmt: skip
        raise Failed(phrase("the pod {pod} has ended: {why}", pod=name_of(pod), why=Foreign(why)))

    async def _tell_pending(self, pod: Manifest) -> None:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        waiting = ((statuses[0].get("state") or {}).get("waiting") or {}) if statuses else {}
        why = explain_waiting(pod, await self._list_events(pod))
        if waiting.get("reason") in _WAITED_IN_VAIN:
            raise Failed(phrase("the claim {claim}: {why}", claim=self._name, why=Foreign(why)))
        try:
            claim = await self._api.get(CLAIMS, self._namespace, self._name)
        except NotFound:
            raise Failed(phrase("the claim {claim} was deleted while it was filled", claim=self._name)) from None
        events = [] if is_bound(claim) else await self._list_events(claim)
        pending = explain_pending(claim, events)
        self._refuse_storage(pending, events)
        self._say(phrase("{why}", why=Foreign(pending or why)))

    def _refuse_storage(self, said: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Raises `Failed` where the storage has said for a while that it gives no volume."""
        now = asyncio.get_running_loop().time()
        refused = bool(said) and any(each.get("reason") in _REFUSED for each in events)
        self._refused_since = (self._refused_since or now) if refused else 0.0
        if refused and now - self._refused_since > PATIENCE_SECONDS:
            raise Failed(
                phrase("{why}", why=Foreign(said)),
                phrase("name a storage that gives it with --storage-class, or less of it with --storage"),
            )

    async def _list_events(self, of: Mapping[str, Any]) -> list[Manifest]:
        try:
            found = (await self._api.list(EVENTS, self._namespace, fields=f"involvedObject.uid={uid_of(of)}")).items
        except (Forbidden, NotFound):
            return []
        return sorted(found, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))

    async def _read_log(self, pod: Mapping[str, Any], *, whole: bool) -> str:
        """Empty while its node gives nothing."""
        client: Client = self._api  # type: ignore[assignment]  # who submits has one
        found = bytearray()
        try:
            tail = None if whole else _TAIL
            async for chunk in client.stream_log(self._namespace, name_of(pod), container=CONTAINER, tail=tail):
                found += chunk
                del found[:-_LARGEST_LOG]
        except Forbidden:
            raise
        except ApiError:
            return ""
        return found.decode(errors="replace")

    def _say(self, said: Phrase) -> None:
        """Where there is a live line it has the sentence; else it is printed when it is new, and not too often."""
        what = phrase("waiting for {what}: {why}", what=self._name, why=said)
        self._show(render(what, readers_language()))
        now = asyncio.get_running_loop().time()
        text = str(said)
        if text == self._said or (self._said and now - self._last_said < SAY_SECONDS):
            return
        self._said, self._last_said = text, now
        self._notify(what)

    # A directory

    async def _send(self, pod: Manifest) -> Mapping[str, Any]:
        """What the pod told of it."""
        directory = self._fill.directory
        assert directory is not None, "only a directory is waited for"
        expected = self._fill.content.digest
        opened = open_archive(directory, self._fill.files, expected)
        archive = await asyncio.to_thread(opened.__enter__)
        try:
            return await self._stream(pod, archive)
        finally:
            opened.__exit__(None, None, None)

    async def _stream(self, pod: Manifest, archive: Archive) -> Mapping[str, Any]:
        from paddock.client.pod_streams import open_exec

        command = build_receiving(self._fill.content, archive.size, archive.digest)
        client: Client = self._api  # type: ignore[assignment]  # who submits has one
        session = await open_exec(client, self._namespace, name_of(pod), StreamRequest(CONTAINER, command, stdin=True))
        feeding = asyncio.create_task(self._feed(session, archive))
        printed = bytearray()
        try:
            while (output := await session.read()) is not None:
                printed += output[1]
                del printed[: -(64 << 10)]
                told = read_told(printed.decode(errors="replace"))
                if told.filled is not None or told.failed is not None:
                    break  # its input has no end that every version can tell
        finally:
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(feeding, return_exceptions=True)
            await session.close()
        told = read_told(printed.decode(errors="replace"))
        if told.failed is not None:
            raise Failed(*self._explain_failed(told, self._fill.content.size))
        if told.filled is None:
            ended = read_not_started(await session.wait())
            why = Foreign(ended.message or told.output.strip() or f"exit code {ended.code}")
            raise Failed(phrase("{directory} was not sent: {why}", directory=self._fill.file, why=why))
        return told.filled

    async def _feed(self, session: Any, archive: Archive) -> None:
        sent = 0
        while piece := await asyncio.to_thread(archive.file.read, _PIECE):
            await session.write(piece)
            sent += len(piece)
            self._say(phrase("sending {directory}: {sent} of {total}", directory=self._fill.file,
                             sent=format_bytes(sent), total=format_bytes(archive.size)))  # fmt: skip
        session.close_input()
