"""The console of a Kubernetes: of one user by their kubeconfig, or of many by their tokens.

In both it survives an API that is down, at the start and later: its pages say since when.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import paddock.app.resident  # noqa: F401  an upgrade beneath this process must not change it
from paddock.app.cluster import install_signal_handlers
from paddock.app.consoles.heartbeat import asking
from paddock.app.consoles.hosts import find_host
from paddock.app.consoles.links import Link
from paddock.app.consoles.readers import Readers
from paddock.app.consoles.rights import ReviewedRights, build_client
from paddock.app.consoles.spool.cluster_logs import ClusterLogs
from paddock.app.consoles.spool.files import ClusterSpool, place_of_cluster
from paddock.app.consoles.used.sampled import SampledMetrics
from paddock.app.health import Address, CannotServe, explain_os_error
from paddock.app.home import Home
from paddock.app.submitted.prepare import prepare_for_cluster
from paddock.app.why_not import fetch_cluster_waits
from paddock.build import BUILD
from paddock.client.client import Client
from paddock.client.credentials import Credentials
from paddock.client.kubeconfig import Config
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.console.tickets import name_host
from paddock.kube.meta import PODS
from paddock.serving.server import HttpServer
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.app.consoles.keeping.keeper import Keeping
    from paddock.app.consoles.keeping.kept_here import KeptHere
    from paddock.app.consoles.oidc import OidcProvider

log = logging.getLogger("paddock.console")

FORWARDED_HOST = "paddock-console.localhost"
"""Its name through `kubectl port-forward`, besides `localhost`, which all that is forwarded has."""
Started: TypeAlias = Callable[[Callable[[str], Link]], None]
"""Told how to make a link that signs in once and goes on to a path."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What pages say of the cluster: its name, and the options by which `paddock` and `kubectl` reach it."""

    name: str
    options: str
    kubectl: str = "kubectl"


@dataclass(frozen=True, slots=True)
class Oidc:
    """An OpenID Connect provider by which readers may sign in."""

    issuer: str
    client: str
    secret: Path | None = None  # a file
    scopes: tuple[str, ...] = ()  # besides `openid`
    authorities: Path | None = None  # a file (PEM): whom to trust to be the provider, in place of this machine's


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a console in a pod."""

    address: Address
    hosts: Collection[str] = ()  # its names, besides this machine's
    certificate: Path | None = None  # a file (PEM), for HTTPS
    key: Path | None = None  # a file (PEM), for HTTPS
    behind_tls: bool = False  # a proxy before it ends TLS, and its X-Forwarded-Proto is believed
    oidc: Oidc | None = None
    keeping: Keeping | None = None  # what is kept of all jobs, with an account of its own


def name_cluster(config: Config) -> str:
    """The name of a cluster for the head of each page: the context, else the server. Pure."""
    return config.context or urlsplit(config.server).netloc


async def serve_user(
    config: Config,
    shown: Shown,
    credentials: Credentials | None,
    port: int,
    started: Started,
    home: Home,
) -> None:
    """Until it is cancelled, with the rights of the kubeconfig's user. `port`: 0 for any free one. `started` is told
    how to make a link that signs in once and goes on to a path. `home`: below it the logs of pods are kept. Raises
    `CannotServe`."""
    async with open_backend(config, shown, credentials, home) as backend:
        await serve_alone(lambda key, hosts: Console(backend, key, hosts), port, started)


@asynccontextmanager
async def open_backend(
    config: Config, shown: Shown, credentials: Credentials | None, home: Home
) -> AsyncIterator[Backend]:
    """What a console is given of this cluster, with the rights of the kubeconfig's user."""
    async with (
        build_client(config, credentials) as client,
        asking(client),
        _copying(home, config) as spool,
        _reading(_build_own_logs(spool, client, rights := ReviewedRights(client))) as logs,
    ):
        metrics = SampledMetrics(lambda _: client)
        try:
            yield Backend(
                shown.name, False, lambda _: client,
                options=shown.options, kubectl=shown.kubectl, why_not=fetch_cluster_waits,
                prepare=prepare_for_cluster,
                rights=lambda _: rights, silent_since=lambda _: client.silent_since, namespace=config.namespace,
                logs=lambda _: logs, metrics=metrics,
            )  # fmt: skip
        finally:
            await metrics.close()


async def serve_alone(build: Callable[[bytes, frozenset[str]], Console], port: int, started: Started) -> None:
    """Serves a console on this machine, until it is cancelled. `build`: with a key for links, and its own hosts. Raises
    `CannotServe`."""
    host, key = find_host(), secrets.token_bytes(32)
    console = build(key, frozenset({host, name_host(key)}))
    async with _listening(console, Address(host, port), None, "--port") as address:
        started(lambda path: Link(f"http://{address}{console.make_link(time.time(), path)}", name_host(key)))
        await asyncio.Event().wait()


@asynccontextmanager
async def _copying(home: Home, config: Config) -> AsyncIterator[ClusterSpool]:
    spool = ClusterSpool(place_of_cluster(home, config.server))
    try:
        yield spool
    finally:
        spool.release()


def _build_own_logs(spool: ClusterSpool, client: Client, rights: ReviewedRights) -> ClusterLogs:
    """The copies are this user's own, so what was last known of their rights will do while the API is silent."""
    return ClusterLogs(spool, client, lambda namespace: rights.may("get", PODS, namespace, "log"))


@asynccontextmanager
async def _reading(logs: ClusterLogs) -> AsyncIterator[ClusterLogs]:
    await logs.start(everything=True)
    try:
        yield logs
    finally:
        await logs.stop()


async def serve_readers(server: Config, shown: Shown, options: Options, home: Home) -> int:
    """Until a signal; the exit code. `server`: without a credential. Raises `CannotServe`."""
    stop = asyncio.Event()
    install_signal_handlers(stop)
    await run_readers(server, shown, options, home, stop)
    log.info("ended in order")
    return 0


async def run_readers(
    server: Config,
    shown: Shown,
    options: Options,
    home: Home,
    stop: asyncio.Event,
    started: Callable[[Address], None] = lambda _: None,
) -> None:
    """Until `stop` is set. `started` is told where it listens. Raises `CannotServe`."""
    async with _open_kept(home, server, options.keeping) as (spool, kept):
        readers = Readers(server, spool, is_kept=kept is not None)
        try:
            await _run_readers(server, shown, options, readers, kept, stop, started)
        finally:
            await readers.close()


@asynccontextmanager
async def _open_kept(
    home: Home, server: Config, keeping: Keeping | None
) -> AsyncIterator[tuple[ClusterSpool, KeptHere | None]]:
    """Where logs are copied to, and what is kept there of all jobs, if anything is. Raises `CannotServe`."""
    if keeping is None:
        async with _copying(home, server) as spool:
            yield spool, None
        return
    from paddock.app.consoles.keeping.kept_here import open_kept  # few consoles keep anything

    async with open_kept(keeping, server, home.cache) as (spool, kept):
        yield spool, kept


async def _run_readers(
    server: Config,
    shown: Shown,
    options: Options,
    readers: Readers,
    kept: KeptHere | None,
    stop: asyncio.Event,
    started: Callable[[Address], None],
) -> None:
    metrics = SampledMetrics(readers.connect)
    provider = _build_provider(options.oidc, readers) if options.oidc else None
    backend = Backend(
        shown.name, False, readers.connect,
        options=shown.options, kubectl=shown.kubectl, why_not=fetch_cluster_waits,
        prepare=prepare_for_cluster,
        rights=readers.rights, token_login=readers, provider=provider, silent_since=readers.silent_since,
        namespace=server.namespace, logs=readers.logs, metrics=metrics,
    )  # fmt: skip
    if kept is not None:
        backend = replace(
            backend,
            runs=lambda identity: kept.find_runs(readers.rights(identity)),
            kept=kept.programs,
            list_troubles=kept.health.list,
        )
    hosts = frozenset({*options.hosts, FORWARDED_HOST})
    console = Console(backend, secrets.token_bytes(32), hosts, behind_tls=options.behind_tls)
    try:
        async with _listening(console, options.address, _load_tls(options), "--bind-address") as address:
            log.info("paddock %s: the console of %s at %s", BUILD, server.server, address)
            started(address)
            await stop.wait()
    finally:
        await metrics.close()
        if provider is not None:
            await provider.close()


def _build_provider(settings: Oidc, readers: Readers) -> OidcProvider:
    """Raises `CannotServe` for files that cannot be used."""
    from paddock.app.consoles.oidc import OidcProvider, build_trust, read_secret  # few consoles have one
    from paddock.console.oidc import Registration

    registration = Registration(settings.issuer, settings.client, read_secret(settings.secret), settings.scopes)
    return OidcProvider(registration, build_trust(settings.authorities), readers.enter)


def _load_tls(options: Options) -> ssl.SSLContext | None:
    if options.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        why = os.strerror(error.errno) if isinstance(error, FileNotFoundError) and error.errno else str(error)
        said = phrase(
            "{flag}: cannot use {path}: {why}", flag="--tls-cert", path=str(options.certificate), why=why
        )  # fmt: skip
        raise CannotServe(said) from None
    return context


@asynccontextmanager
async def _listening(
    console: Console, address: Address, tls: ssl.SSLContext | None, flag: str
) -> AsyncIterator[Address]:
    """Where it listens, while it does. Raises `CannotServe`."""
    server = HttpServer(console.application, cancels=True)
    try:
        try:
            await server.start(address.host, address.port, tls)
        except OSError as error:
            said = phrase(
                "cannot listen at {address}: {why}. Choose another address with {flag}",
                address=str(address), why=explain_os_error(error), flag=flag,
            )  # fmt: skip
            raise CannotServe(said) from None
        yield Address(address.host, server.port)
    finally:
        await console.close()
        await server.stop()
