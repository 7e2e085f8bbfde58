"""The operator on a cluster, as a process that takes part in its customs: a Lease, probes, metrics, an orderly end.

`serve` is that process from its first request to its exit code; `ClusterOperator` is its parts and their order of birth
and death, over any `Api`. At the end no pass begins, those under way end, events are sent, and only then is the Lease
given back, so that the next leader finds everything at rest.

The Lease has a connection of its own: a renewal must not wait behind the requests of many passes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from paddock import __version__
from paddock.app.health import Address, CannotServe, Endpoints, Pages
from paddock.client.client import Client
from paddock.client.kubeconfig import Config, ConfigError
from paddock.jobs.apis import paddlepaddle
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import SETTINGS_ANNOTATION, VERSION_ANNOTATION
from paddock.jobs.model import Settings
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Resource
from paddock.operator.election import Election
from paddock.operator.metrics import MeasuredApi, Prometheus
from paddock.operator.operator import Operator

T = TypeVar("T")

DRAIN = 10.0
"""Seconds that passes have to end after SIGTERM."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 10.0

log = logging.getLogger("paddock.cluster")


@dataclass(frozen=True, slots=True)
class Options:
    """How the operator is started. `namespaces`: these alone, none for all. `pod_groups`: as in `Settings`.
    `metrics`, `probes`: where to listen, None for nowhere. `lease_namespace`: where the Lease is."""

    lease_namespace: str
    namespaces: tuple[str, ...] = ()
    kinds: tuple[Resource, ...] = (paddlepaddle.resource,)
    pod_groups: Resource | None = None
    leader_elect: bool = False
    metrics: Address | None = None
    probes: Address | None = None


def build_notes(options: Options) -> dict[str, str]:
    """The leader's annotations on its Lease: which version acts on jobs, and how it was started."""
    settings = {
        "namespaces": list(options.namespaces),
        "kinds": [kind.qualified for kind in options.kinds],
        "podGroups": options.pod_groups.qualified if options.pod_groups else None,
    }
    return {VERSION_ANNOTATION: __version__, SETTINGS_ANNOTATION: json.dumps(settings)}


class ClusterOperator:
    """`api` is asked for everything but the Lease, which is `lease_api`'s."""

    def __init__(self, api: Api, lease_api: Api, options: Options, measures: Prometheus) -> None:
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self.election = (
            Election(MeasuredApi(lease_api, measures), options.lease_namespace, identity, notes=build_notes(options))
            if options.leader_elect
            else None
        )
        self.operator = Operator(
            MeasuredApi(api, measures),
            Settings(pod_groups=options.pod_groups),
            kinds={kind: KINDS[kind] for kind in options.kinds},
            namespaces=options.namespaces or ("",),
            leadership=self.election,
            measures=measures,
        )
        pages = Pages(measures.scrape, self._explain_unready)
        self.endpoints = Endpoints(pages, options.metrics, options.probes)
        self._reached = self._ending = False

    async def run(self, stop: asyncio.Event, reach: Callable[[], Awaitable[bool]] | None = None) -> None:
        """Until `stop` is set, and then to an orderly end. `reach` returns once the cluster answers; its probes are
        answered before that. Raises `CannotServe`, what `reach` raises, and a bug of ours, after that end."""
        await self.endpoints.start()
        try:
            self._reached = reach is None or bool(await _unless(stop, reach()))
            if self._reached:
                await self._operate(stop)
        finally:
            await self.endpoints.stop()

    async def _operate(self, stop: asyncio.Event) -> None:
        operating = asyncio.create_task(self.operator.run())
        electing = asyncio.create_task(self.election.run()) if self.election else None
        stopping = asyncio.create_task(stop.wait())
        parts = [stopping, operating, *([electing] if electing else [])]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            self._ending = True
            await self.operator.drain(DRAIN)
            operating.cancel()
            with suppress(asyncio.CancelledError):
                await operating
        finally:  # the Lease is held until the last event is sent
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            if self.election is not None:
                await self.election.release()
        if electing is not None and not electing.cancelled():
            electing.result()  # it goes on for ever, so it has failed

    def _explain_unready(self) -> str:
        if self._ending:
            return "shutting down"
        if not self._reached:
            return "waiting for the cluster"
        missing = self.operator.unsynced()
        return f"not all is known yet of {', '.join(missing)}" if missing else ""


async def serve(config: Config, options: Options) -> int:
    """Be the operator until a signal; the exit code. Raises `CannotServe`, `ConfigError`, and `Unauthorized` when the
    cluster does not know who this is. A cluster that does not answer is waited for."""
    try:
        await _serve(config, options)
    except (CannotServe, ConfigError, ApiError):
        raise  # in words already
    except Exception:
        log.exception("the operator has failed, which is a bug of its own")
        raise
    log.info("ended in order")
    return 0


async def _serve(config: Config, options: Options) -> None:
    stop = asyncio.Event()
    _heed_signals(stop)
    measures = Prometheus(__version__)
    async with Client(config, on_watch_end=measures.watch_ended) as client, Client(config) as lease_client:

        async def reach() -> bool:
            log.info("%s", _introduce(config, options, await _fetch_version(client, config)))
            return True

        await ClusterOperator(client, lease_client, options, measures).run(stop, reach)


def _introduce(config: Config, options: Options, version: str) -> str:
    where = f"namespaces {', '.join(options.namespaces)}" if options.namespaces else "all namespaces"
    kinds = ", ".join(kind.qualified for kind in options.kinds)
    groups = f", gangs by {options.pod_groups.qualified}" if options.pod_groups else ""
    return f"paddock {__version__} serves {kinds} in {where} of {config.server} (Kubernetes {version}){groups}"


async def _fetch_version(client: Client, config: Config) -> str:
    """Waits for a cluster that does not answer: it may be starting, as this machine may be."""
    wait, said = _FIRST_WAIT, False
    while True:
        try:
            answer: Mapping[str, object] = await client.fetch("/version")
            return str(answer.get("gitVersion") or "of an unknown version")
        except Unauthorized as error:
            raise Unauthorized(
                f"{config.server} does not know who this is: {error.message}. The token or certificate of "
                f"{config.source} is wrong or has expired"
            ) from None
        except (Forbidden, NotFound):
            return "of a version that is not told"
        except ApiError as error:
            if not said:
                log.warning("waiting for the cluster: %s", error)
            said = True
        await asyncio.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


async def _unless(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """What `work` returns; None when it is stopped before that."""
    working, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return await working
    working.cancel()
    return None


def _heed_signals(stop: asyncio.Event) -> None:
    """The first asks for an orderly end; the second ends the process as it stands, which loses nothing either."""

    def heed(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        log.info("%s: ending in order; once more ends at once", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, heed, number)
