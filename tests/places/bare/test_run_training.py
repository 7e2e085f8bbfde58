"""`paddock render --to bare --run` with real PaddlePaddle: servers are ended, and a machine that is lost is named."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from e2e.commands import until
from places.manifests import PROGRAMS, WIDE_AND_DEEP, build_paddle, build_role, write_manifest
from support.machines import Bench, open_machines

pytestmark = [pytest.mark.paddle, pytest.mark.timeout(600)]


def copy_program(directory: Path, files: Iterable[Path]) -> Path:
    """A directory that all machines have, with the program."""
    directory.mkdir()
    for file in files:
        shutil.copy(file, directory)
    return directory


def build_call(bench: Bench, manifest: Path, directory: Path) -> list[str]:
    typed = ["render", str(manifest), "--to", "bare", "--hosts", bench.hosts, "-o", str(manifest.parent / "out")]
    return [sys.executable, "-m", "paddock.cli.main", *typed, "--run", "--directory", str(directory)]


def test_parameter_servers_are_ended_when_the_trainers_are_done(
    tmp_path: Path, python_of: Callable[[str], str]
) -> None:
    program = copy_program(tmp_path / "program", WIDE_AND_DEEP.glob("*.py"))
    command = [python_of("paddle-ps"), "train.py", "--epochs", "1"]
    manifest = write_manifest(tmp_path, build_paddle(ps=build_role(2, *command), worker=build_role(2, *command)))
    with open_machines(tmp_path / "bench", 2) as bench:
        done = bench.laptop.run(*build_call(bench, manifest, program), timeout=200)
        left = [machine.run("pgrep", "-f", "train.py").stdout for machine in bench.machines]
    assert done.returncode == 0, done
    assert "demo completed on 2 machines" in done.stderr
    assert left == ["", ""]


def test_a_machine_that_is_lost_is_named_though_its_peer_fails_first(
    tmp_path: Path, python_of: Callable[[str], str]
) -> None:
    """gloo gives up after 30 s, as ssh does: whoever is heard first, the machine that is silent is the cause."""
    command = [python_of("paddle"), "-m", "paddle.distributed.launch", "collective.py", "10000", "0.1"]
    manifest = write_manifest(tmp_path, build_paddle(worker=build_role(2, *command)))
    program = copy_program(tmp_path / "program", PROGRAMS.glob("*.py"))
    with open_machines(tmp_path / "bench", 2, names="debian") as bench:
        process = bench.laptop.start(*build_call(bench, manifest, program))
        log = tmp_path / "out/logs/worker-1.log"
        until("step 5", lambda: process.poll() is not None or (log.exists() and "step 5" in log.read_text()))
        assert process.poll() is None
        bench.cut(1)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=240)
        took = time.monotonic() - begun
        left = bench[0].run("pgrep", "-f", "collective.py").stdout
    assert process.returncode == 1
    assert "10.77.0.2 has not answered" in errors and "worker-1 is missing" in errors, errors
    assert took < 180
    assert left == ""
