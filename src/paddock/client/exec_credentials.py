"""The credential that a plug-in gives, for all requests of this process. Thin.

`client.renewal` decides when it runs and `client.exec_answer` reads what it says. It runs once at a time, however many
requests wait for it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

from paddock.client import renewal
from paddock.client.errors import PluginError, Said, said
from paddock.client.exec_answer import build_environment, explain_misfit, plan_interaction, read_answer
from paddock.client.exec_failures import explain_failure, explain_missing, explain_unstarted
from paddock.client.exec_plugin import ExecPlugin
from paddock.client.exec_process import find_program, run_plugin
from paddock.client.identity import Credential
from paddock.client.renewal import Decision, Held
from paddock.client.tls import find_misfit
from paddock.kube.errors import Unavailable
from paddock.kube.times import format_time

Notify: TypeAlias = Callable[[Said], None]


class Fetch(Protocol):
    """`fetch_credential`, or what stands for it in a test."""

    async def __call__(self, plugin: ExecPlugin, *, terminal: bool, detached: bool) -> Credential: ...


class PluginCredentials:
    """What a plug-in gives, kept in this process alone. `now`: the wall clock, as plug-ins say when a credential
    ends."""

    def __init__(
        self,
        plugin: ExecPlugin,
        *,
        interactive: bool = False,
        notify: Notify = lambda _: None,
        now: Callable[[], float] = time.time,
        fetch: Fetch | None = None,
    ) -> None:
        self._plugin, self._interactive, self._notify, self._now = plugin, interactive, notify, now
        self._fetch = fetch or fetch_credential
        self._held = Held()
        self._running: asyncio.Task[None] | None = None
        self._notified = False

    async def get(self) -> Credential:
        # A renewal before the end asks nobody: the user looks at something else, and the credential still holds.
        decision = renewal.decide(self._held, self._now(), early=self._plugin.mode != "Always")
        if decision is Decision.RENEW:
            self._start(lend=False)
        elif decision is Decision.RUN:
            await self._run()
        elif decision is Decision.REFUSE:
            raise _again(self._held.error)
        return self._present()

    async def replace(self, rejected: Credential) -> Credential | None:
        self._held = renewal.reject(self._held, rejected)
        if renewal.decide(self._held, self._now()) is Decision.RUN:
            await self._run()
        present = self._present()
        return None if present is rejected or self._held.rejected else present

    def accept(self, credential: Credential) -> None:
        self._held = renewal.accept(self._held, credential)

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def _present(self) -> Credential:
        if self._held.credential is None:
            raise _again(self._held.error)
        return self._held.credential

    async def _run(self) -> None:
        """Waits for a run, that of another request if there is one. Raises its error."""
        # `wait` cancels nothing: a request that is cancelled, as by the time limit of an election, must not end the run
        # of the others.
        running = self._start(lend=True)
        await asyncio.wait([running])
        if running.cancelled():
            raise Unavailable("the connection was closed while a credential plug-in ran")
        running.result()
        if self._held.error is not None:
            raise _again(self._held.error)

    def _start(self, *, lend: bool) -> asyncio.Task[None]:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._renew(lend=lend))
        return self._running

    async def _renew(self, *, lend: bool) -> None:
        try:
            terminal = lend and self._interactive
            credential = await self._fetch(self._plugin, terminal=terminal, detached=not self._interactive)
        except PluginError as error:
            self._held = renewal.fail(self._held, error, self._now())
            self._tell(error)
        else:
            self._held = renewal.succeed(self._held, credential, self._now())
            self._notified = False

    def _tell(self, error: PluginError) -> None:
        """Only of what would go unseen: an error that ends a request is raised to who has made it."""
        if self._notified or not self._held.accepted:
            return
        self._notified = True
        if renewal.is_valid(self._held, self._now()):
            end = format_time(renewal.find_end(self._held))
            text = said(
                "cannot renew the credential, which ends at {time}; trying again: {why}", time=end, why=error.said
            )
        else:
            text = said("cannot renew the credential, which is no longer valid; trying again: {why}", why=error.said)
        self._notify(text)


def _again(error: PluginError | None) -> PluginError:
    """An exception of its own for each request, as each adds its traceback."""
    assert error is not None
    return PluginError(error.said, missing=error.missing)


async def fetch_credential(plugin: ExecPlugin, *, terminal: bool, detached: bool) -> Credential:
    """Runs the plug-in once. `terminal`: it may use standard input, if that is one. Raises `PluginError`."""
    interactive = plan_interaction(plugin, terminal=terminal and sys.stdin is not None and sys.stdin.isatty())
    program = find_program(plugin.command, os.environ.get("PATH", os.defpath))
    if program is None:
        raise explain_missing(plugin)
    environment = build_environment(plugin, os.environ, interactive=interactive)
    try:
        ended = await run_plugin((program, *plugin.args), environment, interactive=interactive, detached=detached)
    except OSError as error:
        raise explain_unstarted(plugin, error) from None
    if failure := explain_failure(plugin, ended):
        raise failure
    credential = read_answer(plugin, ended.output)
    if credential.certificate and (why := find_misfit(credential.certificate, credential.key)):
        raise explain_misfit(plugin, why)
    return credential
