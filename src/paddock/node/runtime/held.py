"""A sandbox that is made again for a container that has failed, and is held (`kube.held_pods`).

When the container of such a pod starts, what its program is started with is written beside its run (`write_program`):
the variables, mounts and paths as they were. Whoever enters later gets a new sandbox of the same making, in which a
shell waits for the end of a pipe. It ends when its last visitor leaves, with the kubelet, or with the hold.

The file may have values of Secrets: it is in the node's directory, for the user alone, as the files of Secret volumes.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paddock.node.runtime import processes
from paddock.node.runtime.cgroups import Cgroups
from paddock.node.runtime.mount_sources import open_mounts, resolve_hidden
from paddock.node.runtime.mounts import MEMORY, Mount, apply_links
from paddock.node.runtime.pod_files import open_for_writing, open_regular
from paddock.node.runtime.pod_state import PodState, Run
from paddock.node.runtime.processes import Process
from paddock.node.runtime.records import Records, temporary_directory
from paddock.node.runtime.run_files import naming, open_run_file
from paddock.node.runtime.sandbox import Program, Sandbox

_log = logging.getLogger(__name__)


def write_program(path: Path, program: Program) -> None:
    """Without it the container cannot be held, which is no reason not to start it."""
    told = {
        "environment": dict(program.environment),
        "directory": program.directory,
        "host_name": program.host_name,
        "termination": str(program.termination),
        "termination_path": program.termination_path,
        "hosts": None if program.hosts is None else str(program.hosts),
        "mounts": [[str(each.source), each.target, each.read_only, each.volume] for each in program.mounts],
        "hidden": [str(each) for each in program.hidden],
        "memory": program.memory,
    }
    try:
        with naming(path), os.fdopen(open_for_writing(path, os.O_TRUNC), "w", encoding="ascii") as file:
            json.dump(told, file)
    except OSError as error:
        _log.warning("what %s starts with cannot be written, so it cannot be held: %s", path.stem, error)


def read_program(path: Path) -> Program | None:
    """None where it is not there, or is not whole."""
    try:
        with os.fdopen(open_regular(path), encoding="ascii") as file:
            told: dict[str, Any] = json.load(file)
        return Program(
            arguments=(),
            environment=told["environment"],
            directory=told["directory"],
            host_name=told["host_name"],
            termination=Path(told["termination"]),
            termination_path=told["termination_path"],
            hosts=None if told["hosts"] is None else Path(told["hosts"]),
            mounts=tuple(
                Mount(Path(source), target, read_only, volume=volume)
                for source, target, read_only, volume in told["mounts"]
            ),
            hidden=tuple(map(Path, told["hidden"])),
            memory=told["memory"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class OpenSandbox:
    """A sandbox that is held open."""

    run: Run
    """The run that has ended, with the process of this sandbox."""
    process: Process
    run_file: Path
    """What the new sandbox tells of itself."""
    log: Path
    """What the sandbox says of why it does not start."""
    directory: str
    pipe: int
    """When it is closed, the sandbox ends."""


def open_sandbox(
    records: Records,
    sandbox: Sandbox,
    cgroups: Cgroups,
    state: PodState,
    run: Run,
    shared: Collection[str],
    number: int,
) -> OpenSandbox | None:
    """`shared`: as in `apply_links`. `number`: of no other sandbox of this pod. None where it is not known any more how
    the run was started. Raises OSError, `ContainerWaiting`, `CannotStart` as a start does."""
    program = read_program(records.program_file(state.uid, run))
    if program is None:
        return None
    scratch, names = records.scratch(state.uid), f"{run.container}-{run.number}.held-{number}"
    run_file, log = scratch / names, scratch / f"{names}.log"
    if not sandbox.binds:
        temporary_directory(state.uid).mkdir(mode=0o700, exist_ok=True)
    _make_memory(program.mounts)
    with ExitStack() as files:
        hidden = resolve_hidden(program.hidden) if sandbox.binds else {}
        volumes = open_mounts((each for each in program.mounts if each.volume), run.container, files, hidden)
        # What is seen of the machine comes first, as at the start: of two at one path the later counts.
        mounts = (*(each for each in program.mounts if not each.volume), *volumes)
        if not sandbox.binds:
            apply_links(volumes, shared, [], scratch)
        reading, writing = os.pipe()
        files.callback(os.close, reading)
        try:
            idle = ("/bin/sh", "-c", 'read -r _ <"/proc/self/fd/$1"', "sh", str(reading))
            program = replace(program, arguments=idle, mounts=mounts)
            status = open_run_file(run_file)
            files.callback(os.close, status)
            command = cgroups.enclose(sandbox.build_command(program, status), state.uid, run, program.memory)
            opened = [each.descriptor for each in mounts if each.descriptor is not None and sandbox.binds_descriptors]
            where, inherit = scratch if sandbox.binds else Path(program.directory), [reading, *opened]
            if sandbox.takes_file_as_input:
                process = processes.spawn(command, program.environment, where, log, stdin=status, inherit=inherit)
            else:
                process = processes.spawn(command, program.environment, where, log, inherit=[status, *inherit])
        except BaseException:
            os.close(writing)
            raise
    entered = replace(run, pid=process.pid, birth=process.birth)
    return OpenSandbox(entered, process, run_file, log, program.directory, writing)


def _make_memory(mounts: Collection[Mount]) -> None:
    """Volumes in memory went with the container, so they are empty now."""
    for mount in mounts:
        if MEMORY in mount.source.parents:
            mount.source.mkdir(mode=0o700, parents=True, exist_ok=True)
