"""`paddock suspend`, `resume` and `cancel`: refused as a whole if one of the jobs cannot be, then done one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paddock.cli.cluster.deletion import KILLED_GRACE, MARGIN, Pace, build_waiting, kill
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import fetch_pods
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import run_with_client
from paddock.cli.follow.gone_jobs import fetch_present
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr, stdout
from paddock.client.own_name import fetch_own_name
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.manager import find_other_manager
from paddock.jobs.model import Phase
from paddock.kube.errors import NotFound
from paddock.kube.meta import Manifest, uid_of
from paddock.views.changes import build_change, explain_done, explain_pruned, is_asked
from paddock.views.commands import explain_refusal, explain_why_not, printed_name
from paddock.views.holders import explain_running, find_longest
from paddock.views.stored import StoredJob
from paddock.words.phrases import Phrase, phrase

if TYPE_CHECKING:
    from paddock.client.client import Client

_POLL_SECONDS = 0.2
_QUIET_SECONDS = 2.0
"""Seconds before the user is told what is waited for."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a job that is asked for."""

    client: Client
    place: ClusterChoice
    verb: str
    """`suspend`, `resume` or `cancel`."""
    who: str
    """Who asks for it, as the API names them; empty where that is not known."""
    wait: bool
    """Until no rank of it runs."""
    now: bool = False
    """Its ranks are killed as soon as the change is recorded."""
    pace: Pace = field(default_factory=Pace)

    async def apply(self, job: StoredJob) -> None:
        """Raises `Failed` where it has no effect, `ApiError`."""
        name = printed_name(job.resource, job.key.name)
        if is_asked(self.verb, job.manifest):
            stdout().print(localized(explain_why_not(self.verb, job) or explain_done(self.verb, name)))
        else:
            answer = await self.client.patch(job.resource, *job.key, build_change(self.verb, job.manifest, self.who))
            if why := explain_pruned(self.verb, job.resource, answer):
                raise Failed(why)
        manager = find_other_manager(job.manifest) if self.place.home is not None else ""
        if manager and self.wait and self.verb == "suspend":  # nothing of it runs beside the local cluster
            _notify(phrase("{job} is run by {manager}, which is not waited for", job=name, manager=manager))
        ended = await self._wait(job) if self.wait and not manager else None
        if ended is Phase.COMPLETED:
            raise Failed(phrase("{job} had completed before", job=name))
        if not is_asked(self.verb, job.manifest):
            stdout().print(localized(explain_done(self.verb, name)))

    async def _wait(self, job: StoredJob) -> Phase | None:
        """How the job ended; None if it rests, or is gone. Raises `Failed` if nobody can act on it any more."""
        resting = asyncio.create_task(self._rest(job))
        attending = asyncio.create_task(self.place.attend(self.client, job, _notify))
        try:
            await asyncio.wait([resting, attending], return_when=asyncio.FIRST_COMPLETED)
            if not resting.done():
                raise Failed(attending.result())
            return resting.result()
        finally:
            for task in (resting, attending):
                task.cancel()
            await asyncio.gather(resting, attending, return_exceptions=True)

    async def _rest(self, job: StoredJob) -> Phase | None:
        begun, told = self.pace.now(), False
        since: float | None = None
        grace = 0
        while True:
            try:
                current = await self.client.get(job.resource, *job.key)
            except NotFound:
                return None
            if uid_of(current) != job.uid:
                return None
            phase = KINDS[job.resource].read_status(current).phase
            running = [pod for pod in await fetch_pods(self.client, job) if not _has_ended(pod)]
            if (phase.terminal or phase is Phase.SUSPENDED) and not running:
                return phase if phase.terminal else None
            if phase.terminal or phase is Phase.SUSPENDED:
                if since is None and self.now:  # not before: the operator would take a killed rank for a lost one
                    await kill(self.client, running)
                since = self.pace.now() if since is None else since
                grace = KILLED_GRACE if self.now else max(grace, find_longest(running))
                if self.pace.now() - since > grace + MARGIN:
                    raise Failed(self._explain_late(job, running, self.pace.now() - since))
            if not told and not self.now and self.pace.now() - begun > _QUIET_SECONDS:
                told = True
                _notify(build_waiting(running))
            await self.pace.sleep(_POLL_SECONDS)

    def _explain_late(self, job: StoredJob, running: Sequence[Manifest], waited: float) -> Phrase:
        killing = f"paddock {self.verb} {job.key.name}{self.place.flags.of(job.key.namespace)} --now"
        return phrase(
            "{done}, and its ranks have not ended after {time} s: {why}",
            done=explain_done(self.verb, printed_name(job.resource, job.key.name)), time=round(waited),
            why=explain_running(running, self.place.flags.kubectl, killing),
        )  # fmt: skip


def change_jobs(verb: str, names: Sequence[str], namespace: str, *, wait: bool, now: bool = False) -> None:
    """`now`: the ranks are killed. Raises `UserError` before anything is changed if one of the jobs is not there or
    cannot be changed so."""
    if now and not wait:
        raise UserError(
            phrase("--now kills the ranks once the cluster has taken note of the command: leave --no-wait out")
        )

    async def work(client: Client, place: ClusterChoice) -> None:
        found = [await fetch_present(client, place, namespace, name) for name in dict.fromkeys(names)]
        for job in found:
            if said := explain_refusal(verb, job):
                raise UserError(said)
        who = await fetch_own_name(client, local=place.home is not None)
        change = Change(client, place, verb, who, wait, now)
        for job in found:
            await change.apply(job)

    run_with_client(work)


def _has_ended(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _notify(said: Phrase | str) -> None:
    stderr().print(said if isinstance(said, str) else localized(said))
