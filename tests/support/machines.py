"""Machines of a test: network namespaces on one switch, each with its own name, hosts file, processes and sshd.

    with open_machines(tmp_path, 2, names="debian") as bench:
        bench[0].run("hostname")
        bench.laptop.run("ssh", bench[1].address, "true")

Nothing of them is visible outside, and nothing outlives the block: the namespaces have no names, and each machine's
first process ends with its parent. `names`: what a machine's own name and those of its peers stand for in its hosts
file.

    resolve        the addresses of the machines
    debian         the same, but the own name is 127.0.1.1, as Debian installs it
    unresolvable   nothing
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from support.programs import lack, need

Names = Literal["resolve", "debian", "unresolvable"]
NETWORK = "10.77.0"
_FIRST = """
set -e
mount -t tmpfs none /run
mkdir -p /run/sshd
for file in hosts resolv.conf shadow; do
    touch /run/$file
    [ -e /etc/$file ] || continue
    mount --bind "$1/$file" "$(readlink -f /etc/$file)"
done
mount --bind "$1/ssh" "$2"
hostname "$3"
ip link set lo up
echo ready
read -r _
ip address add "$4/24" dev eth0
ip link set eth0 up
echo up
exec "$5" -c '
import os, signal, sys
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
sys.stdin.read()
'
"""
"""What a machine does as it starts. Its last program is its init: it reaps orphans, and the machine ends with it."""


@dataclass
class Machine:
    """`pid`: of its first process, seen from outside. `directory`: of its files, the same path in every machine."""

    name: str
    address: str
    directory: Path
    first: subprocess.Popen[str]
    pid: int
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(self, *words: str) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-m", "-p", "--", *words]

    def run(
        self, *words: str, timeout: float = 60, cwd: Path | None = None, env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Runs a program in the machine, with an environment of its own, to its end."""
        return subprocess.run(
            self.command(*words), cwd=cwd, env=build_environment(env), capture_output=True, text=True, timeout=timeout,
            input=text or "",
        )  # fmt: skip

    def start(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts a program, which ends with the machine at the latest."""
        process = subprocess.Popen(
            self.command(*words), cwd=cwd, env=build_environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.started.append(process)
        return process


@dataclass
class Bench:
    """`switch`: the process whose namespace has the bridge. `laptop`: a machine from which others are reached."""

    machines: list[Machine]
    laptop: Machine
    switch: subprocess.Popen[str]

    def __getitem__(self, index: int) -> Machine:
        return self.machines[index]

    @property
    def hosts(self) -> str:
        return ",".join(machine.address for machine in self.machines)

    def cut(self, index: int) -> None:
        """From now on nothing comes from the machine or reaches it; nobody is told."""
        _call(self.switch.pid, "ip", "link", "set", f"port{index}", "nomaster")

    def restore(self, index: int) -> None:
        _call(self.switch.pid, "ip", "link", "set", f"port{index}", "master", "switch")

    def stop_ssh(self, index: int) -> None:
        """The machine refuses connections of ssh from now on."""
        self.machines[index].run("sh", "-c", "kill $(cat /run/sshd.pid)")

    def forget(self, index: int) -> None:
        """The laptop no longer knows the machine's key."""
        path = self.laptop.directory / "ssh/known_hosts"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if f"{self.machines[index].address}," not in line))


def build_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a shell of a machine has: nothing of the test's own."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8", **(more or {})}


@contextmanager
def open_machines(
    directory: Path, count: int, *, names: Names = "resolve", addresses: Sequence[str] = ()
) -> Iterator[Bench]:
    """`count` machines, called `machine-a` and so on, at 10.77.0.1 and following, or `addresses` (last numbers)."""
    for program in ("ip", "unshare", "nsenter", "ssh", "ssh-keygen"):
        need(program)
    need("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if os.geteuid() != 0:
        lack("unshare", "makes machines of network namespaces for root alone")
    with ExitStack() as stack:
        switch = stack.enter_context(_open_switch())
        numbers = list(addresses or (str(index + 1) for index in range(count)))
        rows = [(f"machine-{chr(97 + index)}", f"{NETWORK}.{number}") for index, number in enumerate(numbers)]
        rows.append(("laptop", f"{NETWORK}.200"))
        key = _make_key(directory / "key")
        opened = []
        for index, (name, address) in enumerate(rows):
            home = directory / name
            _write_files(home, name, rows, names, key)
            opened.append(stack.enter_context(_open_machine(switch, index, name, address, home)))
        bench = Bench(opened[:-1], opened[-1], switch)
        for machine in bench.machines:
            _start_ssh(machine, key)
        lines = [
            f"{machine.address},{machine.name} {key.with_suffix('.pub').read_text()}" for machine in bench.machines
        ]
        (bench.laptop.directory / "ssh/known_hosts").write_text("".join(lines))
        yield bench


@contextmanager
def _open_switch() -> Iterator[subprocess.Popen[str]]:
    words = ["unshare", "--net", "sh", "-c", "ip link add switch type bridge && ip link set switch up && echo && cat"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        if not process.stdout.readline():
            lack("unshare", f"makes no network namespace here: {process.stderr.read().strip()}")
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _open_machine(switch: subprocess.Popen[str], index: int, name: str, address: str, home: Path) -> Iterator[Machine]:
    """A machine with an interface eth0, whose other end is a port of the switch."""
    ssh = Path.home() / ".ssh"
    ssh.mkdir(mode=0o700, exist_ok=True)
    words = [
        "unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
        "sh", "-c", _FIRST, "sh", str(home), str(ssh), name, address, sys.executable,
    ]  # fmt: skip
    first = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    machine = Machine(name, address, home, first, 0)
    try:
        assert first.stdout is not None and first.stdin is not None and first.stderr is not None
        if first.stdout.readline() != "ready\n":
            lack("unshare", f"makes no machine here: {first.stderr.read().strip()}")
        machine.pid = int(Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()[0])
        port = f"port{index}"
        _call(switch.pid, "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(machine.pid))
        _call(switch.pid, "ip", "link", "set", port, "master", "switch", "up")
        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.readline() == "up\n", first.stderr.read()
        yield machine
    finally:
        try:
            first.communicate(timeout=10)  # the end of its input ends it, with all that runs in it
        except subprocess.TimeoutExpired:
            first.kill()
            first.communicate()
        for process in machine.started:
            process.communicate()


def _call(pid: int, *words: str) -> None:
    subprocess.run(["nsenter", "-t", str(pid), "-n", "--", *words], check=True, capture_output=True)


def _make_key(path: Path) -> Path:
    """One key is that of each machine and of the user."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return path


def _write_files(home: Path, name: str, rows: Sequence[tuple[str, str]], names: Names, key: Path) -> None:
    (home / "ssh").mkdir(parents=True)
    lines = ["127.0.0.1 localhost"]
    if names != "unresolvable" or name == "laptop":
        own = "127.0.1.1" if names == "debian" and name != "laptop" else ""
        lines += [f"{own if own and each == name else address} {each}" for each, address in rows]
    (home / "hosts").write_text("\n".join(lines) + "\n")
    (home / "resolv.conf").write_text("options timeout:1 attempts:1\n")
    (home / "shadow").write_text("root:*:20000:0:99999:7:::\n")
    for mine, text in (("id_ed25519", key.read_text()), ("authorized_keys", key.with_suffix(".pub").read_text())):
        (home / "ssh" / mine).write_text(text)
        (home / "ssh" / mine).chmod(0o600)


def _start_ssh(machine: Machine, key: Path) -> None:
    config = machine.directory / "sshd_config"
    config.write_text(
        f"HostKey {key}\nPidFile /run/sshd.pid\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        "PasswordAuthentication no\nUseDNS no\nMaxStartups 50\n"
        f"AuthorizedKeysFile {machine.directory}/ssh/authorized_keys\n"
    )
    done = machine.run("/usr/sbin/sshd", "-f", str(config), "-E", str(machine.directory / "sshd.log"))
    assert done.returncode == 0, done.stderr
