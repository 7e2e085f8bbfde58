"""`paddock exec`, `shell` and `forward` against a server whose programs are the tests' own: bytes, exit codes, a real
terminal, and what is said where nothing can be run."""

from __future__ import annotations

import asyncio
import errno
import os
import pty
import queue
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from paddock.cli.follow.forwarding import Forward, explain_port, read_forward
from paddock.cli.main import run
from paddock.cli.verbs.shell import build_command
from paddock.kube.pod_streams import STDERR, Ended, read_not_started
from support.foreign import write_kubeconfig
from support.streaming import (
    V4,
    SmallCluster,
    Streamed,
    build_small_job,
    build_small_pod,
    refuse,
    serve_in_thread,
)


@dataclass
class Told:
    code: int
    out: bytes
    err: str


@dataclass
class Scene:
    cluster: SmallCluster
    loop: asyncio.AbstractEventLoop
    options: tuple[str, ...]
    where: str
    """The options as an advised command has them."""
    patch: pytest.MonkeyPatch

    def type(self, *words: str, stdin: bytes | None = b"") -> Told:
        """Runs `paddock WORDS` with pipes. `stdin`: None for one that is closed."""
        own, program = _split(words)
        out, err = Pipe(), Pipe()
        read, write = os.pipe()
        feeder = threading.Thread(target=_feed, args=(write, stdin or b""))
        feeder.start()
        with (
            self.patch.context() as patch,
            os.fdopen(read) as given,
            os.fdopen(out.theirs, "w") as ours,
            os.fdopen(err.theirs, "w") as errors,
        ):
            patch.setattr(sys, "stdin", None if stdin is None else given)
            patch.setattr(sys, "stdout", ours)
            patch.setattr(sys, "stderr", errors)
            code = run([*own, *self.options, *program])
        feeder.join()
        return Told(code, out.read(), err.read().decode())


def _feed(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
        pipe.write(data)


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options of Paddock stand before `--`."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place:]


class Pipe:
    """What is written to it is read at once."""

    def __init__(self) -> None:
        self.mine, self.theirs = os.pipe()
        self._found: list[bytes] = []
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with os.fdopen(self.mine, "rb") as pipe:
            for line in pipe:
                self._found.append(line)
                self._lines.put(line)

    def read(self) -> bytes:
        self._reader.join()
        return b"".join(self._found)

    def line(self) -> str:
        """The next that is written, without waiting for the end."""
        return self._lines.get(timeout=60).decode()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    cause = {"reason": "RankFailed", "args": {"ranks": ["worker-0"], "code": 3}}
    cluster = SmallCluster(
        build_small_job("demo"),
        build_small_pod("demo", 0, workingDir="/work", ports=[{"containerPort": 6006, "name": "board"}]),
        build_small_job("pair", workers=2),
        build_small_pod("pair", 0),
        build_small_pod("pair", 1),
        build_small_job("half", workers=2),
        build_small_pod("half", 0, "terminated"),
        build_small_pod("half", 1),
        build_small_job("done", phase="Failed", cause=cause, startTime="2026-11-20T09:00:00Z",
                        completionTime="2026-11-20T09:00:31Z"),
        build_small_job("waits", phase="Pending", attempt=0,
                        cause={"reason": "ImageUnavailable", "args": {"rank": "worker-0", "message": "no such image"}}),
        build_small_pod("waits", 0, "waiting"),
        build_small_job("rests", phase="Suspended", attempt=0),
    )  # fmt: skip
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "PADDOCK_CONTEXT", "LC_ALL", "LANG", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    with serve_in_thread(cluster) as (url, loop):
        config = tmp_path / "config"
        config.write_text(write_kubeconfig(url))
        options = ("--kubeconfig", str(config))
        yield Scene(cluster, loop, options, " ".join(options), monkeypatch)


async def cat(run: Streamed) -> None:
    while (data := await run.stdin.get()) is not None:
        await run.print(data)
    await run.print("that was all\n", STDERR)
    await run.end(5)


def test_a_command_has_its_bytes_its_errors_and_its_code(scene: Scene) -> None:
    scene.cluster.program = cat
    whole = bytes(range(256)) * 3000
    assert scene.type("exec", "demo", "--", "cat", "-n", stdin=whole) == Told(5, whole, "that was all\n")
    (asked,) = scene.cluster.seen
    assert asked.path == "/api/v1/namespaces/default/pods/demo-worker-0/exec"
    assert asked.query.getall("command") == ["cat", "-n"]
    assert {name: asked.query[name] for name in ("container", "stdin", "stdout", "stderr", "tty")} == {
        "container": "paddle", "stdin": "true", "stdout": "true", "stderr": "true", "tty": "false",
    }  # fmt: skip


def test_a_closed_input_is_none(scene: Scene) -> None:
    assert scene.type("exec", "demo", "--", "true", stdin=None) == Told(0, b"", "")
    assert scene.cluster.seen[0].query["stdin"] == "false"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("exec pair -- true", 0, "in worker-0, one of 2 pods: --rank names another\n"),
        ("exec pair --rank 1 -- true", 0, ""),
        ("exec pair --rank worker-1 -- true", 0, ""),
        ("exec pair-worker-1 -- true", 0, ""),
        ("exec pod/pair-worker-1 -- true", 0, ""),
        ("exec pods/pair-worker-1 --all -- true", 0, ""),
        ("exec pod/pair-worker-7 -- true", 2, "pair has no rank worker-7; it has worker-0 and worker-1\n"),
        ("exec pod/pair -- true", 2, "there is no pod 'pair' of a job in namespace default; `paddock get pods WHERE` "
                                     "lists those of all jobs\n"),
        ("exec pod/pair-worker-1 --rank 0 -- true", 2,
         "pod/pair-worker-1 is worker-1 of pair already: leave --role and --rank out, or name the job\n"),
        ("forward pod/demo-worker-0 x", 2, "'x' names no port"),
        ("exec paddlejob/demo -- true", 0, ""),
        ("exec pair --rank 0-1 -- true", 2,
         "--rank 0-1 means 2 pods of pair, worker-0 and worker-1: name one of them\n"),
        ("exec pair --rank 7 -- true", 2, "pair has no rank 7; it has worker-0 and worker-1\n"),
        ("exec dem -- true", 2, "there is no job 'dem' in namespace default; did you mean 'demo'?\n"),
        ("exec demo -c paddle -- true", 0, ""),
        ("shell demo -c pddle", 2, "worker-0 has no container 'pddle'; it has paddle; did you mean paddle?\n"),
        ("exec demo --container pddle -- true", 2,
         "worker-0 has no container 'pddle'; it has paddle; did you mean paddle?\n"),
        ("exec demo", 2, "the command to run stands behind --, as in `paddock exec demo -- nvidia-smi`; `paddock shell "
                         "demo` opens a shell\n"),
        ("exec demo head -n 5 x", 2, "the command to run stands behind --, as in `paddock exec demo -- nvidia-smi`; "
                                     "`paddock shell demo` opens a shell\n"),
        ("exec demo --", 2, "Missing argument '-- COMMAND...'"),
        ("exec done -- true", 1, "done has ended, so nothing runs in it: Failed after 31 s: worker-0 ended with exit "
                                 "code 3; its log has the reason. `paddock logs done WHERE` has what it printed\n"),
        ("shell waits", 1, "waits does not run yet: waiting for the image of worker-0: no such image; `paddock explain "
                           "waits WHERE` says more\n"),
        ("shell rests", 1, "rests is suspended, so it has no pods; `paddock explain rests WHERE` says why, `paddock "
                           "resume rests WHERE` lets it go on\n"),
        ("exec half -- true", 1, "worker-0 has ended, with exit code 3; worker-1 runs: --rank names it\n"),
        ("exec half --rank 1 -- true", 0, ""),
        ("forward demo x", 2,
         "'x' names no port: 8080, LOCAL:PORT as 9000:8080, or 0:8080 for any that is free here\n"),
        ("forward pair", 2, "worker-0 declares no port: name the one on which its program listens, as in `paddock "
                            "forward pair WHERE 8080`\n"),
        ("forward demo 6006 --address 192.0.2.1", 2, "cannot listen on 192.0.2.1: "),
    ],
)  # fmt: skip
def test_what_is_said_of_a_command_that_is_wrong_or_comes_at_the_wrong_time(
    scene: Scene, words: str, code: int, said: str
) -> None:
    told = scene.type(*words.split())
    assert (told.code, told.out) == (code, b"")
    assert said.replace("WHERE", scene.where) in told.err if said else told.err == ""


def test_a_pod_is_the_one_of_the_job_that_owns_it_whatever_its_name_is(scene: Scene) -> None:
    """Names of pods are shortened, and a job may be called as a pod of another is."""
    renamed = build_small_pod("pair", 1)
    renamed["metadata"]["name"] = "shortened-7f2c-1"
    scene.cluster.objects = [
        each for each in scene.cluster.objects if each["metadata"]["name"] != "pair-worker-1"
    ] + [renamed, build_small_job("demo-worker-0"), build_small_pod("demo-worker-0", 0)]  # fmt: skip
    for word, pod in {
        "pod/shortened-7f2c-1": "shortened-7f2c-1", "shortened-7f2c-1": "shortened-7f2c-1",
        "pod/demo-worker-0": "demo-worker-0", "demo-worker-0": "demo-worker-0-worker-0",
    }.items():  # fmt: skip
        assert scene.type("exec", word, "--", "true").code == 0
        assert scene.cluster.seen[-1].path.split("/")[-2] == pod


@pytest.mark.parametrize("more", [(), ("--all",)])
def test_one_word_with_blanks_that_cannot_be_started_is_told_with_what_to_type(
    scene: Scene, more: tuple[str, ...]
) -> None:
    async def program(run: Streamed) -> None:
        await run.end(message='exec: "ls -l": executable file not found in $PATH: unknown')

    scene.cluster.program = program
    told = scene.type("exec", "pair", *more, "--", "ls -l")
    assert told.code == 127
    assert told.err.count("one word in quotes is one program") == 1
    assert "one word in quotes" not in scene.type("exec", "demo", "--", "ls", "-l").err


def test_a_program_that_cannot_be_started_is_told_in_the_runtimes_words(scene: Scene) -> None:
    async def program(run: Streamed) -> None:
        await run.end(message='exec: "nvidia-smi": executable file not found in $PATH: unknown')

    scene.cluster.program = program
    told = scene.type("exec", "demo", "--", "nvidia-smi", "-L")
    assert (told.code, told.out) == (127, b"")
    assert told.err.startswith('nvidia-smi cannot be started in worker-0: exec: "nvidia-smi": executable file')


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (Ended(1, "no such file or directory"), 127), (Ended(1, "exec: permission denied"), 126),
        (Ended(1, "something else"), 1), (Ended(1), 1), (Ended(127, "node: not found"), 127), (Ended(), 0),
    ],
)  # fmt: skip
def test_the_code_of_what_was_not_started(ended: Ended, code: int) -> None:
    assert read_not_started(ended) == Ended(code, ended.message)


def test_a_right_that_is_missing_is_told_with_the_command_that_grants_it(scene: Scene) -> None:
    message = (
        'pods "demo-worker-0" is forbidden: User "ada" cannot get resource "pods/exec" in API group "" in the '
        'namespace "default"'
    )
    scene.cluster.refuses = refuse(403, "Forbidden", message)
    told = scene.type("exec", "demo", "--", "true")
    assert (told.code, told.out) == (1, b"")
    assert told.err.startswith("ada may not get pods/exec in namespace default. ")
    # Kubernetes asks for both: `get` of what opens a WebSocket, from 1.35 on also `create`
    assert '- {apiGroups: [""], resources: [pods/exec], verbs: [get, create]}' in told.err
    assert '- {apiGroups: [""], resources: [pods/portforward], verbs: [get, create]}' in told.err


def test_a_refusal_is_the_servers_sentence(scene: Scene) -> None:
    scene.cluster.refuses = refuse(400, "BadRequest", "container paddle is not valid for pod demo-worker-0")
    told = scene.type("exec", "demo", "--", "true")
    assert (told.code, told.err) == (2, "container paddle is not valid for pod demo-worker-0\n")


def test_a_connection_that_is_lost_is_said_and_is_not_the_programs_end(scene: Scene) -> None:
    async def dies(run: Streamed) -> None:
        await run.print("begun\n")
        assert run.request.transport is not None
        run.request.transport.close()

    scene.cluster.program = dies
    told = scene.type("exec", "demo", "--", "true")
    assert (told.code, told.out) == (1, b"begun\n")
    assert "lost before the program had ended" in told.err


def test_an_output_that_nobody_reads_ends_the_session_as_a_program_would_end(scene: Scene) -> None:
    gone = threading.Event()

    async def endless(run: Streamed) -> None:
        try:
            while True:
                await run.print("y\n" * 1000)
        finally:
            gone.set()

    scene.cluster.program = endless
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out, scene.patch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert run(["exec", "demo", *scene.options, "--", "yes"]) == 128 + signal.SIGPIPE
    assert gone.wait(60)


def test_what_an_old_kubernetes_cannot_tell_is_said(scene: Scene) -> None:
    said = asyncio.Event()

    async def waits(run: Streamed) -> None:
        await said.wait()
        await run.end(9)

    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        scene.loop.call_soon_threadsafe(said.set)

    scene.cluster.program, scene.cluster.protocols = waits, (V4,)
    scene.patch.setattr("paddock.cli.follow.sessions._QUIET_SECONDS", 0.0)
    scene.patch.setattr("paddock.cli.follow.sessions.print_notice", note)
    assert scene.type("exec", "demo", "--", "cat", stdin=b"x").code == 9
    assert notes[0].startswith("this Kubernetes (before 1.30) cannot tell a program that its input has ended")


def _change_size(terminal: int, columns: int, lines: int) -> None:
    termios.tcsetwinsize(terminal, (lines, columns))


class Terminal:
    """A real one, and a user who types what `answers` has for what they see."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.mine, self.theirs = pty.openpty()
        _change_size(self.theirs, 80, 24)
        self.seen = b""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self.mine, 65536):
                with self._changed:
                    self.seen += data
                    self._changed.notify_all()

    def write(self, text: bytes) -> None:
        os.write(self.mine, text)

    def until(self, text: bytes) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.seen, 60), self.seen

    @property
    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.theirs)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)

    def type(self, *words: str) -> int:
        """Runs `paddock WORDS` on it; its exit code. The terminal is as it was before."""
        before = termios.tcgetattr(self.theirs)
        own, program = _split(words)
        with (
            os.fdopen(os.dup(self.theirs), closefd=True) as given,
            os.fdopen(os.dup(self.theirs), "w") as ours,
            self._scene.patch.context() as patch,
        ):
            patch.setattr(sys, "stdin", given)
            patch.setattr(sys, "stdout", ours)
            patch.setattr(sys, "stderr", ours)
            code = run([*own, *self._scene.options, *program])
        assert termios.tcgetattr(self.theirs) == before
        return code

    def close(self) -> None:
        os.close(self.theirs)
        self._reader.join()
        os.close(self.mine)


@pytest.fixture
def terminal(scene: Scene) -> Iterator[Terminal]:
    found = Terminal(scene)
    yield found
    found.close()


def test_a_shell_has_the_terminal(scene: Scene, terminal: Terminal) -> None:
    """Its size and each other, raw keys, Ctrl-C too; nothing is echoed here, and no end of a line is changed."""
    facts: list[object] = []

    async def shell(run: Streamed) -> None:
        facts.append(await run.sizes.get())
        facts.append(terminal.is_raw)
        _change_size(terminal.theirs, 132, 50)
        os.kill(os.getpid(), signal.SIGWINCH)
        facts.append(await run.sizes.get())
        await run.print("\x1b[1m$ \x1b[0m\n")
        terminal.write(b"\x03\r")
        got = b""
        while len(got) < 2:
            got += await run.stdin.get() or b""
        facts.append(got)
        await run.print("bye\n")
        await run.end(7)

    scene.cluster.program = shell
    assert terminal.type("shell", "demo") == 7
    terminal.until(b"bye")
    assert facts == [(80, 24), True, (132, 50), b"\x03\r"]
    assert terminal.seen == b"\x1b[1m$ \x1b[0m\nbye\n"
    (asked,) = scene.cluster.seen
    assert (asked.query["tty"], asked.query["stdin"], asked.query["stderr"]) == ("true", "true", "false")
    words = asked.query.getall("command")
    assert words[:2] == ["sh", "-c"]
    assert words[3:] == ["sh", "demo, worker-0, in ", "; `exit` ends the shell, the job goes on"]


def test_the_shell_says_where_it_is_and_runs_what_comes_in(tmp_path: Path) -> None:
    command = build_command("demo, worker-0, in DIRECTORY")
    ended = subprocess.run(command, input="exit 3\n", capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", f"demo, worker-0, in {tmp_path}\n")


def test_a_terminal_is_given_back_when_this_command_is_ended(scene: Scene, terminal: Terminal) -> None:
    async def waits(run: Streamed) -> None:
        await run.sizes.get()
        assert terminal.is_raw
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    scene.cluster.program = waits
    assert terminal.type("shell", "demo") == 128 + signal.SIGTERM


def test_a_terminal_is_given_back_when_the_connection_is_lost(scene: Scene, terminal: Terminal) -> None:
    async def dies(run: Streamed) -> None:
        await run.sizes.get()
        assert run.request.transport is not None
        run.request.transport.close()

    scene.cluster.program = dies
    assert terminal.type("exec", "demo", "--", "python") == 1
    terminal.until(b"the connection was lost before the program had ended")


@pytest.mark.parametrize(
    ("words", "tty", "stdin"),
    [
        ("exec demo -- top", "true", "true"), ("exec demo -T -- top", "false", "false"),
        ("exec demo -T -i -- top", "false", "true"), ("exec demo -t -- top", "true", "true"),
    ],
)  # fmt: skip
def test_a_command_has_a_terminal_if_ours_are(
    scene: Scene, terminal: Terminal, words: str, tty: str, stdin: str
) -> None:
    assert terminal.type(*words.split()) == 0
    assert (scene.cluster.seen[0].query["tty"], scene.cluster.seen[0].query["stdin"]) == (tty, stdin)


def test_a_terminal_that_is_asked_for_and_not_there_is_said(scene: Scene) -> None:
    told = scene.type("exec", "demo", "-t", "--", "top")
    assert (told.code, told.err) == (0, "-t: the input is no terminal, so the program gets none\n")
    assert scene.cluster.seen[0].query["tty"] == "false"


def test_commands_that_are_piped_in_are_run_without_a_terminal(scene: Scene) -> None:
    scene.cluster.program = cat
    told = scene.type("shell", "demo", stdin=b"hostname\n")
    assert told == Told(5, b"hostname\n", "that was all\n")


@pytest.mark.parametrize(
    ("text", "forward"),
    [
        ("8080", Forward(8080, 8080)), ("9000:8080", Forward(9000, 8080, fixed=True)), ("0:8080", Forward(0, 8080)),
        (":8080", Forward(0, 8080)), ("board", Forward(6006, 6006)), ("1:board", Forward(1, 6006, fixed=True)),
        ("0", None), ("65536", None), ("-1", None), ("x", None), ("8080:", None), ("a:8080", None), ("1:2:3", None),
        ("٣", None), ("", None),
    ],
)  # fmt: skip
def test_a_port_is_read(text: str, forward: Forward | None) -> None:
    assert read_forward(text, {"board": 6006}) == forward


def test_why_a_port_is_not_reached() -> None:
    for said in (
        "dial tcp4 127.0.0.1:80: connect: connection refused", "Connection refused",
        "error forwarding port 80 to pod p, uid u-1: [Errno 111] nothing in pod p listens on port 80",
    ):  # fmt: skip
        assert str(explain_port("worker-0", 80, said)) == "port 80 of worker-0: nobody listens there"
    held = "nothing in pod p listens on port 80: 127.0.0.1:80 of this machine is held by process 7 (nginx)"
    for reason in (held, "broken: twice"):
        for said in (reason, f"error forwarding port 80 to pod p, uid u-1: [Errno 111] {reason}"):
            assert str(explain_port("worker-0", 80, said)) == f"port 80 of worker-0: {reason}"


class Forwarding:
    """`paddock forward` with a user beside it, in a thread: they are told each address, and end the command."""

    def __init__(self, scene: Scene, *words: str) -> None:
        self.out, self.err = Pipe(), Pipe()
        self._scene, self._words = scene, words

    def run(self, use: Callable[[list[tuple[str, int]]], None], ports: int = 1) -> Told:
        lines, failed, over = list[str](), list[BaseException](), threading.Event()

        def user() -> None:
            try:
                for _ in range(ports):
                    lines.append(self.out.line())
                use([(line.split()[0].removeprefix("http://").rpartition(":")[0],
                      int(line.split()[0].rpartition(":")[2])) for line in lines])  # fmt: skip
            except BaseException as error:
                failed.append(error)
                if not over.is_set():  # else it would end the tests
                    os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=user)
        with (
            self._scene.patch.context() as patch,
            os.fdopen(self.out.theirs, "w") as ours,
            os.fdopen(self.err.theirs, "w") as errors,
        ):
            patch.setattr(sys, "stdout", ours)
            patch.setattr(sys, "stderr", errors)
            thread.start()
            code = run(["forward", *self._words, *self._scene.options])
            over.set()
        thread.join()
        if failed:
            raise failed[0]
        return Told(code, self.out.read(), self.err.read().decode())


def ask(address: tuple[str, int], text: bytes) -> bytes:
    """What comes back: nothing of one that hangs up, whether it does so before all is sent or after it."""
    found = b""
    try:
        with socket.create_connection(address, 60) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65536):
                found += data
    except OSError as error:
        if error.errno not in (errno.ENOTCONN, errno.EPIPE, errno.ECONNRESET):
            raise
    return found


async def upper(run: Streamed) -> None:
    """A server in the pod: answers the first bytes in capitals; the port 1 has nobody."""
    number = int(run.request.query["ports"])
    for channel in (0, 1):
        await run.print(struct.pack("<H", number), channel)
    if number == 1:
        await run.print("dial tcp4 127.0.0.1:1: connect: connection refused", 1)
        return
    await run.print((await run.stdin.get() or b"").upper(), 0)


def test_connections_reach_the_pod_many_at_a_time_until_ctrl_c(scene: Scene) -> None:
    met = asyncio.Barrier(3)

    async def together(run: Streamed) -> None:
        await met.wait()
        await upper(run)

    scene.cluster.program = together
    found: list[bytes] = []

    def use(places: list[tuple[str, int]]) -> None:
        threads = [threading.Thread(target=lambda: found.append(ask(places[0], b"abc"))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.kill(os.getpid(), signal.SIGINT)

    told = Forwarding(scene, "demo", "0:5678").run(use)
    assert (told.code, told.err, found) == (130, "", [b"ABC"] * 3)
    assert told.out.startswith(b"http://127.0.0.1:") and told.out.endswith(b" -> worker-0:5678\n")
    assert {each.query["ports"] for each in scene.cluster.seen} == {"5678"}


def test_a_port_on_which_nobody_listens_is_said_and_the_others_go_on(scene: Scene) -> None:
    scene.cluster.program = upper
    found: list[bytes] = []

    def use(places: list[tuple[str, int]]) -> None:
        found.extend((ask(places[0], b"x"), ask(places[1], b"x"), ask(places[0], b"x")))
        os.kill(os.getpid(), signal.SIGINT)

    told = Forwarding(scene, "demo", "0:1", "0:2").run(use, ports=2)
    assert (told.code, found) == (130, [b"", b"X", b""])
    assert told.err == "port 1 of worker-0: nobody listens there\n" * 2


def test_a_port_that_is_taken_here_is_another_unless_it_was_named(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        def use(places: list[tuple[str, int]]) -> None:
            assert places[0][1] != port
            os.kill(os.getpid(), signal.SIGINT)

        told = Forwarding(scene, "demo", str(port)).run(use)
        assert told.code == 130
        said = f"port {port} of 127.0.0.1 cannot be taken (Address already in use), so another is\n"
        assert (told.err, told.out.endswith(f" -> worker-0:{port}\n".encode())) == (said, True)
        told = scene.type("forward", "demo", f"{port}:80")
        assert (told.code, told.out) == (2, b"")
        assert told.err.endswith("Address already in use; 0:80 takes any that is free\n")


def test_the_port_that_the_pod_declares_is_the_default(scene: Scene) -> None:
    told = Forwarding(scene, "demo", "--address", "0.0.0.0").run(lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert (told.code, told.out.endswith(b" -> worker-0:6006\n")) == (130, True)
    assert told.err.startswith("0.0.0.0 is no address of this machine alone: others can use it, without a password")


def test_the_end_of_the_pod_ends_it(scene: Scene) -> None:
    def use(_: list[tuple[str, int]]) -> None:
        change = scene.cluster.change(build_small_pod("demo", 0, "terminated"))
        asyncio.run_coroutine_threadsafe(change, scene.loop).result(60)

    told = Forwarding(scene, "demo", "0:80").run(use)
    assert (told.code, told.err) == (1, "worker-0 has ended: nothing is forwarded any more\n")


def test_a_right_that_is_missing_ends_it_with_the_first_connection(scene: Scene) -> None:
    scene.cluster.refuses = refuse(403, "Forbidden", 'User "ada" cannot get resource "pods/portforward" in API group '
                                                     '"" in the namespace "default"')  # fmt: skip

    def use(places: list[tuple[str, int]]) -> None:
        with suppress(ConnectionError):  # the command ends while it is asked
            ask(places[0], b"x")

    told = Forwarding(scene, "demo", "0:80").run(use)
    assert told.code == 1
    assert told.err.startswith("ada may not get pods/portforward in namespace default. ")
