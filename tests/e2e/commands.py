"""A user's shell for the end-to-end tests: the real `paddock` and `kubectl`, with a home of their own for each cluster.

Nothing of the product is imported: what these tests see is what a user sees (screens, exit codes, files, processes).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeVar

import psutil
import yaml

from support import fork_server
from support.programs import need

T = TypeVar("T")
PADDOCK = (sys.executable, "-m", "paddock.cli.main")


def until(what: str, look: Callable[[], T], seconds: float = 90.0, *, tell: Callable[[], object] | None = None) -> T:
    """The first true answer of `look`, asked 20 times a second, or less often where it takes long: a look that runs a
    command leaves two thirds of the time to what is waited for. `tell`: what there is instead, where it never comes."""
    deadline = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        found = look()
        if found:
            return found
        now = time.monotonic()
        if now >= deadline:
            raise AssertionError(f"after {seconds:.0f} s there is still not: {what}{f'; {tell()}' if tell else ''}")
        time.sleep(max(0.05, min(2 * (now - begun), 1.0)))


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def said(self) -> list[str]:
        """The lines of standard error: what Paddock itself says while it follows a job."""
        return self.err.splitlines()

    def __str__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Running:
    """A command in the background; what it prints goes into files, so that it never waits for us."""

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str], files: Path) -> None:
        self._out, self._err = files.with_suffix(".out"), files.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err, open(os.devnull, "rb") as nothing:
            self._process = _start(command, environment, (nothing, out, err))

    @property
    def out(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    def until_it_prints(self, text: str, seconds: float = 180.0) -> None:
        def look() -> bool:
            assert text in self.out or self._process.poll() is None, f"{text!r} never came: {self.out}{self.err}"
            return text in self.out

        until(f"{text!r} on the screen", look, seconds)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self, seconds: float = 180.0) -> Ended:
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended in {seconds:.0f} s:\n{self.out}{self.err}") from None
        return Ended(code, self.out, self.err)

    def stop(self) -> None:
        """For the end of a test that failed; one that has ended is no error."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)


def _start(
    command: tuple[str, ...], environment: Mapping[str, str], streams: tuple[IO[bytes], ...]
) -> subprocess.Popen[bytes] | fork_server.Forked:
    """`paddock` is forked (`fork_server`), any other program is started."""
    if command[: len(PADDOCK)] == PADDOCK and fork_server.may_fork(environment):
        files = {number: stream.fileno() for number, stream in enumerate(streams)}
        return fork_server.Forked(command[len(PADDOCK) :], environment, files)
    stdin, stdout, stderr = streams
    return subprocess.Popen(command, env=dict(environment), stdin=stdin, stdout=stdout, stderr=stderr)


def call(*command: str, environment: Mapping[str, str], seconds: float = 180.0, directory: Path | None = None) -> Ended:
    """A command to its end, with an empty standard input. `paddock` is forked (`fork_server`)."""
    if command[: len(PADDOCK)] == PADDOCK and fork_server.may_fork(environment):
        ended = fork_server.run(command[len(PADDOCK) :], environment, seconds, directory and str(directory))
    else:
        ended = subprocess.run(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


_LOST = "discarding message"


class Cluster:
    """One home, its commands, and the processes and files that belong to it. TMPDIR is its own as well.

    `options`: the words by which `paddock` finds another cluster than that of the home.
    """

    options: tuple[str, ...] = ()

    def __init__(self, directory: Path, sandbox: str) -> None:
        self.directory, self.sandbox = directory, sandbox
        self.home, self.temporary = directory / "home", directory / "tmp"
        self.temporary.mkdir()
        self._running: list[Running] = []

    @property
    def environment(self) -> dict[str, str]:
        own = {"PADDOCK_HOME": str(self.home), "TMPDIR": str(self.temporary), "COLUMNS": "200", "NO_COLOR": "1"}
        return {**os.environ, **own, "KUBECONFIG": str(self.home / "api" / "kubeconfig")}

    def paddock(self, *words: str, seconds: float = 180.0) -> Ended:
        return self._end(*PADDOCK, *words, *self.options, seconds=seconds)

    def python(self, program: str, seconds: float = 180.0) -> Ended:
        """A program of the user, in this cluster's directory, as a notebook would run it."""
        path = self.directory / "program.py"
        path.write_text(program)
        return self._end(sys.executable, str(path), seconds=seconds)

    def kubectl(self, *words: str, seconds: float = 90.0) -> Ended:
        """Again, where kubectl 1.30 to 1.33 says that it has thrown away what came before it was ready
        (kubernetes/kubernetes#131189), as it may on a machine that is busy."""
        while _LOST in (ended := self._end(need("kubectl"), *words, seconds=seconds)).err:
            pass
        return ended

    def start(self, *words: str) -> Running:
        """`paddock run …` in the background."""
        return self._start(*PADDOCK, *words)

    def start_kubectl(self, *words: str) -> Running:
        return self._start(need("kubectl"), *words)

    def _end(self, *command: str, seconds: float) -> Ended:
        return call(*command, environment=self.environment, seconds=seconds)

    def _start(self, *command: str) -> Running:
        running = Running(command, self.environment, self.directory / f"command-{len(self._running)}")
        self._running.append(running)
        return running

    def up(self) -> Ended:
        return self.paddock("up", "--sandbox", self.sandbox)

    def stop_commands(self) -> None:
        """Those in the background that still run, and those that nobody has waited for."""
        while self._running:
            self._running.pop().stop()

    def close(self) -> None:
        self.stop_commands()
        self.paddock("down")

    # What there is.

    def link(self) -> str:
        """To the console: it signs in, once."""
        done = self.paddock("console", "--url")
        assert done.code == 0, str(done)
        return done.out.strip()

    def sign_in(self) -> tuple[str, list[dict[str, str]]]:
        """Where a browser goes to be signed in, and the cookies that it takes along."""
        return self.link(), []

    def let_go(self, name: str) -> None:
        """Ranks that wait for the file `$PADDOCK_OUTPUT_DIR/go` go on."""
        (self.output(name) / "go").touch()

    def adapt(self, text: str) -> str:
        """The manifest with images that are here."""
        return text

    def write(self, manifest: Mapping[str, Any]) -> str:
        """The manifest as a file; its path."""
        path = self.directory / f"{manifest['metadata']['name']}.yaml"
        path.write_text(yaml.safe_dump(dict(manifest), sort_keys=False))
        return str(path)

    def read(self, path: str) -> dict[str, Any]:
        """What the API answers to a GET, asked as curl would: looking again and again must not cost a program each."""
        return self._ask("GET", path)

    def delete(self, path: str) -> None:
        self._ask("DELETE", path)

    def create(self, path: str, manifest: Mapping[str, Any]) -> None:
        """As kubectl would, without what `paddock submit` looks at first."""
        self._ask("POST", path, self.adapt(json.dumps(dict(manifest))).encode())

    def patch(self, path: str, changes: Mapping[str, Any]) -> None:
        """A merge patch."""
        self._ask("PATCH", path, json.dumps(dict(changes)).encode(), "application/merge-patch+json")

    def _ask(
        self, method: str, path: str, body: bytes | None = None, content: str = "application/json"
    ) -> dict[str, Any]:
        file = self.home / "api" / "kubeconfig"
        server, token, opener = _read_access(file, file.stat().st_mtime_ns)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content}
        request = urllib.request.Request(server + path, body, headers, method=method)
        with opener.open(request, timeout=180) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def job(self, name: str) -> dict[str, Any]:
        return self.read(f"/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs/{name}")

    def phase(self, name: str) -> str:
        return str(self.job(name).get("status", {}).get("phase") or "")

    def pods(self, name: str) -> dict[str, dict[str, Any]]:
        """The pods of a job by their ranks' names: `worker-0`."""
        items = self.read(f"/api/v1/namespaces/default/pods?labelSelector=paddock.dev/job%3D{name}")["items"]
        return {pod["metadata"]["name"].removeprefix(f"{name}-"): pod for pod in items}

    def output(self, name: str) -> Path:
        """The directory that the ranks of a job share."""
        (found,) = (self.home / "outputs" / "default").glob(f"{name}-????????")
        return found

    @property
    def record(self) -> dict[str, Any]:
        """Who serves, since when."""
        return json.loads((self.home / "cluster.json").read_text())

    def processes(self) -> dict[int, str]:
        """Every process that names this cluster's directory in its command, environment or working directory."""
        mark, found = str(self.directory), {}
        for process in psutil.process_iter():
            try:
                command = process.cmdline()
                # The sandbox of another cluster has the links of `/`, where a pod of this one may have mounts.
                words = [word for before, word in pairwise(("", *command)) if before != "--symlink"]
                said = [*words, *process.environ().values(), process.cwd()]
            except (psutil.Error, OSError):
                continue
            if any(mark in word for word in said):
                found[process.pid] = " ".join(command)
        return found

    def processes_of(self, pod: Mapping[str, Any]) -> dict[int, str]:
        """What runs in a pod, with what surrounds it."""
        uid, found = pod["metadata"]["uid"], {}
        for process in psutil.process_iter():
            try:
                if process.environ().get("PADDOCK_POD_UID") == uid:
                    found[process.pid] = " ".join(process.cmdline())
            except (psutil.Error, OSError):
                continue
        return found

    def kill_program(self, pod: Mapping[str, Any], word: str) -> None:
        """SIGKILL for the pod's process that has `word` in its command, and for no shell or bwrap around it."""
        found = [pid for pid, said in self.processes_of(pod).items() if word in said and not _surrounds(said)]
        assert len(found) == 1, (word, self.processes_of(pod))
        os.kill(found[0], signal.SIGKILL)

    def kill_cluster(self) -> int:
        """`kill -9` of the one process; its number."""
        pid = int(self.record["pid"])
        os.kill(pid, signal.SIGKILL)
        until("the end of the killed process", lambda: not _lives(pid))
        return pid

    def leftovers(self) -> list[str]:
        """What must not be there after `paddock down`: processes, temporary files, what belonged to running pods."""
        left = [f"process {pid}: {said}" for pid, said in self.processes().items()]
        left += [f"temporary {path}" for path in self.temporary.iterdir()]
        left += [f"file {path}" for name in ("node/scratch", "node/records") for path in (self.home / name).glob("*")]
        left += [f"record {path}" for path in self.home.glob("cluster.json*")]
        return left


def _surrounds(said: str) -> bool:
    first = Path(said.split(" ", 1)[0]).name
    return first == "bwrap" or (first == "sh" and "exit" in said and "trap" in said)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@lru_cache(maxsize=8)
def _read_access(kubeconfig: Path, written_ns: int) -> tuple[str, str, urllib.request.OpenerDirector]:
    """The server, the token, and what asks it: to read them again for each look costs four times the look itself."""
    config = yaml.safe_load(kubeconfig.read_text())
    server, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(server["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
    return server["server"], user["token"], opener


@contextmanager
def open_cluster(sandbox: str) -> Iterator[Cluster]:
    """A cluster that is up, in a directory of its own, and gone afterwards whatever happened.

    The directory's name is short: sockets that programs make below TMPDIR have room for 107 characters.
    """
    directory = Path(tempfile.mkdtemp(prefix="e2e-"))
    cluster = Cluster(directory, sandbox)
    try:
        up = cluster.up()
        assert up.code == 0, str(up)
        yield cluster
    finally:
        cluster.close()
        left = cluster.leftovers()
        shutil.rmtree(directory, ignore_errors=True)
        assert not left, "\n".join(left)
