"""What the Job that fetches a Dataset has come to, by its pods, their events and their log. I/O; changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from paddock.datasets.claims import explain_pending, is_bound
from paddock.datasets.fetch_jobs import read_condition
from paddock.datasets.fetch_pods import (
    cut,
    explain_end,
    explain_waiting,
    find_last,
    find_warning,
    has_ended,
    read_end,
    read_finish,
    read_last_report,
    read_phase,
)
from paddock.datasets.fetching import Failed as ReportedFailure
from paddock.datasets.fetching import Fault, Fetched, Progress
from paddock.datasets.states import Failed, Fetching, Ready, State
from paddock.kube.api import Api
from paddock.kube.datasets import LABEL
from paddock.kube.errors import ApiError
from paddock.kube.meta import EVENTS, PODS, Manifest, is_controlled_by, labels_of, name_of, namespace_of, uid_of
from paddock.words.phrases import Phrase, phrase

ReadLog = Callable[[str, str], Awaitable[bytes]]
"""Namespace and name of a pod -> the last lines of its log. Raises `ApiError`."""


class JobReader:
    def __init__(self, api: Api, read_log: ReadLog) -> None:
        self._api = api
        self._read_log = read_log

    async def read(self, job: Manifest, claim: Manifest, before: Progress) -> State:
        """What a Job has come to. `before`: what is shown while nothing newer is known."""
        pod = find_last(await self._list_pods(job))
        ended, end = read_condition(job), None if pod is None else await self._read_end(pod)
        if isinstance(end, ReportedFailure):
            return Failed(end.message, end.fault)
        if (ended is not None and ended.get("type") == "Complete") or isinstance(end, Fetched):
            return _build_ready(job, pod, end)
        if ended is not None:
            return Failed(str(_explain_given_up(job, pod, ended)), Fault.MACHINE)
        if pod is None:
            refused = find_warning(await self.list_events(job))
            waiting = str(phrase("its pod cannot be made: {why}", why=refused)) if refused else ""
            return Fetching(before, waiting=waiting, job=name_of(job))
        if has_ended(pod):
            said = phrase("its pod was lost, and another one goes on: {why}", why=explain_end(pod))
            return Fetching(before, waiting=str(said), job=name_of(job))
        if read_phase(pod) == "Pending":
            return Fetching(before, waiting=await self._explain_pending(pod, claim), job=name_of(job))
        said_last = await self._read_progress(pod)
        return Fetching(said_last or before, job=name_of(job))

    async def _read_end(self, pod: Manifest) -> Fetched | ReportedFailure | None:
        """What the kubelet has kept of the end; of a program that keeps nothing, the log."""
        if not has_ended(pod):
            return None
        if (kept := read_end(pod)) is not None:
            return kept
        found = read_last_report(await self._read_lines(pod))
        return found if isinstance(found, Fetched | ReportedFailure) else None

    async def _read_progress(self, pod: Manifest) -> Progress | None:
        found = read_last_report(await self._read_lines(pod))
        return found if isinstance(found, Progress) else None

    async def _read_lines(self, pod: Manifest) -> bytes:
        """A log that cannot be read, as its node does not answer, is no failure of the dataset."""
        try:
            return await self._read_log(namespace_of(pod), name_of(pod))
        except ApiError:
            return b""

    async def _explain_pending(self, pod: Manifest, claim: Manifest) -> str:
        if not is_bound(claim) and (why := explain_pending(claim, await self.list_events(claim))):
            return why
        return explain_waiting(pod, await self.list_events(pod))

    async def _list_pods(self, job: Manifest) -> list[Manifest]:
        selector = f"{LABEL}={labels_of(job)[LABEL]}"
        listed = await self._api.list(PODS, namespace_of(job), labels=selector)
        return [pod for pod in listed.items if is_controlled_by(pod, uid_of(job))]

    async def list_events(self, of: Manifest) -> list[Manifest]:
        """The last one last."""
        fields = f"involvedObject.uid={uid_of(of)}"
        listed = await self._api.list(EVENTS, namespace_of(of), fields=fields)
        return sorted(listed.items, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))


def _build_ready(job: Manifest, pod: Manifest | None, end: Fetched | None) -> Ready:
    """Without the child's report it is not known how much is there; that all is there, the Job says."""
    # The pod's own time first, which is there before the Job's and does not change with it.
    finished = (read_finish(pod) if pod else "") or str((job.get("status") or {}).get("completionTime") or "")
    if end is None:
        return Ready(finished=finished)
    return Ready(
        size=end.size,
        files=end.files,
        revision=end.revision,
        finished=finished,
        length_unknown=end.length_unknown,
        tags_differ=end.tags_differ,
    )


def _explain_given_up(job: Manifest, pod: Manifest | None, condition: Mapping[str, Any]) -> Phrase:
    tried = int((job.get("status") or {}).get("failed") or 0)
    if pod is None:
        why = cut(str(condition.get("message") or condition.get("reason")))
        return phrase("the Job {name} has given up: {why}", name=name_of(job), why=why)
    if tried > 1:
        return phrase(
            "the pod that fetches was ended before its work was done, {count} times; the last one: {why}",
            count=tried, why=explain_end(pod),
        )  # fmt: skip
    return phrase("the pod that fetches was ended before its work was done; the last one: {why}", why=explain_end(pod))
