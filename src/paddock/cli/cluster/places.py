"""The two clusters of a command: the local one, or a Kubernetes that a context of a kubeconfig names.

A `ClusterChoice` has what differs between the two: how to reach the API, which files of a deleted job are kept, what to
do while a job is followed. With a context a verb never starts, reads or needs the local cluster. `cli.cluster.session`
chooses for a command.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from paddock.app import launch
from paddock.app.home import UNSANDBOXED, Home, explain_full_disk, is_up, read_home, read_running
from paddock.cli.cluster.errors import NotFollowed, UserError
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_notice
from paddock.jobs.model import Phase
from paddock.jobs.names import output_name
from paddock.kube.errors import ApiError
from paddock.kube.meta import uid_of
from paddock.kube.times import Moment
from paddock.views.flags import LOCAL, Flags
from paddock.views.manager import explain_manager
from paddock.views.stored import StoredJob, read_stored
from paddock.words.phrases import Foreign, Phrase, phrase

if TYPE_CHECKING:
    from paddock.app.history import Kept
    from paddock.client.client import Client
    from paddock.client.kubeconfig import Config
    from paddock.views.rooms import Rooms

_CHECK_SECONDS = 0.5
"""Seconds between two checks whether the local cluster is still up."""
_MOST_STARTS = 3
"""How often a killed cluster is started again in vain."""
_FULL_SECONDS = 10.0
"""Seconds of a full disk after which a job that has not begun is followed no longer."""

Notify = Callable[[Phrase | str], None]


class ClusterChoice(Protocol):
    """`home`: None for a remote cluster, where this machine has no files of a job."""

    @property
    def flags(self) -> Flags: ...

    @property
    def home(self) -> Home | None: ...

    @property
    def kept(self) -> Kept | None:
        """What a local cluster has kept of its jobs and their logs; None of a remote one."""
        ...

    def find_copies(self) -> Kept | None:
        """What a console on this machine has copied of a remote cluster's logs. Raises `ConfigError`."""
        ...

    def now(self) -> Moment:
        """When what is read of the cluster is so: of a bundle, when it was made."""
        ...

    def start(self, *, sandbox: str = "auto") -> None:
        """Starts the local cluster if it is not up; does nothing for a remote one."""
        ...

    def read_config(self) -> Config:
        """The connection. Raises `ConfigError`."""
        ...

    async def attend(self, client: Client, job: StoredJob, notify: Notify) -> Phrase:
        """Runs beside the follower of `job`, until cancelled. Returns a sentence only if the job cannot be followed any
        more."""
        ...

    def find_outputs(self, job: StoredJob) -> Path | None:
        """The job's PADDOCK_OUTPUT_DIR; None while its programs have written no results there."""
        ...

    def find_room(self) -> Rooms | None:
        """What is known of the room that jobs wait for, where nobody need be asked; None where a server is."""
        ...

    def find_directory(self, job: StoredJob) -> Path | None:
        """The same, whatever is in it: also its metrics. It need not be there. None where it is not on this machine."""
        ...

    def find_other_settings(self) -> list[str]:
        """Environment variables (proxies, package indexes) whose values in the cluster's process differ from this
        command's."""
        ...


@dataclass(frozen=True, slots=True)
class Local:
    """The user's own cluster, in `home`."""

    home: Home
    flags: Flags = LOCAL

    @property
    def kept(self) -> Kept:
        from paddock.app.history import History  # late: few commands ask for what is kept

        return History(self.home)

    def find_copies(self) -> None:
        return None

    def now(self) -> Moment:
        return time.time()

    def start(self, *, sandbox: str = "auto") -> None:
        """Starts it if it is not up, with a line on stderr. Raises `StartError`, and `UserError` if it is up with
        another sandbox than the one asked for: no program may have more rights than its user thinks."""
        started = launch.start(self.home, sandbox=sandbox)
        running = started.running
        if sandbox not in ("auto", running.sandbox):
            raise UserError(
                phrase(
                    "--sandbox {wanted}: the local cluster is up, and its pods run in {sandbox}: `paddock down` "
                    "first, or leave --sandbox out",
                    wanted=sandbox, sandbox=running.sandbox,
                )
            )  # fmt: skip
        other = explain_other_version(running.version)
        for said in explain_started(started, self.home) if started.fresh else filter(None, [other]):
            print_notice(localized(said))

    def read_config(self) -> Config:
        from paddock.client.kubeconfig import read_config

        return read_config(str(self.home.kubeconfig))

    async def attend(self, client: Client, job: StoredJob, notify: Notify) -> Phrase:
        """Restarts the cluster when it was killed, as its pods live on. Returns when `paddock down` stopped it.
        Notifies when the disk is full, as nothing is recorded then, and when it is no more; returns where the job had
        not begun by then. Raises `NotFollowed` where it cannot be restarted."""
        full_since: float | None = None
        tries = 0
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            if is_up(self.home):
                full, now = explain_full_disk(self.home), time.monotonic()
                if full is None and full_since is not None:
                    notify(phrase("the disk has room again: what happens to the job is recorded"))
                    full_since = None
                elif full is not None and full_since is None:
                    notify(full)
                    full_since = now
                elif full is not None and now - (full_since or now) >= _FULL_SECONDS and await _waits(client, job):
                    return explain_waiting_for_room(job, full, self.flags)
                continue
            if read_running(self.home) is None:  # `paddock down` removes the record, a kill leaves it
                return phrase("the cluster was stopped; the job begins a new attempt at the next `paddock up`")
            try:
                started = await asyncio.to_thread(launch.start, self.home)
            except launch.StartError as error:  # what killed it may have killed its successor too
                tries += 1
                if tries == _MOST_STARTS:
                    raise NotFollowed(*error.args, _explain_kept(job, self.flags)) from None
                continue
            tries = 0
            said = phrase("the cluster was killed; it is up again, the job goes on")
            if started.fresh:
                said = phrase(
                    "the cluster was killed; started again in {seconds} s, the job goes on",
                    seconds=f"{started.seconds:.1f}",
                )
            notify(said)

    def find_outputs(self, job: StoredJob) -> Path | None:
        from paddock.app.outputs import has_outputs

        path = self.find_directory(job)
        return path if has_outputs(path) else None

    def find_room(self) -> None:
        return None

    def find_directory(self, job: StoredJob) -> Path:
        return self.home.outputs / job.key.namespace / output_name(job.key.name, job.uid)

    def find_other_settings(self) -> list[str]:
        """The cluster's process has the environment of the command that started it."""
        running = read_running(self.home)
        return launch.find_other_settings(running.pid, os.environ) if running else []


def explain_other_version(version: str) -> Phrase | None:
    """That the cluster which is up is of another version than this command; None if it is not."""
    from paddock.build import BUILD  # late: what asks a context needs none

    if version == BUILD:
        return None
    return phrase(
        "the cluster that is up is of paddock {version}, this is {own}: after `paddock down` the next command starts "
        "one of this version, and unfinished jobs begin a new attempt",
        version=version,
        own=BUILD,
    )


async def _waits(client: Client, job: StoredJob) -> bool:
    """Whether the job has not begun, as far as is recorded. The API answers on a full disk too."""
    try:
        phase = read_stored(job.resource, await client.get(job.resource, *job.key)).status.phase
    except ApiError:
        return False  # the follower of the job gets the same error and reports it
    return phase in (Phase.NONE, Phase.PENDING, Phase.STARTING)


def _explain_kept(job: StoredJob, flags: Flags) -> Phrase:
    """What becomes of a job whose cluster does not start again: its pods are processes of their own."""
    command = f"paddock logs {job.key.name} -f{flags.of(job.key.namespace)}"
    return phrase(
        "the job is kept, and its ranks go on: `{command}` starts the cluster and follows it", command=command
    )


def explain_waiting_for_room(job: StoredJob, full: Phrase, flags: Flags) -> Phrase:
    """The end of following a job that cannot begin, as the disk is `full`."""
    return phrase(
        "{full}\nthe job is kept and begins when there is room: `{follow}` follows it, `{delete}` removes it",
        full=full,
        follow=f"paddock logs {job.key.name} -f{flags.of(job.key.namespace)}",
        delete=f"paddock delete {job.key.name}{flags.of(job.key.namespace)}",
    )


@dataclass(frozen=True, slots=True)
class Cluster:
    """A remote Kubernetes cluster."""

    config: Config
    flags: Flags
    """Its options in advised commands."""
    status_seconds: float = 10.0
    """Seconds without a status after which the operators' Leases are read."""

    @property
    def home(self) -> None:
        return None

    @property
    def kept(self) -> None:
        return None

    def find_copies(self) -> Kept:
        from paddock.app.consoles.spool.files import place_of_cluster
        from paddock.app.history import History

        return History(place_of_cluster(read_home(os.environ), self.config.server))

    def now(self) -> Moment:
        return time.time()

    def start(self, *, sandbox: str = "auto") -> None:
        """Does nothing: a remote cluster is never started."""

    def read_config(self) -> Config:
        return self.config

    async def attend(self, client: Client, job: StoredJob, notify: Notify) -> Phrase:
        """Notifies once, with the reason, if no operator has written a status. Never returns."""
        from paddock.cli.cluster.operators import explain_no_status

        await asyncio.sleep(self.status_seconds)
        try:
            current = await client.get(job.resource, *job.key)
            if not (current.get("status") or {}) and uid_of(current) == job.uid:
                manager = explain_manager(current)
                notify(
                    manager or await explain_no_status(client, job.resource, job.key.namespace, self.flags, self.now())
                )
        except ApiError:
            pass  # the follower of the job gets the same error and reports it
        await asyncio.Event().wait()
        raise AssertionError("the event is never set")

    def find_outputs(self, job: StoredJob) -> None:
        return None

    def find_room(self) -> None:
        return None

    def find_directory(self, job: StoredJob) -> None:
        return None

    def find_other_settings(self) -> list[str]:
        return []


def explain_started(started: launch.Started, home: Home) -> list[Phrase]:
    """What a start says; once in a home also what programs may that run without a sandbox."""
    running, seconds = started.running, f"{started.seconds:.1f}"
    said = phrase("local cluster started in {seconds} s ({machine})", seconds=seconds, machine=Foreign(running.machine))
    if running.console:  # no address: those of a page are of one session, and what a run prints is kept in logs
        said = phrase("{said}; `{command}` opens its console", said=said, command="paddock console")
    if running.sandbox != UNSANDBOXED or home.rights_told.exists():
        return [said]
    with suppress(OSError):  # a full disk: it is said once more
        home.rights_told.touch(mode=0o600)
    rights = phrase("programs run as you and may do all that you may: `paddock up --help` says what that means")
    if running.problem:
        rights = phrase(
            "programs run as you and may do all that you may ({problem}): `paddock up --help` says what that means",
            problem=Foreign(running.problem),
        )
    return [said, rights]


def build_cluster(config: Config, context: str | None, kubeconfig: str | None) -> Cluster:
    """The place of `config`; `context` and `kubeconfig` as typed, for advised commands."""
    file = f" --kubeconfig {shlex.quote(kubeconfig)}" if kubeconfig else ""
    name = f" --context {shlex.quote(context)}" if context else ""
    return Cluster(config, Flags(file + name, config.namespace, f"kubectl{file}{name}"))
