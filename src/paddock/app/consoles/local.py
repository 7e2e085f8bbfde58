"""What the console of the local cluster is made of. `listening` loads it when somebody first opens it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import paddock.app.resident  # noqa: F401  an upgrade beneath this process must not change it
from paddock.app.consoles.boards import LocalBoards
from paddock.app.consoles.environments import read_build_log
from paddock.app.consoles.logs import LocalLogs
from paddock.app.consoles.outputs import LocalOutputs
from paddock.app.consoles.runs import LocalRuns
from paddock.app.consoles.used.recorded import LocalMetrics
from paddock.app.consoles.used.sparks import KeptSparks
from paddock.app.consoles.used_tickets import open_sign_in
from paddock.app.held_runs import read_held_runs
from paddock.app.history import History
from paddock.app.home import Home
from paddock.app.outputs import has_outputs
from paddock.app.submitted.prepare import prepare
from paddock.app.why_not import fetch_waits
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.console.tickets import name_host
from paddock.history.record_shelf import RecordShelf
from paddock.jobs.model import Settings
from paddock.jobs.names import output_name
from paddock.kube.api import Api
from paddock.kube.meta import Manifest, name_of, namespace_of, uid_of

KUBECTL = "KUBECONFIG=$(paddock kubeconfig) kubectl"


def build_backend(api: Api, home: Home, machine: str, settings: Settings | None = None) -> Backend:
    """The backend of the embedded cluster in `home`. `settings`: of its operator."""
    history, records = History(home), RecordShelf(home.history)
    logs = LocalLogs(history, records=records)
    metrics, sparks, runs = LocalMetrics(logs), KeptSparks(logs), LocalRuns(history, logs, records)
    return Backend(
        machine,
        True,
        lambda _: api,
        kubectl=KUBECTL,
        logs=lambda _: logs,
        metrics=lambda _: metrics,
        sparks=lambda _: sparks,
        runs=lambda _: runs,
        held=lambda since, namespace: asyncio.to_thread(read_held_runs, home, since, namespace),
        why_not=fetch_waits,
        prepare=prepare,
        find_outputs=lambda job: _find_outputs(home, job),
        outputs=LocalOutputs(home),
        boards=LocalBoards(home),
        settings=settings,
        read_build_log=partial(read_build_log, home.cache / "environments"),
    )


def _find_outputs(home: Home, job: Manifest) -> str:
    path = home.outputs / namespace_of(job) / output_name(name_of(job), uid_of(job))
    return str(path) if has_outputs(path) else ""


def build_console(api: Api, home: Home, machine: str, settings: Settings, host: str) -> Console:
    """`host`: where it listens."""
    key, used_tickets = open_sign_in(home, time.time())
    backend = build_backend(api, home, machine, settings)
    return Console(backend, key, frozenset({host, name_host(key)}), used_tickets=used_tickets)
