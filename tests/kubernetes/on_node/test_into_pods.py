"""`paddock exec`, `shell` and `forward` of pods that a real kubelet runs in containers, through a real API server."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.real_node import BUSYBOX, NAMESPACE, Cluster, build_shell_job

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(700)]

_BIG = 3_000_000
_RUNS = f"""\
mkdir /www
echo from worker-$PADDLE_TRAINER_ID > /www/name
head -c {_BIG} /dev/zero > /www/big
httpd -p 8080 -h /www
[ $PADDLE_TRAINER_ID = 0 ] || exit 0
exec sleep 10000
"""
_TYPED_SECONDS = 120.0
"""For what is typed to be answered."""
_INPUT = os.urandom(1_000_000)


@pytest.fixture(scope="module", autouse=True)
def inside(cluster: Cluster) -> Iterator[None]:
    """A job of two pods: worker-0 serves files on port 8080, worker-1 has ended."""
    job: dict[str, Any] = build_shell_job("inside", ["sh", "-c", _RUNS], workers=2)
    beside = {"name": "beside", "image": BUSYBOX, "command": ["sleep", "10000"]}
    job["spec"]["worker"]["template"]["spec"]["containers"].append(beside)
    with cluster.created(job):
        cluster.until("worker-1 has ended", lambda: _has_ended(cluster.pods("inside").get("worker-1", {})))
        cluster.until("worker-0 runs", lambda: cluster.pods("inside")["worker-0"]["status"]["phase"] == "Running")
        yield


def _has_ended(pod: dict[str, Any]) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any("terminated" in each["state"] for each in statuses if each["name"] == "paddle")


def _command(cluster: Cluster, home: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """`--kubeconfig` stands behind the verb, before a command of the pod."""
    verb, *rest = words
    place = ("--kubeconfig", str(cluster.kubectl.control_plane.kubeconfig), "-n", NAMESPACE)
    environment = os.environ | {"PADDOCK_HOME": str(home), "NO_COLOR": "1", "COLUMNS": "200"}
    return [sys.executable, "-m", "paddock.cli.main", verb, *place, *rest], environment


def run(cluster: Cluster, home: Path, *words: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """Exit code, output, and what is said."""
    command, environment = _command(cluster, home, *words)
    ended = subprocess.run(command, env=environment, input=stdin, capture_output=True, timeout=120, check=False)
    return ended.returncode, ended.stdout, ended.stderr.decode()


def test_a_program_has_its_bytes_and_its_code(cluster: Cluster, tmp_path: Path) -> None:
    typed = "echo out $PADDLE_TRAINER_ID; echo err >&2; exit 7"
    assert run(cluster, tmp_path, "exec", "inside-worker-0", "--", "sh", "-c", typed) == (7, b"out 0\n", "err\n")
    killed = run(cluster, tmp_path, "exec", "inside-worker-0", "--", "sh", "-c", "kill -9 $$")
    assert killed == (137, b"", "")
    beside = run(cluster, tmp_path, "exec", "inside-worker-0", "--container", "beside", "--", "pidof", "sleep")
    assert beside == (0, b"1\n", "")
    code, out, _ = run(cluster, tmp_path, "exec", "inside", "--", "head", "-c", "2000000", "/dev/zero")
    assert (code, out) == (0, bytes(2_000_000))


def test_input_of_a_megabyte_comes_whole(cluster: Cluster, tmp_path: Path) -> None:
    """It is read by its length: the protocol of this Kubernetes has no end of an input."""
    words = ("exec", "inside-worker-0", "--", "sh", "-c", f"head -c {len(_INPUT)} | sha256sum")
    code, out, said = run(cluster, tmp_path, *words, stdin=_INPUT)
    assert (code, out.split()[0].decode(), said) == (0, hashlib.sha256(_INPUT).hexdigest(), "")
    back = run(cluster, tmp_path, "exec", "inside-worker-0", "--", "head", "-c", str(len(_INPUT)), stdin=_INPUT)
    assert back == (0, _INPUT, "")
    shell = run(cluster, tmp_path, "shell", "inside-worker-0", stdin=b"hostname; exit 4\n")
    assert shell[:2] == (4, b"inside-worker-0\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("inside-worker-0", "--", "no-such-program"), 127, "no-such-program cannot be started in worker-0: "),
        (("inside-worker-0", "--", "/etc/passwd"), 126, "/etc/passwd cannot be started in worker-0: "),
        (("inside-worker-1", "--", "true"), 1, "the container paddle of worker-1 has ended, with exit code 0"),
        (("inside-worker-0", "--container", "besid", "--", "true"), 2, "worker-0 has no container 'besid'; it has "
         "paddle and beside; did you mean beside?"),
        (("inside", "--rank", "2", "--", "true"), 2, "inside has no rank 2"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_said(
    cluster: Cluster, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ended = run(cluster, tmp_path, "exec", *words)
    assert ended[:2] == (code, b"") and said in ended[2], ended


class Typed:
    """A command on a terminal of its own, 30 lines of 100 columns."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._mine, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (30, 100))
        self._process = subprocess.Popen(
            command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self._mine, text.encode())

    def resize(self, lines: int, columns: int) -> None:
        termios.tcsetwinsize(self._mine, (lines, columns))
        self._process.send_signal(signal.SIGWINCH)  # it has this terminal, and does not control it

    def until(self, pattern: str) -> None:
        deadline = time.monotonic() + _TYPED_SECONDS
        while not re.search(pattern, self.shown):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._mine], [], [], left)[0], f"{pattern} never came: {self.shown!r}"
            try:
                data = os.read(self._mine, 1 << 16)
            except OSError:  # nobody has the other side
                data = b""
            assert data, f"{pattern} never came: {self.shown!r}"
            self.shown += data.decode()

    def end(self) -> int:
        return self._process.wait(60)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
        os.close(self._mine)


@contextmanager
def typed(cluster: Cluster, home: Path, *words: str) -> Iterator[Typed]:
    terminal = Typed(*_command(cluster, home, *words))
    try:
        yield terminal
    finally:
        terminal.close()


def test_a_shell_has_a_terminal_its_size_and_ctrl_c(cluster: Cluster, tmp_path: Path) -> None:
    with typed(cluster, tmp_path, "shell", "inside-worker-0") as shell:
        shell.until(r"/ # ")
        shell.type("stty size\r")
        shell.until(r"\n30 100\r")
        shell.resize(41, 77)
        shell.type("until [ \"$(stty size)\" = '41 77' ]; do sleep 0.1; done; echo is $((40 + 2))\r")
        shell.until(r"is 42")
        # The program itself says that it has begun: before, the terminal may still be the shell's, which waits on.
        shell.type("sh -c 'echo begins $((40 + 3)); exec sleep 10000'; echo is over $?\r")
        shell.until(r"begins 43\r")
        shell.type("\x03")
        shell.until(r"/ # ")
        assert not re.search(r"over \d", shell.shown)
        shell.type("exit 5\r")
        assert shell.end() == 5
    with typed(
        cluster, tmp_path, "exec", "-i", "-t", "inside-worker-0", "--", "sh", "-c", "read x; tty; exit 3"
    ) as one:
        one.type("word\r")
        one.until("/dev/pts/")
        assert one.end() == 3


def test_a_port_is_reached_until_ctrl_c(cluster: Cluster, tmp_path: Path) -> None:
    command, environment = _command(cluster, tmp_path, "forward", "inside-worker-0", "0:8080", "0:9")
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as forwarding:
        try:
            assert forwarding.stdout is not None and forwarding.stderr is not None
            address, nobody = (forwarding.stdout.readline().partition(" -> ")[0] for _ in range(2))
            for path, content in (("name", b"from worker-0\n"), ("big", bytes(_BIG))):
                with urllib.request.urlopen(f"{address}/{path}", timeout=60) as answer:
                    assert answer.read() == content
            with pytest.raises(OSError, match=r"."):
                urllib.request.urlopen(nobody, timeout=60)
            assert forwarding.stderr.readline() == "port 9 of worker-0: nobody listens there\n"
            forwarding.send_signal(signal.SIGINT)
            assert forwarding.wait(60) == 130
        finally:
            forwarding.kill()
