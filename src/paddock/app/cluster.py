"""The operator's process on a cluster: leader election by a Lease, probes, metrics, a graceful shutdown.

`serve` runs the process from its first request to its exit code. `ClusterOperator` starts and stops its parts in order,
over any `Api`. Election and probes run in a thread of their own: a Lease lives for seconds, and a plan for many pods
may compute for as long. The thread renews for a loop that is slow, and not for one that is dead (`DEAD_SECONDS`), which
`/healthz` tells, so that the kubelet starts another.

On shutdown no reconcile begins, running reconciles end, events are sent, and only then is the Lease released, so that
the next leader finds no work in progress.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import paddock.app.resident  # noqa: F401  an upgrade beneath this process must not change it
from paddock.app.cluster_datasets import ClusterDatasets, build_log_reader, read_nothing
from paddock.app.cluster_reports import ClusterReports, ReadLines, build_line_reader, read_no_lines
from paddock.app.health import Address, CannotServe, Endpoints, Handlers
from paddock.app.idle_jobs import IdleJobs, ask_prometheus
from paddock.app.notices import Poster, build_notices
from paddock.app.own_accounts import find_account
from paddock.app.prometheus import Address as PrometheusAddress
from paddock.build import BUILD
from paddock.client.client import Client
from paddock.client.credentials import open_credentials
from paddock.client.errors import ConfigError, PluginError
from paddock.client.kubeconfig import Config
from paddock.client.watches import Watches
from paddock.controllers.clock import LocalClock, ServerClock
from paddock.controllers.heartbeat import Heartbeat
from paddock.controllers.loop_thread import LoopThread
from paddock.datasets.cluster import ClusterSupplier
from paddock.datasets.fetch_jobs import FetchPod
from paddock.datasets.job_reading import ReadLog
from paddock.datasets.request_shares import SharedRequests
from paddock.install.own_accounts import build_own_accounts
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE, SCALED
from paddock.jobs.labels import SETTINGS_ANNOTATION, VERSION_ANNOTATION
from paddock.jobs.model import Settings
from paddock.jobs.objects.schedulers import explain_versions
from paddock.kube.api import Api
from paddock.kube.calls import Call
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.guard import GuardedApi, NotBegun
from paddock.kube.meta import AUTOSCALERS, KUBERNETES_POD_GROUPS, Key, Resource
from paddock.operator.blind_watches import RefusalLog, explain_blind
from paddock.operator.election import WITHOUT_ELECTION, AcrossLoops, Election, Leadership
from paddock.operator.metrics import MeasuredApi, Prometheus
from paddock.operator.operator import Operator
from paddock.operator.passes import Passes
from paddock.operator.readings import Readings
from paddock.operator.sharing import Sharing

T = TypeVar("T")

DEFAULTS = Settings()

DRAIN_SECONDS = 10.0
"""Seconds that running reconciles have to end after SIGTERM."""
DEAD_SECONDS = 60.0
"""Without a turn of the loop that reconciles, after which it counts as dead."""
BLIND_SECONDS = 60.0
"""After which an operator is not ready whose right to watch something was taken away: an edit of a role may take
several requests."""
# Seconds between two requests to a cluster that does not answer.
_FIRST_RETRY, _LONGEST_RETRY = 1.0, 10.0

log = logging.getLogger("paddock.cluster")


@dataclass(frozen=True, slots=True)
class Options:
    """The operator's settings."""

    lease_namespace: str
    """The Lease's namespace."""
    namespaces: tuple[str, ...] = ()
    """Empty for all."""
    kinds: tuple[Resource, ...] = (PADDLEPADDLE.resource,)
    pod_groups: Resource | None = None
    """As in `Settings`."""
    master_wait: float = DEFAULTS.master_wait
    """As in `Settings`."""
    end_wait: float = DEFAULTS.end_wait
    """As in `Settings`."""
    loss_limit: int = DEFAULTS.loss_limit
    """As in `Settings`."""
    elastic_wait: float = DEFAULTS.elastic_wait
    """As in `Settings`."""
    elastic_settle: float = DEFAULTS.elastic_settle
    """As in `Settings`."""
    gang_scheduler: str = ""
    """As in `Settings`."""
    substitutes: bool = False
    """As in `Settings`."""
    datasets: FetchPod | None = None
    """How pods fetch Datasets; None to serve none."""
    leader_elect: bool = False
    shards: int = 1
    """Into how many the namespaces are divided; 1 where one operator leads all."""
    metrics: Address | None = None
    """The address to listen on; None to turn them off."""
    probes: Address | None = None
    """The address to listen on; None to turn them off."""
    notices: Path | None = None
    """The file of routes of notices; None to send none."""
    prometheus: PrometheusAddress | None = None
    """Where a Prometheus tells what GPUs do; None to ask none."""
    account: Key | None = None
    """The service account under which this process runs; None where it is not known."""

    @property
    def own_accounts(self) -> frozenset[Key]:
        """Which no pod of a job may have. The Lease is where the operator is."""
        return build_own_accounts(self.lease_namespace, self.account)


def build_settings(options: Options) -> Settings:
    """What plans depend on."""
    return Settings(
        pod_groups=options.pod_groups,
        gang_scheduler=options.gang_scheduler,
        substitutes=options.substitutes,
        autoscalers=AUTOSCALERS if set(options.kinds) & set(SCALED) else None,
        master_wait=options.master_wait,
        end_wait=options.end_wait,
        loss_limit=options.loss_limit,
        elastic_wait=options.elastic_wait,
        elastic_settle=options.elastic_settle,
        datasets=options.datasets is not None,
        own_accounts=options.own_accounts,
        avoids_nodes=True,
    )


def build_lease_annotations(options: Options) -> dict[str, str]:
    """The leader's annotations on its Lease: its version and its settings."""
    settings = {
        "namespaces": list(options.namespaces),
        "kinds": [kind.qualified for kind in options.kinds],
        "podGroups": options.pod_groups.qualified if options.pod_groups else None,
        "gangScheduler": options.gang_scheduler or None,
        "substitute": options.substitutes,
        "datasets": options.datasets is not None,
        "ownAccounts": sorted(map(str, options.own_accounts)),
        **({"shards": options.shards} if options.shards > 1 else {}),
    }
    return {VERSION_ANNOTATION: BUILD, SETTINGS_ANNOTATION: json.dumps(settings)}


def _build_election(api: Api, options: Options, measures: Prometheus) -> Election | Sharing | None:
    if not options.leader_elect:
        return None
    identity, notes = f"{socket.gethostname()}_{uuid.uuid4()}", build_lease_annotations(options)
    if options.shards == 1:
        return Election(api, options.lease_namespace, identity, notes, measures=measures)
    return Sharing(api, options.lease_namespace, identity, options.shards, notes, measures=measures)


class ClusterOperator:
    """The operator, its leader election, its HTTP endpoints, and Datasets if they are served. `api` serves all but the
    Lease, which `lease_api` serves in the loop of `thread`; without a thread, all runs in one loop. `read_log` reads
    the logs of pods that fetch Datasets, `read_lines` those of jobs. `clock`: that of the API server; without one, this
    machine's. `watches`: those of `api`."""

    def __init__(
        self,
        api: Api,
        lease_api: Api,
        options: Options,
        measures: Prometheus,
        clock: ServerClock | None = None,
        *,
        read_log: ReadLog = read_nothing,
        read_lines: ReadLines = read_no_lines,
        thread: LoopThread | None = None,
        heartbeat: Heartbeat | None = None,
        watches: Watches | None = None,
    ) -> None:
        clock = clock or LocalClock()
        self._thread = thread
        self._heartbeat = heartbeat or Heartbeat()
        self._measures = measures
        self._watches = watches or Watches()
        measures.set_loop_age(self._heartbeat.age)
        measures.set_watches(self._watches.silence, lambda: len(self._watches.refused()))
        held_api = GuardedApi(MeasuredApi(lease_api, measures), self._check_alive)
        self.election = _build_election(held_api, options, measures)
        self._leadership: Leadership | None = (
            AcrossLoops(self.election, thread) if self.election and thread else self.election
        )
        leadership = self._leadership or WITHOUT_ELECTION
        passes = Passes(leadership, lambda: leadership.terms)
        self.reports = ClusterReports(
            passes.guard(MeasuredApi(api, measures)), read_lines, options.lease_namespace, may_look=passes.may_act
        )
        self._poster = Poster()
        self.idle = IdleJobs(
            passes.guard(MeasuredApi(api, measures)),
            ask_prometheus(options.prometheus) if options.prometheus else None,
            lambda *event: self.operator.publish(*event),
            why_not="this operator is told no Prometheus that knows what GPUs do (--prometheus; with Helm "
            "operator.prometheus)",
            may_act=passes.may_act,
        )
        self.operator = Operator(
            MeasuredApi(api, measures),
            build_settings(options),
            readings=Readings(clock.now, clock.disagreement, programs=self.reports, gpus=self.idle),
            kinds={kind: KINDS[kind] for kind in options.kinds},
            namespaces=options.namespaces or ("",),
            leadership=self._leadership,
            measures=measures,
            notices=build_notices(options.notices, self._poster, measures) if options.notices else None,
        )
        self.datasets = (
            self._build_datasets(MeasuredApi(api, measures), options, options.datasets, read_log)
            if options.datasets
            else None
        )
        handlers = Handlers(self._scrape, self._explain_unready, self._explain_dead)
        self.endpoints = Endpoints(handlers, options.metrics, options.probes)
        self._connected = self._ending = False

    def _build_datasets(self, api: Api, options: Options, pod: FetchPod, read_log: ReadLog) -> ClusterDatasets:
        leadership = self._leadership or WITHOUT_ELECTION
        shared = SharedRequests(Passes(leadership, lambda: leadership.terms).guard(api))
        read = shared.share_logs(read_log)
        supplier = ClusterSupplier(shared, read, pod, own_accounts=options.own_accounts)
        return ClusterDatasets(shared, supplier, options.namespaces or ("",), leadership)

    async def run(self, stop: asyncio.Event, connect: Callable[[], Awaitable[bool]] | None = None) -> None:
        """Runs until `stop` is set, then shuts down. `connect` returns once the cluster answers. After the shutdown,
        raises `CannotServe`, the error of `connect`, or the bug that ended a part."""
        self._loop = asyncio.get_running_loop()
        beating = asyncio.create_task(self._heartbeat.run())
        # Before `connect`: a kubelet would end the pod of an operator whose liveness probe is not answered.
        await self._aside(self.endpoints.start())
        try:
            self._connected = connect is None or bool(await _run_unless_stopped(stop, connect()))
            if self._connected:
                await self._operate(stop)
        finally:
            await self._poster.close()
            await self._aside(self.endpoints.stop())
            beating.cancel()

    async def _aside(self, work: Coroutine[Any, Any, T]) -> T:
        """In the thread, if there is one."""
        return await (self._thread.run(work) if self._thread else work)

    async def _operate(self, stop: asyncio.Event) -> None:
        operating = asyncio.create_task(self.operator.run())
        electing = asyncio.create_task(self._elect(self.election)) if self.election else None
        fetching = asyncio.create_task(self.datasets.run()) if self.datasets else None
        looking = asyncio.create_task(self.reports.run())
        watching = asyncio.create_task(self.idle.run())
        stopping = asyncio.create_task(stop.wait())
        parts = [stopping, operating, looking, watching, *(each for each in (electing, fetching) if each)]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            self._ending = True
            # Drain before cancel: the next leader must find no half-done work.
            await asyncio.gather(self.operator.drain(DRAIN_SECONDS), self._leave())
            looking.cancel()
            watching.cancel()
            if fetching is not None:
                fetching.cancel()
            operating.cancel()
            with suppress(asyncio.CancelledError):
                await operating
        finally:
            # The Lease is held until the last event is sent.
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            if self.election is not None:
                await self._aside(self.election.release())
        # An election never ends by itself: if it has ended, its result is an error, which is raised here.
        if electing is not None and not electing.cancelled():
            electing.result()

    async def _elect(self, election: Election | Sharing) -> None:
        """A shard is taken from who works, so whoever is to have it must be able to work. The one Lease nobody gives
        away: who gets it only begins earlier."""
        if election.shards > 1:
            await self.operator.ready.wait()
        await self._aside(election.run())

    async def _leave(self) -> None:
        """No shard is taken during the drain: nothing would be done in it."""
        if isinstance(self.election, Sharing):
            await self._aside(self.election.leave())

    async def _scrape(self) -> tuple[bytes, str]:
        return await self._measures.scrape_from(self._loop)

    def _check_alive(self, _: Call[Any]) -> None:
        """Checks that this process reconciles: one that reconciles nothing shall not keep others from it."""
        if why := self._explain_dead():
            raise NotBegun(why)

    # What probes ask, in the thread: they read what is replaced as a whole, or never changes.

    def _explain_dead(self) -> str:
        age = self._heartbeat.age()
        return f"the event loop has not turned for {age:.0f} s" if age > DEAD_SECONDS else ""

    def _explain_unready(self) -> str:
        if self._ending:
            return "shutting down"
        if not self._connected:
            return "waiting for the cluster"
        missing = self.operator.unsynced()
        if missing:
            return f"not all is known yet of {', '.join(missing)}"
        return "; ".join(explain_blind(watch) for watch in self._watches.refused(BLIND_SECONDS))


async def serve(config: Config, options: Options) -> int:
    """Runs the operator until a signal, and returns the exit code. Waits for a cluster that does not answer. Raises
    `CannotServe`, `ConfigError`, and `Unauthorized` for credentials that the cluster rejects or a plug-in does not
    give."""
    try:
        await _serve(config, options)
    except (CannotServe, ConfigError, ApiError):
        # The caller prints the message of these: they are no bugs, so the log needs no traceback.
        raise
    except Exception:
        log.exception("the operator has failed, which is a bug of its own")
        raise
    log.info("ended in order")
    return 0


async def _serve(config: Config, options: Options) -> None:
    stop = asyncio.Event()
    install_signal_handlers(stop)
    options = replace(options, account=find_account(config))
    measures = Prometheus(BUILD)
    clock, watches = ServerClock(), Watches(on_end=measures.watch_ended, on_refusal=RefusalLog(options.kinds).tell)
    async with (
        LoopThread("lease") as thread,
        # A standby asks for nothing else, and has to notice a clock that is set before it leads. Its credentials are
        # its own too: a plug-in that the other loop has started would be waited for there.
        thread.hold(Client(config, on_date=clock.read_header)) as lease_client,
        open_credentials(config, notify=lambda said: log.warning("%s", said)) as credentials,
        Client(config, watches=watches, on_date=clock.read_header, credentials=credentials) as client,
    ):

        async def connect() -> bool:
            log.info("%s", _describe_start(config, options, await _fetch_version(client, config)))
            if options.pod_groups == KUBERNETES_POD_GROUPS and (said := await explain_pod_groups(client)):
                log.warning("%s", said)
            return True

        cluster = ClusterOperator(
            client,
            lease_client,
            options,
            measures,
            clock,
            read_log=build_log_reader(client),
            read_lines=build_line_reader(client),
            thread=thread,
            watches=watches,
        )
        await cluster.run(stop, connect)


def _describe_start(config: Config, options: Options, version: str) -> str:
    where = f"namespaces {', '.join(options.namespaces)}" if options.namespaces else "all namespaces"
    kinds = ", ".join(kind.qualified for kind in options.kinds)
    by = f" and the scheduler {options.gang_scheduler}" if options.gang_scheduler else ""
    groups = f", gangs by {options.pod_groups.qualified}{by}" if options.pod_groups else ""
    fetched = f", datasets by {options.datasets.image}" if options.datasets else ""
    return f"paddock {BUILD} serves {kinds} in {where} of {config.server} (Kubernetes {version}){groups}{fetched}"


async def _fetch_version(client: Client, config: Config) -> str:
    """The cluster's version. Waits for a cluster that does not answer."""
    delay, warned = _FIRST_RETRY, False
    while True:
        try:
            answer: Mapping[str, object] = await client.fetch("/version")
            return str(answer.get("gitVersion") or "of an unknown version")
        except PluginError:  # explains itself: no server was asked
            raise
        except Unauthorized as error:
            raise Unauthorized(
                f"{config.server} does not know who this is: {error.message}. The token or certificate of "
                f"{config.source} is wrong or has expired"
            ) from None
        except (Forbidden, NotFound):
            # The version is only logged: the operator works without it.
            return "of a version that is not told"
        except ApiError as error:
            # The cluster may be starting, as this machine may be.
            if not warned:
                log.warning("waiting for the cluster: %s", error)
            warned = True
        await asyncio.sleep(delay)
        delay = min(2 * delay, _LONGEST_RETRY)


async def explain_pod_groups(client: Client) -> str:
    """Whether the cluster serves Kubernetes' own PodGroups in a version that Paddock knows, by discovery; empty if it
    does, or does not tell. The watch finds out later changes."""
    group, served = f"/apis/{KUBERNETES_POD_GROUPS.group}", []
    try:
        for version in (await client.fetch(group)).get("versions") or ():
            found = (await client.fetch(f"{group}/{version['version']}")).get("resources") or ()
            served += [version["version"]] * any(each["name"] == KUBERNETES_POD_GROUPS.plural for each in found)
    except ApiError as error:
        log.info("which PodGroups this cluster serves is not told: %s", error.message)
        return ""
    return explain_versions(served)


async def _run_unless_stopped(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """The result of `work`, or None if `stop` is set first."""
    working, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return await working
    working.cancel()
    return None


def install_signal_handlers(stop: asyncio.Event) -> None:
    """The first SIGTERM or SIGINT begins the shutdown; the second ends the process at once. Neither loses anything."""

    def handle(number: int) -> None:
        # A shell reports a process that a signal ended by 128 + its number.
        if stop.is_set():
            os._exit(128 + number)
        log.info("%s: ending in order; once more ends at once", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, handle, number)
