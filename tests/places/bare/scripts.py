"""Renders a job for bare machines as a user does, and puts each script on its machine."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from click.testing import CliRunner

from paddock.cli.main import cli
from support.machines import Bench, Machine


@dataclass
class Script:
    """A machine's script, in a directory of its own."""

    machine: Machine
    path: Path

    def call(self, *words: str, timeout: float = 60, **env: str) -> CompletedProcess[str]:
        return self.machine.run("bash", str(self.path), *words, timeout=timeout, cwd=self.path.parent, env=env)


def render(manifest: Path, target: Path, hosts: str, *words: str) -> str:
    """What `paddock render --to bare` prints; the scripts are in `target`."""
    typed = ["render", str(manifest), "--to", "bare", "--hosts", hosts, "-o", str(target), *words]
    done = CliRunner().invoke(cli, typed, prog_name="paddock")
    assert done.exit_code == 0, done.output
    return str(done.output)


def place(
    bench: Bench, manifest: Path, directory: Path, *programs: Path, name: str = "demo", by_name: bool = False
) -> list[Script]:
    """A script on each machine, beside the programs. `by_name`: the machines are named by their names."""
    hosts = [machine.name if by_name else machine.address for machine in bench.machines]
    render(manifest, directory / "rendered", ",".join(hosts))
    scripts = []
    for machine, host in zip(bench.machines, hosts, strict=True):
        own = directory / f"on-{machine.name}"
        own.mkdir()
        for program in programs:
            shutil.copy(program, own)
        scripts.append(Script(machine, Path(shutil.copy(directory / f"rendered/{name}-{host}.sh", own))))
    return scripts
