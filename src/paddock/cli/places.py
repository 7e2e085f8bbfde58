"""Where the jobs of a command are: on the local cluster, or on a Kubernetes that a context of a kubeconfig names.

A verb asks its `Place` for what differs between the two (how to reach it, what is kept there of a job that is gone,
what must be looked after while a job is followed) and is otherwise the same. The rule: a verb that is given a context
never starts, asks or needs the local cluster. Which place a command means is chosen in `cli.session`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from paddock import __version__
from paddock.app import launch
from paddock.app.home import Home, is_up, read_running
from paddock.cli.terminal import stderr
from paddock.jobs.phrases import Phrase
from paddock.kube.errors import ApiError
from paddock.kube.meta import Manifest, Resource, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from paddock.client.client import Client
    from paddock.client.kubeconfig import Config

_LOOK = 0.5
"""Seconds between two looks whether the cluster that a command follows is still up."""
_LITTLE = 64 * 2**10
"""Bytes of a disk that count as none: the store writes pages."""

Say = Callable[[Phrase | str], None]


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command in a sentence needs so that it means the same place: ` --context prod -n training`."""

    options: str = ""
    namespace: str = "default"
    kubectl: str = "KUBECONFIG=$(paddock kubeconfig) kubectl"

    def of(self, namespace: str) -> str:
        """The options, and the namespace where it is not the one that is meant without a word."""
        return self.options + ("" if namespace in ("", self.namespace) else f" -n {namespace}")


LOCAL = Flags()


class Place(Protocol):
    """`home` is None on a cluster: nothing of a job is on this machine there."""

    @property
    def flags(self) -> Flags: ...

    @property
    def home(self) -> Home | None: ...

    def start(self, *, sandbox: str = "auto") -> None:
        """Make it ready, where that is ours to do."""
        ...

    def read_config(self) -> Config:
        """How to reach it. Raises `ConfigError`."""
        ...

    async def attend(self, client: Client, resource: Resource, job: Manifest, say: Say) -> str:
        """Look after what must be while `job` is followed, until cancelled. Returns, with a sentence, only where there
        is nothing to follow any more."""
        ...

    def find_outputs(self, job: Manifest) -> Path | None:
        """The job's own directory (PADDOCK_OUTPUT_DIR of its ranks); None as long as nothing is in it."""
        ...

    def find_kept_log(self, namespace: str, pod: str, uid: str = "*") -> Path | None:
        """The newest log of a pod that may be gone, by default of the last one of that name."""
        ...

    def find_other_settings(self) -> list[str]:
        """Variables of the network and of package indexes that are not as this command has them, where environments
        are built."""
        ...


@dataclass(frozen=True, slots=True)
class Local:
    """The user's own cluster, in `home`."""

    home: Home
    flags: Flags = LOCAL

    def start(self, *, sandbox: str = "auto") -> None:
        """A line on stderr when it had to be started. Raises `StartError`."""
        started = launch.start(self.home, sandbox=sandbox)
        running = started.running
        if started.fresh:
            stderr().print(
                f"embedded cluster started in {started.seconds:.1f} s ({running.machine}; pods in {running.sandbox})"
            )
        elif running.version != __version__:
            stderr().print(
                f"the cluster that is up is of paddock {running.version}, this is {__version__}: after `paddock down` "
                "the next command starts one of this version"
            )

    def read_config(self) -> Config:
        from paddock.client.kubeconfig import read_config

        return read_config(str(self.home.kubeconfig))

    async def attend(self, client: Client, resource: Resource, job: Manifest, say: Say) -> str:
        """Start the cluster again whenever it was killed: its pods live on. Returns when it was stopped on purpose.
        Says when it cannot write: nothing that happens is recorded then. Raises `StartError`."""
        full = False
        while True:
            await asyncio.sleep(_LOOK)
            if is_up(self.home):
                was, full = full, shutil.disk_usage(self.home.root).free < _LITTLE
                if full and not was:
                    say(f"the disk that holds {self.home.root} is full: nothing is recorded until some of it is free")
                continue
            if read_running(self.home) is None:
                return "the cluster was stopped; the job begins a new attempt at the next `paddock up`"
            started = await asyncio.to_thread(launch.start, self.home)
            how = f"started again in {started.seconds:.1f} s" if started.fresh else "it is up again"
            say(f"the cluster was killed; {how}, the job goes on")

    def find_outputs(self, job: Manifest) -> Path | None:
        path = self.home.outputs / namespace_of(job) / f"{name_of(job)}-{uid_of(job)[:8]}"
        return path if path.is_dir() and any(path.iterdir()) else None

    def find_kept_log(self, namespace: str, pod: str, uid: str = "*") -> Path | None:
        """Laid out as a kubelet does: `<namespace>_<pod>_<uid>/<container>/N.log`."""
        logs = self.home.node.glob(f"pods/{namespace}_{pod}_{uid}/*/*.log")
        return max(logs, key=lambda path: path.stat().st_mtime, default=None)

    def find_other_settings(self) -> list[str]:
        """The cluster keeps the variables of the command that started it."""
        running = read_running(self.home)
        return launch.find_other_settings(running.pid, os.environ) if running else []


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kubernetes that others run. `flags` name it in sentences."""

    config: Config
    flags: Flags
    patience: float = 10.0
    """Seconds that a job may stay without a status before somebody asks who is to act on it."""

    @property
    def home(self) -> None:
        return None

    def start(self, *, sandbox: str = "auto") -> None:
        """It is not ours to start."""

    def read_config(self) -> Config:
        return self.config

    async def attend(self, client: Client, resource: Resource, job: Manifest, say: Say) -> str:
        """Says once why nobody has taken the job, where nobody has. Never returns: it is not stopped from here."""
        from paddock.cli.leases import explain_untaken

        await asyncio.sleep(self.patience)
        try:
            current = await client.get(resource, namespace_of(job), name_of(job))
            if not (current.get("status") or {}) and uid_of(current) == uid_of(job):
                say(await explain_untaken(client, resource, namespace_of(job), self.flags))
        except ApiError:
            pass  # whoever follows the job hears the same and says it
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    def find_outputs(self, job: Manifest) -> None:
        return None

    def find_kept_log(self, namespace: str, pod: str, uid: str = "*") -> None:
        return None

    def find_other_settings(self) -> list[str]:
        return []


def build_cluster(config: Config, context: str | None, kubeconfig: str | None) -> Cluster:
    """The place that `config` was read for; the words of the command line come back in sentences."""
    file = f" --kubeconfig {shlex.quote(kubeconfig)}" if kubeconfig else ""
    name = f" --context {shlex.quote(context)}" if context else ""
    return Cluster(config, Flags(file + name, config.namespace, f"kubectl{file}{name}"))
