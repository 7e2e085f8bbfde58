"""`paddock stacks` on a Kubernetes, and `paddock exec --all`: a server of exec that really runs what it is sent, as a
kubelet does, and two ranks of plain Python that hang in a lock."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paddock.cli.main import run
from paddock.kube.held_pods import HOLD_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.kube.pod_streams import STDERR, STDOUT
from paddock.kube.times import format_time
from support.foreign import write_kubeconfig
from support.locked import LOCK
from support.streaming import (
    V4,
    SmallCluster,
    Streamed,
    build_small_job,
    build_small_pod,
    refuse,
    serve_in_thread,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

PLACES = "worker-0 in step, wait.py:8; worker-1 in read_batch, wait.py:5"
COPIED = "py-spy (8 MiB) is copied into the containers that have none"


@dataclass
class Node:
    """Runs programs as in a container: with the variables of the pod, and a /tmp of its own."""

    directory: Path
    path: str = ""
    """Before PATH: where an image has its py-spy."""
    commands: list[list[str]] = field(default_factory=list)

    def environment(self, pod: str) -> dict[str, str]:
        rank = pod.rpartition("-")[2]
        (self.directory / pod).mkdir(exist_ok=True)
        return {
            "PATH": f"{self.path}:/usr/bin:/bin", "TMPDIR": str(self.directory / pod), "PADDLE_TRAINER_ID": rank,
            "PADDOCK_POD_UID": f"{self.directory}-{pod}", "PADDOCK_CONTAINER": "paddle",
        }  # fmt: skip

    async def exec(self, run: Streamed) -> None:
        self.commands.append(run.command)
        pod, pipe = run.request.path.split("/")[6], asyncio.subprocess.PIPE
        given = pipe if run.request.query["stdin"] == "true" else asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *run.command, stdin=given, stdout=pipe, stderr=pipe, env=self.environment(pod)
            )
        except FileNotFoundError:
            await run.end(message=f'exec: "{run.command[0]}": executable file not found in $PATH: unknown')
            return
        assert process.stdout is not None and process.stderr is not None
        feeding = asyncio.create_task(self._feed(run, process.stdin))
        try:
            await asyncio.gather(
                self._print(run, process.stdout, STDOUT), self._print(run, process.stderr, STDERR), process.wait()
            )
            await run.end(process.returncode or 0)
        finally:
            feeding.cancel()
            if process.returncode is None:
                process.kill()

    async def _feed(self, run: Streamed, stdin: asyncio.StreamWriter | None) -> None:
        while stdin is not None and (data := await run.stdin.get()) is not None:
            stdin.write(data)
            await stdin.drain()

    async def _print(self, run: Streamed, stream: asyncio.StreamReader, channel: int) -> None:
        while data := await stream.read(65536):
            await run.print(data, channel)


@dataclass
class Told:
    code: int
    out: str
    err: str


@dataclass
class Scene:
    cluster: SmallCluster
    node: Node
    type: Callable[..., Told]

    def left(self) -> list[Path]:
        return [each for pod in self.node.directory.glob("stuck-*") for each in pod.iterdir()]


def build_held_pod(job: str, index: int) -> Manifest:
    """Its program failed just now, and it is held for a day."""
    pod = build_small_pod(job, index, "terminated")
    pod["metadata"]["annotations"] = {HOLD_ANNOTATION: "24h"}
    [status] = pod["status"]["containerStatuses"]
    status["state"]["terminated"]["finishedAt"] = format_time(time.time())
    return pod


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    cluster = SmallCluster(
        build_small_job("stuck", workers=3),
        build_small_pod("stuck", 0),
        build_small_pod("stuck", 1),
        build_small_pod("stuck", 2, "terminated"),
        build_small_job("kept", workers=3, phase="Failed"),
        build_small_pod("kept", 0, "terminated"),
        build_held_pod("kept", 1),
        build_small_job("pair", workers=2),
        build_small_pod("pair", 0),
        build_small_pod("pair", 1),
    )
    (tmp_path / "node").mkdir()
    node = Node(tmp_path / "node")
    cluster.program = node.exec
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "PADDOCK_CONTEXT", "LC_ALL", "LANG", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    with serve_in_thread(cluster) as (url, _):
        config = tmp_path / "config"
        config.write_text(write_kubeconfig(url))

        def type_(*words: str) -> Told:
            place = words.index("--") if "--" in words else len(words)
            capfd.readouterr()
            code = run([*words[:place], "--kubeconfig", str(config), *words[place:]])
            said = capfd.readouterr()
            return Told(code, said.out, said.err)

        yield Scene(cluster, node, type_)


@pytest.fixture
def stuck(scene: Scene, tmp_path: Path) -> Iterator[Scene]:
    """Both ranks hang."""
    (tmp_path / "wait.py").write_text(LOCK)
    programs = []
    for index in (0, 1):
        environment = scene.node.environment(f"stuck-worker-{index}")
        words = [sys.executable, str(tmp_path / "wait.py")]
        programs.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE))
    for program in programs:
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        wait_until_it_sleeps(program.pid)
    yield scene
    for program in programs:
        program.kill()
        program.communicate()


def wait_until_it_sleeps(pid: int) -> None:
    """In its lock: from its last line on it waits for nothing else."""
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def take(scene: Scene, *options: str) -> Told:
    """Of the two ranks that run, once they hang in their locks."""
    told = scene.type("stacks", "stuck", "--rank", "0,1", *options)
    if "look into" in told.err:
        pytest.skip("this machine lets nobody look into a process")
    return told


@pytest.mark.parametrize("protocols", [(), pytest.param((V4,), marks=pytest.mark.slow)], ids=["v5", "v4"])
@pytest.mark.slow
def test_py_spy_is_copied_where_there_is_none_and_that_is_said_once(stuck: Scene, protocols: tuple[str, ...]) -> None:
    stuck.cluster.protocols = protocols
    told = take(stuck)
    assert (told.code, told.out.split("\n")[0], told.err.count(COPIED)) == (0, PLACES, 1), told
    assert "line 5, in read_batch" in told.out
    assert stuck.left() == [], "it is removed"
    assert {each.query["container"] for each in stuck.cluster.seen} == {"paddle"}


@pytest.mark.slow
def test_the_document_is_that_of_a_laptop(stuck: Scene) -> None:
    document = json.loads(take(stuck, "-o", "json").out)
    assert [(each["function"], each["line"], each["ranks"]) for each in document["places"]] == [
        ("step", 8, ["worker-0"]), ("read_batch", 5, ["worker-1"]),
    ]  # fmt: skip
    assert document["without"] == []
    assert document["stacks"][0]["processes"][0]["by"] == "py-spy"


@pytest.mark.slow
def test_the_images_own_py_spy_is_used_and_nothing_copied(stuck: Scene) -> None:
    stuck.node.path = str(Path(sys.executable).parent)
    told = take(stuck)
    assert (told.code, told.out.split("\n")[0], told.err) == (0, PLACES, "")


def test_without_a_copy_there_is_what_proc_tells(stuck: Scene) -> None:
    told = stuck.type("stacks", "stuck", "--no-copy")
    assert (told.code, told.out, COPIED in told.err) == (1, "", False)
    for rank in ("worker-0", "worker-1"):
        said = f"no stack of {rank}: its image has no py-spy, and --no-copy brings none into it; process "
        (line,) = [each for each in told.err.split("\n") if each.startswith(said)]
        assert "wait.py: it waits" in line
    assert "no stack of worker-2: it has ended, with exit code 3" in told.err


def test_a_rank_that_does_not_answer_costs_its_own_line_alone(stuck: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck.node.path = str(Path(sys.executable).parent)
    monkeypatch.setattr("paddock.app.entered_stacks._AT_ONCE", 1)

    async def one_hangs(run: Streamed) -> None:
        if "worker-1" in run.request.path:
            await asyncio.Event().wait()
        await stuck.node.exec(run)
        # The rank that answers has had its time by now, however long that was.
        monkeypatch.setattr("paddock.app.entered_stacks._LOOK_SECONDS", 1.0)

    stuck.cluster.program = one_hangs
    told = take(stuck)
    assert (told.code, told.out.split("\n")[0]) == (1, "worker-0 in step, wait.py:8")
    assert told.err.startswith("no stack of worker-1: its container has not answered within 1 s: node ")


def test_an_image_without_a_shell_says_so(scene: Scene) -> None:
    async def distroless(run: Streamed) -> None:
        await run.end(message=f'exec: "{run.command[0]}": executable file not found in $PATH: unknown')

    scene.cluster.program = distroless
    told = scene.type("stacks", "stuck", "--rank", "0")
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith(
        "no stack of worker-0: its image has no shell (sh) and no py-spy, so nothing can be looked"
    )


def test_an_image_without_a_shell_may_have_py_spy(scene: Scene) -> None:
    async def distroless(run: Streamed) -> None:
        if run.command[0] != "py-spy":
            await run.end(message="exec: no such file or directory")
            return
        frames = [{"name": "step", "filename": "a.py", "line": 3}]
        await run.print(json.dumps([{"thread_name": "MainThread", "frames": frames}]))
        await run.end()

    scene.cluster.program = distroless
    told = scene.type("stacks", "stuck", "--rank", "0")
    assert (told.code, told.out.split("\n")[0], told.err) == (0, "worker-0 in step, a.py:3", "")


def test_a_lost_connection_and_a_shell_that_fails_are_told(scene: Scene) -> None:
    async def breaks(run: Streamed) -> None:
        if "worker-0" in run.request.path:
            assert run.request.transport is not None
            run.request.transport.close()
            return
        await run.print("sh: out of memory\n", STDERR)
        await run.end(2)

    scene.cluster.program = breaks
    told = scene.type("stacks", "stuck", "--rank", "0,1")
    assert (told.code, told.out) == (1, "")
    assert "no stack of worker-0: its container could not be entered: the connection was lost before" in told.err
    assert "no stack of worker-1: looking around in its container failed: sh: out of memory\n" in told.err


MESSAGE = (
    'pods "stuck-worker-0" is forbidden: User "ada" cannot get resource "pods/exec" in API group "" in the namespace '
    '"default"'
)


@pytest.mark.parametrize(
    "words", [("stacks", "stuck", "--rank", "0"), ("exec", "stuck", "--all", "--rank", "0", "--", "true")]
)
def test_a_right_that_is_missing_is_told_once_with_what_grants_it(scene: Scene, words: tuple[str, ...]) -> None:
    scene.cluster.refuses = refuse(403, "Forbidden", MESSAGE)
    told = scene.type(*words)
    assert (told.code, told.out) == (1, "")
    assert told.err.count("ada may not get pods/exec in namespace default. ") == 1
    assert '- {apiGroups: [""], resources: [pods/exec], verbs: [get, create]}' in told.err


def test_a_command_in_every_pod_has_its_lines_with_ranks_and_the_highest_code(scene: Scene) -> None:
    script = "echo out $PADDLE_TRAINER_ID; printf err >&2; exit $((PADDLE_TRAINER_ID + 3))"
    told = scene.type("exec", "stuck", "--all", "--", "sh", "-c", script)
    assert told.code == 4
    assert sorted(told.out.splitlines()) == ["worker-0 │ out 0", "worker-1 │ out 1"]
    assert sorted(told.err.splitlines()) == [
        "worker-0 │ err", "worker-0: exit code 3", "worker-1 │ err", "worker-1: exit code 4",
        "worker-2 has ended, with exit code 3",
    ]  # fmt: skip
    assert {each.query["stdin"] for each in scene.cluster.seen} == {"false"}


def test_a_pod_that_was_left_out_is_no_success(scene: Scene) -> None:
    assert scene.type("exec", "stuck", "--all", "--", "true").code == 1
    assert scene.type("exec", "pair", "--all", "--", "true") == Told(0, "", "")
    one = scene.type("exec", "stuck-worker-1", "--all", "--", "echo", "alone")
    assert one == Told(0, "alone\n", "")
    missing = scene.type("exec", "pair", "--all", "--", "nvidia-smi")
    assert missing.code == 127 and missing.err.count("nvidia-smi cannot be started in worker-") == 2
    assert scene.type("exec", "stuck", "--all", "--rank", "2", "--", "true").code == 1


def test_beside_a_rank_that_is_held_the_others_are_left_out_and_told(scene: Scene) -> None:
    told = scene.type("exec", "kept", "--all", "--", "echo", "x")
    assert (told.code, told.out) == (1, "worker-1 │ x\n")
    said = told.err.splitlines()
    assert said[0].startswith("worker-1 ended with exit code 3 and is held until ")
    assert said[1:] == ["worker-0 has ended, with exit code 3", "worker-2 has no pod"]
    one = scene.type("exec", "kept", "--", "echo", "x")
    assert (one.code, one.out) == (0, "x\n"), "the one that is held"


@pytest.mark.parametrize("option", ["-i", "-t"])
def test_nobody_types_into_several_pods(scene: Scene, option: str) -> None:
    told = scene.type("exec", "stuck", "--all", option, "-n", "default", "--", "sh")
    assert (told.code, told.out, scene.cluster.seen) == (2, "", [])
    assert told.err.startswith(f"{option} is for one pod") and "`paddock shell stuck --kubeconfig " in told.err


def test_an_input_that_is_not_passed_on_is_said(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "input").write_text("echo hello\n")
    with (tmp_path / "input").open() as given, Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", given)
        told = scene.type("exec", "pair", "--all", "--", "cat")
        assert (told.code, told.err) == (0, "the input is not passed on: with --all the command has none\n")
        monkeypatch.setattr(sys, "stdin", nothing)
        assert scene.type("exec", "pair", "--all", "--", "cat").err == ""


def test_more_pods_than_are_entered_at_once_wait_and_that_is_said(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.follow.every_rank.MOST_AT_ONCE", 1)
    told = scene.type("exec", "pair", "--all", "--", "echo", "x")
    assert (told.code, told.out.count("x")) == (0, 2)
    assert told.err == "1 at a time: 1 pod waits until another has ended\n"
