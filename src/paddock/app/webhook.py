"""The webhook's process on a cluster: serves reviews, keeps its certificate trusted, ends in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import paddock.app.resident  # noqa: F401  an upgrade beneath this process must not change it
from paddock.app.cluster import install_signal_handlers
from paddock.app.health import Address, CannotServe, explain_os_error
from paddock.app.own_accounts import find_account
from paddock.build import BUILD
from paddock.client.client import Client
from paddock.client.credentials import open_credentials
from paddock.client.kubeconfig import Config
from paddock.install.own_accounts import build_own_accounts
from paddock.kube.api import Api
from paddock.kube.meta import Key
from paddock.webhook.certificates import LIFE, name_service
from paddock.webhook.keeper import LOOK_SECONDS, SETTLE_SECONDS, Keeper
from paddock.webhook.review import review
from paddock.webhook.server import Server
from paddock.words.phrases import phrase

log = logging.getLogger("paddock.webhook")


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of the webhook."""

    configuration: str
    """The ValidatingWebhookConfiguration."""
    service: str
    """The Service, for which the certificate is."""
    namespace: str
    """Of the Service."""
    address: Address
    life: timedelta = LIFE
    """As in `Keeper`."""
    look: float = LOOK_SECONDS
    """As in `Keeper`."""
    settle: float = SETTLE_SECONDS
    """As in `Keeper`."""
    account: Key | None = None
    """Under which this process runs; None where it is not known."""


async def serve(config: Config, options: Options) -> int:
    """Runs the webhook until a signal, and returns the exit code. Raises `CannotServe` and `ConfigError`."""
    stop = asyncio.Event()
    install_signal_handlers(stop)
    async with (
        open_credentials(config, notify=lambda said: log.warning("%s", said)) as credentials,
        Client(config, credentials=credentials) as client,
    ):
        await run_webhook(client, replace(options, account=find_account(config)), stop)
    log.info("ended in order")
    return 0


async def run_webhook(
    api: Api, options: Options, stop: asyncio.Event, started: Callable[[Address], None] = lambda _: None
) -> None:
    """Until `stop` is set. `started` is told where it listens. Raises `CannotServe`."""
    keeper: Keeper | None = None
    decide = partial(review, own=build_own_accounts(options.namespace, options.account))
    server = Server(*options.address, lambda: keeper.unready_reason if keeper else "starting", decide)
    names = name_service(options.service, options.namespace)
    keeper = Keeper(
        api, options.configuration, names, server.load,
        clock=time.time, life=options.life, look=options.look, settle=options.settle,
    )  # fmt: skip
    try:
        await server.start()
    except OSError as error:
        await server.stop()
        said = phrase(
            "cannot listen at {address}: {why}. Choose another address with {flag}",
            address=str(options.address), why=explain_os_error(error), flag="--bind-address",
        )  # fmt: skip
        raise CannotServe(said) from None
    address = Address(options.address.host, server.port)
    log.info("paddock %s checks jobs at %s, as %s", BUILD, address, names[0])
    started(address)
    keeping = asyncio.create_task(keeper.run())
    try:
        await stop.wait()
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
        await server.stop()
