"""Datasets on a cluster: each in a claim of its own, filled by a Job. I/O.

What is there is read of the cluster each time, so that a controller that was started anew goes on where the one before
was. The Job goes on without any controller.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from paddock.datasets.claim_listings import ClaimListings
from paddock.datasets.claims import (
    build_claim,
    explain_foreign,
    explain_leaving,
    explain_lost,
    explain_missing,
    explain_pending,
    is_bound,
)
from paddock.datasets.definition import Definition
from paddock.datasets.fetch_jobs import (
    CLAIM_ANNOTATION,
    FetchPod,
    build_job,
    build_job_name,
    explain_unfetchable,
    fails_by_itself,
    read_condition,
)
from paddock.datasets.fetch_pods import cut, has_ended
from paddock.datasets.fetching import Fault, Progress
from paddock.datasets.job_reading import JobReader, ReadLog
from paddock.datasets.labels import build_label
from paddock.datasets.sources import Kind
from paddock.datasets.states import Failed, Fetching, Ready, State, Unfetched, read_recorded
from paddock.datasets.supplier import Report
from paddock.kube.api import Api
from paddock.kube.datasets import LABEL
from paddock.kube.errors import AlreadyExists, BadRequest, Conflict, Forbidden, Invalid, NotFound
from paddock.kube.meta import (
    BATCH_JOBS,
    CLAIMS,
    PODS,
    Key,
    Manifest,
    Resource,
    annotations_of,
    controller_of,
    is_controlled_by,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from paddock.kube.service_accounts import find_token_owner
from paddock.words.phrases import phrase

POLL_SECONDS = 2.0
RELOOK_SECONDS = 300.0
_AT_FULL_PACE = 8
"""Datasets that are looked at every `POLL_SECONDS`."""
_STILL, _SLOWEST = 30, 8.0
"""Looks that found the same, after which the next ones come later, and how much later at most."""


class ClusterSupplier:
    """Satisfies `datasets.supplier.Supplier`. `poll_seconds`: between two looks at a dataset that is fetched.
    `relook_seconds`: of those that are ready, how old what is known of their claims may be. Somebody may delete a claim
    or lose its volume, and a dataset whose claim is gone must not say that it is ready: it is fetched anew.
    `own_accounts`: of Paddock, whose tokens no source is told (`kube.service_accounts`)."""

    status_seconds = 2.0

    def __init__(
        self,
        api: Api,
        read_log: ReadLog,
        pod: FetchPod,
        *,
        poll_seconds: float = POLL_SECONDS,
        relook_seconds: float = RELOOK_SECONDS,
        own_accounts: Collection[Key] = (),
    ) -> None:
        self._own_accounts = own_accounts
        self.relook_seconds: float | None = relook_seconds
        self._listings = ClaimListings(api, relook_seconds)
        self._api = api
        self._jobs = JobReader(api, read_log)
        self._pod = pod
        self._poll_seconds = poll_seconds
        self._followed: Counter[str] = Counter()

    async def look(self, dataset: Definition, status: Mapping[str, Any]) -> State:
        if problem := self._explain_refused(dataset):
            return Failed(problem, Fault.SOURCE)
        if dataset.source.kind is Kind.CLAIM:
            return await self._look_at_claim(dataset)
        claim = await self._find_claim(dataset)
        if claim is None or not _is_own(claim, dataset):
            return Unfetched()
        job = await self._find_job(dataset, claim)
        if job is not None:
            return await self._jobs.read(job, claim, Progress(phase="starting"))
        # Somebody has deleted the Job: what it said is in the status, if that is about this very source.
        same = status.get("observedGeneration") == dataset.generation
        return (read_recorded(dataset, status) if same else None) or Unfetched()

    async def stands(self, dataset: Definition) -> bool:
        """By one list of the namespace's claims for all of its Datasets. A claim of the user's own is looked at itself:
        one request."""
        if dataset.source.kind is Kind.CLAIM:
            return isinstance(await self._look_at_claim(dataset), Ready)
        claim = await self._listings.find(dataset)
        return claim is not None and _is_own(claim, dataset)

    async def fetch(self, dataset: Definition, report: Report) -> State:
        if problem := self._explain_refused(dataset):
            return Failed(problem, Fault.SOURCE)
        follow = self._await_claim if dataset.source.kind is Kind.CLAIM else self._fill_claim
        namespace = dataset.key.namespace
        self._followed[namespace] += 1
        try:
            return await follow(dataset, report)
        except (Invalid, BadRequest) as error:
            return Failed(
                str(phrase("the cluster does not take spec.storage: {why}", why=cut(error.message))), Fault.SOURCE
            )
        except Forbidden as error:
            # A quota, or a right that the operator lacks: the message of the server names it.
            return Failed(str(phrase("the cluster refuses it: {why}", why=cut(error.message))), Fault.MACHINE)
        finally:
            self._followed[namespace] -= 1
            self._followed += Counter()  # without those of which none is left

    def _explain_refused(self, dataset: Definition) -> str:
        """Why no pod is to fetch it; empty if one may. Its address may be that of anybody's server."""
        secret, namespace = dataset.secret, dataset.key.namespace
        if account := find_token_owner(secret, namespace, self._own_accounts):
            said = phrase(
                'spec.source.secretName: found "{name}", a token of {account}, the service account of Paddock itself '
                "in namespace {namespace}, which is sent to no source; any other Secret is allowed",
                name=secret, account=account, namespace=namespace,
            )  # fmt: skip
            return str(said)
        return explain_unfetchable(dataset, self._pod)

    async def remove(self, dataset: Definition) -> None:
        for job in await self._list_jobs(dataset):
            await self._delete(BATCH_JOBS, job)
        claim = None if dataset.source.kind is Kind.CLAIM else await self._find_claim(dataset)
        if claim is not None and is_controlled_by(claim, dataset.uid):
            await self._delete(CLAIMS, claim)

    async def prune(self, dataset: Definition) -> None:
        """Nothing: a claim has one round, which the next one changes in place."""

    def has_remains(self, dataset: Definition) -> bool:
        return False

    async def _fill_claim(self, dataset: Definition, report: Report) -> State:
        await self._discard_failed(dataset)
        last, same, progress = None, 0, Progress(phase="starting")
        while isinstance(state := await self._advance(dataset, progress), Fetching):
            last, same, progress = state, same + 1 if state == last else 0, state.progress
            report(state)
            await asyncio.sleep(self._delay(dataset, same))
        return state

    async def _discard_failed(self, dataset: Definition) -> None:
        """Deletes a Job whose failure is to be tried again. One of the source stays, as it would fail again."""
        claim = await self._find_claim(dataset)
        job = None if claim is None else await self._find_job(dataset, claim)
        if claim is None or job is None:
            return
        state = await self._jobs.read(job, claim, Progress(phase="starting"))
        if isinstance(state, Failed) and state.retries:
            await self._delete(BATCH_JOBS, job)

    async def _advance(self, dataset: Definition, progress: Progress) -> State:
        """Makes what is missing and reads what is there: one step, which may be the last."""
        claim = await self._find_claim(dataset)
        if claim is None:
            with suppress(AlreadyExists):
                await self._api.create(CLAIMS, build_claim(dataset))
            return Fetching(progress, waiting=str(phrase("the claim {name} is being made", name=dataset.claim)))
        if leaving := explain_leaving(dataset, claim):
            return Fetching(progress, waiting=leaving)
        if problem := explain_foreign(dataset, claim):
            return Failed(problem, Fault.SOURCE)
        if problem := explain_lost(claim):
            return Failed(problem, Fault.MACHINE)
        jobs = await self._list_jobs(dataset)
        job = _choose_job(dataset, claim, jobs)
        if await self._end_others(dataset, job, jobs):
            waiting = str(phrase("the pod that fetched what was wanted before is being ended"))
            return Fetching(progress, waiting=waiting)
        if job is None:
            with suppress(AlreadyExists):
                await self._api.create(BATCH_JOBS, build_job(dataset, uid_of(claim), self._pod))
            waiting = str(phrase("its pod is about to be made"))
            return Fetching(progress, waiting=waiting, job=build_job_name(dataset))
        state = await self._jobs.read(job, claim, progress)
        if isinstance(state, Failed) and read_condition(job) is None and not fails_by_itself(job):
            await self._delete(BATCH_JOBS, job)
        return state

    async def _end_others(self, dataset: Definition, current: Manifest | None, jobs: Sequence[Manifest]) -> bool:
        """Deletes the Jobs of other sources and rounds. Whether a pod of one still works: two would write at once."""
        for job in jobs:
            if current is None or uid_of(job) != uid_of(current):
                await self._delete(BATCH_JOBS, job)
        own = uid_of(current) if current else ""
        listed = await self._api.list(PODS, dataset.key.namespace, labels=_selector(dataset))
        return any(not has_ended(pod) and (controller_of(pod) or {}).get("uid") != own for pod in listed.items)

    async def _find_claim(self, dataset: Definition) -> Manifest | None:
        try:
            return await self._api.get(CLAIMS, dataset.key.namespace, dataset.claim)
        except NotFound:
            return None

    async def _find_job(self, dataset: Definition, claim: Manifest) -> Manifest | None:
        return _choose_job(dataset, claim, await self._list_jobs(dataset))

    async def _list_jobs(self, dataset: Definition) -> list[Manifest]:
        listed = await self._api.list(BATCH_JOBS, dataset.key.namespace, labels=_selector(dataset))
        return [job for job in listed.items if is_controlled_by(job, dataset.uid)]

    async def _delete(self, resource: Resource, manifest: Manifest) -> None:
        """With its pods. What is gone, or another of this name by now, is nothing to delete."""
        with suppress(NotFound, Conflict):
            await self._api.delete(resource, namespace_of(manifest), name_of(manifest), uid=uid_of(manifest))

    def _delay(self, dataset: Definition, same: int) -> float:
        return self._poll_seconds * slow_down(self._followed[dataset.key.namespace], len(self._followed), same)

    async def _await_claim(self, dataset: Definition, report: Report) -> State:
        last, same = None, 0
        while isinstance(state := await self._look_at_claim(dataset), Unfetched):
            last, same = state, same + 1 if state == last else 0
            report(state)
            await asyncio.sleep(self._delay(dataset, same))
        return state

    async def _look_at_claim(self, dataset: Definition) -> State:
        """The state of a dataset with the source `claim://NAME`: the claim is the dataset, as it is."""
        claim = await self._find_claim(dataset)
        if claim is None:
            others = (await self._api.list(CLAIMS, dataset.key.namespace)).items
            return Failed(explain_missing(dataset, map(name_of, others)), Fault.MACHINE)
        if problem := explain_lost(claim):
            return Failed(problem, Fault.MACHINE)
        why = "" if is_bound(claim) else explain_pending(claim, await self._jobs.list_events(claim))
        return Unfetched(why) if why else Ready()


def slow_down(own: int, namespaces: int, same: int) -> float:
    """How many times longer than `POLL_SECONDS` is between two looks. A look is five requests: many datasets are looked
    at less often, so that all make 20 a second at most, and so is one that has waited for long, as for a volume or for
    a node with room. Each namespace has an equal share, however many are followed in the others. `own`: those of its
    namespace, of `namespaces` in which some are followed; `same`: looks in a row that found the same. Pure."""
    return max(1.0, own * namespaces / _AT_FULL_PACE) * min(_SLOWEST, max(1.0, same / _STILL))


def _is_own(claim: Manifest, dataset: Definition) -> bool:
    """Whether what was fetched into the claim is there."""
    return not is_deleting(claim) and not explain_lost(claim) and is_controlled_by(claim, dataset.uid)


def _choose_job(dataset: Definition, claim: Manifest, jobs: Iterable[Manifest]) -> Manifest | None:
    """The Job of this source and round that fills this very claim."""
    for job in jobs:
        fills = annotations_of(job).get(CLAIM_ANNOTATION) == uid_of(claim)
        if name_of(job) == build_job_name(dataset) and fills and not is_deleting(job):
            return job
    return None


def _selector(dataset: Definition) -> str:
    return f"{LABEL}={build_label(dataset.key.name)}"
