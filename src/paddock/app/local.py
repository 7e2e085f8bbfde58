"""The local cluster in one process: API, scheduler, kubelet, environments, datasets, operator and history. Each is a
client of that API.

`python -m paddock.app.local --home DIR` is that process; `app.launch` starts and stops it. It holds the home's lock
while it lives, writes to a pipe that it is ready or why it failed, and ends on SIGTERM or when it is idle (`app.idle`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

import paddock.app.resident  # noqa: F401  an upgrade beneath this process must not change it
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app import home as homes
from paddock.app.consoles.listening import LocalConsole
from paddock.app.datasets import build_supplier
from paddock.app.history import KEPT, build_keeper
from paddock.app.idle import is_idle
from paddock.app.idle_jobs import IdleJobs, read_recorded
from paddock.app.images import EnvironmentImages
from paddock.app.job_progress import TOLD_SECONDS, JobProgresses
from paddock.app.job_reports import JobReports
from paddock.app.kinds import apply_crds, build_crds, create_user_roles, keep_crds
from paddock.app.node_programs import NodePrograms
from paddock.app.outputs import OutputDirectories, prune_outputs, tidy_outputs
from paddock.app.pod_tokens import PodTokens, provide_all
from paddock.app.ports import ListeningPorts
from paddock.app.running_logs import RunningLogs
from paddock.app.surroundings import RunSurroundings, build_machine, read_driver
from paddock.app.trainer_reports import TrainerReports
from paddock.build import BUILD
from paddock.controllers.clock import LocalClock
from paddock.datasets.library import Datasets
from paddock.environments.library import Environments
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Settings
from paddock.kube.errors import ApiError
from paddock.kube.meta import DATASETS, POD_GROUPS, PODS, name_of
from paddock.node.kubelet.kubelet import Kubelet
from paddock.node.kubelet.performing import run_by_streams
from paddock.node.runtime.cgroups import find_cgroups
from paddock.node.runtime.log_times import LogTimes
from paddock.node.runtime.machine import build_node, describe, fetch_node_name, read_machine, register_node
from paddock.node.runtime.sandbox import choose_sandbox
from paddock.node.scheduler.scheduler import Scheduler
from paddock.node.stacks.dumps import Faulthandler, PySpy, find_py_spy
from paddock.node.stacks.processes import Processes
from paddock.node.stacks.taking import NodeStacks
from paddock.node.streams.node_streams import NodeStreams
from paddock.node.usage.meter import Meter
from paddock.node.volumes.binder import Binder
from paddock.operator.operator import Operator
from paddock.operator.readings import Readings
from paddock.serving.garbage import collect_seldom
from paddock.serving.open_files import raise_limit

log = logging.getLogger("paddock.cluster")

GRACE_SECONDS = 10.0
"""Grace period of the pods when the cluster stops, in seconds."""
_IDLE_CHECK_SECONDS = 30.0
_TIDY_SECONDS = 3600.0
_LOCK_TRIES = 10
_ELASTIC_WAIT, _ELASTIC_SETTLE = 10.0, 20.0
"""Seconds. A cluster's are longer: its nodes come and go in minutes, and this scheduler answers at once."""


@dataclass(frozen=True, slots=True)
class Options:
    """The local cluster's settings. Port 0: the port of the last start if it is free, else any free port.
    `pod_files`: that a program of a pod may have open, where it is not to be this process's own limit."""

    port: int = 0
    sandbox: str = "auto"
    idle_seconds: float = 600.0
    pod_files: int | None = None


def build_settings(outputs: Path) -> Settings:
    """What plans depend on. `outputs`: the directory in which each job has its own."""
    return Settings(
        pod_groups=POD_GROUPS,
        output_root=str(outputs),
        shared_network=True,
        substitutes=True,
        environments=True,
        datasets=True,
        quotas=True,
        elastic_wait=_ELASTIC_WAIT,
        elastic_settle=_ELASTIC_SETTLE,
        progress_wait=TOLD_SECONDS,
    )


def build_stacks(kubelet: Kubelet) -> NodeStacks:
    processes, tool = Processes(), find_py_spy(os.environ)
    return NodeStacks(kubelet.list_running, processes, (PySpy(tool), Faulthandler(processes)), tool)


class LocalCluster:
    """The parts of a local cluster, started and stopped in order."""

    def __init__(self, home: homes.Home, options: Options) -> None:
        self.home = home
        self.options = options
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()

    async def start(self) -> homes.Running:
        """Starts all parts; returns the record for cluster.json. Raises OSError, ApiError, HomeError, for the user."""
        self.sandbox = choose_sandbox(self.options.sandbox, self.options.pod_files)
        self.api = await LocalApi.open(self.home.api)
        self.machine = read_machine(await fetch_node_name(self.api))
        self.environments = Environments(self.api, self.home.cache)
        images = EnvironmentImages(self.environments)
        self.posted = TrainerReports(
            self.api.get, self.home.api, url=lambda: self.server.url, certificate=self.home.api / "ca.crt"
        )
        tokens = PodTokens(
            lambda: self.server.access, url=lambda: self.server.url, certificate=self.home.api / "ca.crt"
        )
        keeper = build_keeper(self.api, self.home, on_prune=partial(prune_outputs, self.home))
        machine = build_machine(self.machine, read_driver())
        surroundings = RunSurroundings(
            self.api, self.home.history, machine, keeper.note, list_running=lambda: self.kubelet.list_running()
        )
        cgroups = await asyncio.to_thread(find_cgroups, self.home.node, float(self.machine.cpus))
        self.kubelet = Kubelet(
            self.api,
            images,
            self.home.node,
            self.machine,
            sandbox=self.sandbox,
            enforces_limits=self.home.enforced.exists,
            cgroups=cgroups,
            hidden=(self.home.root, homes.read_home({}).root),
            read_only=(self.home.cache,),
            keeps_logs=KEPT.has,
            prepare=OutputDirectories(self.home.outputs, self.home.history).prepare,
            provide=provide_all(self.posted.provide, tokens.provide) if self.sandbox.binds else self.posted.provide,
            make_token=tokens.make,
            tell=surroundings.on_start,
            run_in_container=run_by_streams(lambda: self.streams.exec_for_kubelet),
        )
        self.meter = Meter(
            self.home.node,
            self.machine,
            self.kubelet.list_running,
            watch=self.kubelet.excesses,
            list_programs=lambda: self.streams.list_programs(),
        )
        stacks = build_stacks(self.kubelet)
        self.streams = NodeStreams(
            self.kubelet.list_running,
            self.kubelet.recall_run,
            self.home.node,
            cgroups,
            self.kubelet.inputs,
            self.kubelet.enter_held,
        )
        self.server = Server(
            self.api,
            self.home.api,
            logs=self.kubelet.logs,
            stacks=stacks,
            usages=self.meter,
            reports=self.posted,
            streams=self.streams,
        )
        await self._serve()
        self.api.objects.furnish_namespaces(self.server.certificate_authority.read_text("ascii"))
        crds = build_crds()
        self.api.objects.own_definitions = frozenset(map(name_of, crds))
        await apply_crds(self.api, crds)
        await create_user_roles(self.api)
        await self.environments.seed()
        await register_node(self.api, build_node(self.machine, {}, time.time(), sandbox=self.sandbox.name))
        settings, clock = build_settings(self.home.outputs), LocalClock()
        logs = RunningLogs(self.api, self.home.node, self.kubelet.list_running)
        reports = JobReports(logs, stacks)
        progresses = JobProgresses(logs, self.home, self.posted)
        idle = IdleJobs(self.api, read_recorded(logs), lambda *event: self.operator.publish(*event))
        self.operator = Operator(
            self.api,
            settings,
            readings=Readings(
                clock.now,
                clock.disagreement,
                taken_ports=ListeningPorts(),
                programs=NodePrograms(reports, progresses),
                gpus=idle,
            ),
        )
        self._spawn("scheduler", Scheduler(self.api).run)
        self._spawn("definitions", partial(keep_crds, self.api, crds))
        self._spawn("binder", Binder(self.api, self.home.node / "volumes").run)
        self._spawn("environments", self.environments.run)
        self._spawn("datasets", Datasets(self.api, build_supplier(self.api, self.home)).run)
        self._spawn("kubelet", self.kubelet.run)
        self._spawn("usage", self.meter.run)
        self._spawn("reports", reports.run)
        self._spawn("progress", progresses.run)
        self._spawn("idle jobs", idle.run)
        self._spawn("log times", LogTimes(self.home.node, self.kubelet.list_running).run)
        self._spawn("history", keeper.run)
        self._spawn("surroundings", surroundings.run)
        self._spawn("outputs", self._tidy_outputs)
        self._operator_task = self._spawn("operator", self.operator.run)
        self.console = LocalConsole(self.api, self.home, describe(self.machine), settings)
        await self.console.start()
        self._spawn("idle", self._watch_idleness)
        return homes.Running(
            os.getpid(),
            self.server.url,
            time.time(),
            BUILD,
            describe(self.machine),
            self.sandbox.name,
            self.sandbox.problem,
            self.console.url,
        )

    async def _serve(self) -> None:
        if self.options.port:
            await self.server.start(self.options.port)
            return
        try:
            await self.server.start(self._last_port())
        except OSError:
            # Another program has taken the port since.
            await self.server.start(0)

    def _last_port(self) -> int:
        """The port of the last start: a copied kubeconfig keeps working."""
        with suppress(OSError, ValueError):
            return int((self.home.root / "port").read_text())
        return 0

    def _spawn(self, name: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(_supervise(name, run), name=name)
        self._tasks.append(task)
        return task

    async def _tidy_outputs(self) -> None:
        while True:
            await asyncio.to_thread(tidy_outputs, self.home, time.time())
            await asyncio.sleep(_TIDY_SECONDS)

    async def _watch_idleness(self) -> None:
        while True:
            await asyncio.sleep(min(_IDLE_CHECK_SECONDS, self.options.idle_seconds / 2))
            if self.home.pinned.exists() or self.streams.is_in_use:
                continue
            jobs = [job for kind in KINDS for job in (await self.api.list(kind)).items]
            pods = (await self.api.list(PODS)).items
            idle_seconds = self.options.idle_seconds
            asked = max(self.server.last_request, self.console.last_request)
            datasets = (await self.api.list(DATASETS)).items
            if is_idle(jobs, pods, asked, time.time(), datasets=datasets, idle_seconds=idle_seconds):
                log.info("nothing unfinished and no client for %.0f s: stopping", idle_seconds)
                self.stop()

    def stop(self) -> None:
        self._stop.set()

    async def run_until_stopped(self) -> None:
        """Serves until `stop` is called, then ends all parts in order."""
        await self._stop.wait()
        # The operator first: it would take the end of the pods for a failure of their jobs.
        await _cancel([self._operator_task])
        await self.kubelet.stop(GRACE_SECONDS)
        # After the pods: a program of exec tells its client that its container has ended.
        await self.streams.close()
        await _cancel(self._tasks)
        await self.console.stop()
        await self.server.stop()
        await self.api.close()


async def _supervise(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Restarts a part that failed (a bug of Paddock) with back-off, and logs it; the other parts go on."""
    delay = 0.2
    while True:
        try:
            await run()
            return
        except Exception:
            log.exception("%s ended by a bug of Paddock; it starts again in %.1f s", name, delay)
        await asyncio.sleep(delay)
        delay = min(delay * 2, 30.0)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def serve(home: homes.Home, options: Options, notify: Callable[[dict[str, object]], None]) -> int:
    """Runs the cluster until it ends; the exit code. Calls `notify` once: {"ready": true} or {"error": sentence}."""
    cluster = LocalCluster(home, options)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, cluster.stop)
    try:
        running = await cluster.start()
    except Exception as error:
        known = isinstance(error, OSError | ApiError)
        log.error("the cluster did not start: %s", explain_failure(error), exc_info=None if known else error)
        notify({"error": explain_failure(error)})
        return 1
    homes.write_running(home, running)
    homes.note_home(home)
    (home.root / "port").write_text(running.url.rpartition(":")[2])
    notify({"ready": True})
    log.info("serving %s (%s; pods in %s)", running.url, running.machine, running.sandbox)
    await cluster.run_until_stopped()
    home.record.unlink(missing_ok=True)
    return 0


def explain_failure(error: Exception) -> str:
    """One sentence for the person who typed the command; the log has the rest."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, OSError | ApiError):
        return str(error)
    return f"{type(error).__name__}: {error} (a bug of Paddock; see cluster.log)"


def _build_notifier(descriptor: int) -> Callable[[dict[str, object]], None]:
    def notify(message: dict[str, object]) -> None:
        stream: TextIO
        # The starting process reads for `launch.START_SECONDS` only; a cluster that is ready later serves all the same.
        with suppress(OSError), os.fdopen(descriptor, "w") as stream:
            stream.write(json.dumps(message) + "\n")

    return notify


def _acquire(lock: homes.Lock) -> bool:
    """Acquires the lock, with retries."""
    # `is_up` in other processes holds the lock for an instant.
    for _ in range(_LOCK_TRIES):
        if lock.acquire():
            return True
        time.sleep(0.01)
    return False


def hear_ignored_signals() -> None:
    """Exchanges "ignored" for a handler that does nothing. Programs of pods would inherit the one, and not the other:
    they start with the defaults, as in a container."""
    # Under nohup SIGHUP is ignored, and SIGINT and SIGQUIT in what a script starts with `&`. Python ignores two itself,
    # and restores them for each program.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def main(arguments: list[str]) -> int:
    """`--home DIR --cache DIR --ready-fd N [--port N] [--sandbox NAME] [--idle SECONDS]`, from `app.launch` only."""
    values = dict(zip(arguments[::2], arguments[1::2], strict=True))
    home = homes.Home(Path(values["--home"]), Path(values["--cache"]))
    options = Options(
        int(values.get("--port", "0")), values.get("--sandbox", "auto"), float(values.get("--idle", "600")),
        raise_limit(),
    )  # fmt: skip
    notify = _build_notifier(int(values["--ready-fd"]))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    os.umask(0o077)
    hear_ignored_signals()
    lock = homes.Lock(home)
    if not _acquire(lock):
        notify({"taken": True})
        return 0
    lock.write_pid()
    # A killed cluster has left its record. It stays until this one is ready, as that of no process: where this one is
    # killed too, it is known that nobody stopped the other, and in which sandbox its pods live on.
    if (killed := homes.read_running(home)) is not None:
        with suppress(OSError):
            homes.write_running(home, replace(killed, pid=0))
    from paddock.serving.loop import run

    collect_seldom()
    return run(serve(home, options, notify))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
