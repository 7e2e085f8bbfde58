"""Programs of exec, real ones: in both sandboxes, what they see, how they end, and what is left of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.cluster import (
    NODE,
    PYTHON,
    Cluster,
    container,
    is_running,
    marked,
    open_cluster,
    pod,
    seeing,
    shell,
    terminated,
)
from node.streams.talking import Answer, ask, begin, open_streams, read_until, run_pod, talk
from paddock.kube.errors import BadRequest, InternalError, TooManyRequests, Unavailable
from paddock.kube.meta import PODS, SECRETS, uid_of
from paddock.kube.pod_streams import STDOUT, Ended, Size, StreamRequest
from paddock.node.runtime import processes
from paddock.node.runtime.cgroups import Cgroups, find_cgroups
from paddock.node.runtime.machine import Machine
from paddock.node.stacks.processes import Processes
from paddock.node.streams import node_streams, programs
from paddock.node.streams.node_streams import POD_SESSIONS, NodeStreams
from paddock.node.streams.programs import Program
from paddock.node.usage.meter import Meter
from support.programs import lack
from support.sandboxes import SANDBOXES, need_sandbox
from support.waiting import until


@pytest.fixture
async def streams(cluster: Cluster) -> AsyncIterator[NodeStreams]:
    streams = open_streams(cluster)
    yield streams
    await streams.close()


@pytest.mark.parametrize("tty", [False, True], ids=["pipes", "terminal"])
async def test_a_program_sees_what_that_of_the_container_sees(
    cluster: Cluster, streams: NodeStreams, tty: bool
) -> None:
    """Its variables, a Secret's too, its directory, its host name, its volumes, its processes, its limits."""
    await cluster.api.create(
        SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
                  "stringData": {"word": "hüsh"}},
    )  # fmt: skip
    look = (
        "pwd; env | grep -v -e ^_= -e ^SHLVL= -e ^PWD= -e ^TERM= -e ^OLDPWD= | sort; hostname; cat /etc/hosts; "
        "ls -1 /proc/self/fd; umask; "
        "ulimit -n; grep -e ^Cap -e NoNew -e Groups -e Uid -e Gid /proc/self/status; ls -1di /data /tmp; "
        "for n in mnt pid ipc uts user; do readlink /proc/self/ns/$n; done"
    )  # fmt: skip
    env = [
        {"name": "PLAIN", "value": "a b"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "word"}}},
    ]
    mounts = [{"name": "data", "mountPath": str(cluster.directory / "data")}]
    look = look.replace("/data", mounts[0]["mountPath"], 1)
    first = f"{{ {look}; }} >{mounts[0]['mountPath']}/first 2>&1; export PLAIN=other; cd /; exec sleep 600"
    found = await run_pod(
        cluster, shell(first, env=env, volumeMounts=mounts), volumes=[{"name": "data", "emptyDir": {}}]
    )
    (own,) = await until(lambda: list(cluster.directory.glob("scratch/*/volumes/data/first")))
    await until(lambda: own.read_text().count("user:") == 1)
    answer = await ask(streams, found, "/bin/sh", "-c", look, tty=tty)
    seen, expected = (text.replace("\r\n", "\n").splitlines() for text in (answer.out.decode(), own.read_text()))
    assert seen == expected
    assert "SECRET=hüsh" in own.read_text()
    assert answer.ended == Ended(0)


ENDINGS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "success": (("true",), 0, ""),
    "a code": (("sh", "-c", "exit 7"), 7, ""),
    "its own signal": (("sh", "-c", "kill -TERM $$"), 143, ""),
    "killed": (("sh", "-c", "kill -KILL $$"), 137, ""),
    "125 is its own": (("sh", "-c", "exit 125"), 125, ""),
    "no such command": (("no-such-command",), 127, 'exec: "no-such-command": executable file not found in $PATH (/'),
    "no such path": (("/no/such", "x"), 127, 'exec: "/no/such": no such file or directory'),
    "a directory": (("/etc",), 126, 'exec: "/etc": is a directory'),
    "not executable": (("/etc/passwd",), 126, 'exec: "/etc/passwd": permission denied'),
    "below a file": (("/etc/passwd/x",), 127, 'exec: "/etc/passwd/x": not a directory'),
    "a builtin alone": (("exit",), 127, 'exec: "exit": executable file not found in $PATH (/'),
    "words as they are":
        (("sh", "-c", 'test "$#$1" = 4 && test "$2" = "ü \n\\$x"', "sh", "", "ü \n$x", "-", "*"), 0, ""),
}  # fmt: skip


async def test_how_a_program_ends_is_told(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    answers = await asyncio.gather(
        *(ask(streams, found, *words, tty=tty) for words, _, _ in ENDINGS.values() for tty in (False, True))
    )
    for index, (name, (_, code, message)) in enumerate(ENDINGS.items()):
        for answer in answers[2 * index : 2 * index + 2]:
            assert answer.ended.code == code, (name, answer)
            assert answer.ended.message.startswith(message) and bool(answer.ended.message) == bool(message), name
    assert streams._counts.total == 0


async def test_input_and_output_pass_whole_and_at_once(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    data = os.urandom(2**20)
    echo = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer); sys.stderr.write('end')"
    assert await ask(streams, found, PYTHON, "-S", "-c", echo, stdin=data) == Answer(data, b"end", Ended())
    assert (await ask(streams, found, "wc", "-c", stdin=bytes(50 * 2**20))).out == b"%d\n" % (50 * 2**20)
    assert await ask(streams, found, "cat", stdin=b"") == Answer(b"", b"", Ended())
    assert (await ask(streams, found, "cat")).out == b""
    assert (await ask(streams, found, "sh", "-c", "echo no; echo err >&2", stdout=False)) == Answer(
        b"", b"err\n", Ended()
    )


async def test_input_that_nobody_reads_is_no_obstacle(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    for script in ("exit 3", "exec <&-; sleep 0.2; exit 3", "sleep 0.2; exit 3", "sleep 600 & exit 3"):
        assert (await ask(streams, found, "sh", "-c", script, stdin=bytes(2**20))).ended == Ended(3), script


async def test_a_program_whose_client_does_not_read_waits_and_costs_nothing(
    cluster: Cluster, streams: NodeStreams
) -> None:
    found = await run_pod(cluster)
    session = await begin(streams, found, "sh", "-c", "head -c 10000000 /dev/zero; echo done >&2")
    await asyncio.sleep(0.3)  # in which nothing happens
    first = await session.read()
    assert first is not None and first[0] == STDOUT and len(first[1]) <= 65536
    answer = await talk(session)
    assert (len(first[1] + answer.out), answer.err) == (10_000_000, b"done\n")
    await session.close()


async def test_a_program_may_close_its_outputs_and_run_on(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    session = await begin(streams, found, "sh", "-c", "exec >&- 2>&-; read line; exit $line", stdin=True)
    assert await session.read() is None
    waiting = asyncio.create_task(session.wait())
    await session.write(b"9\n")
    assert await waiting == Ended(9)
    await session.close()


@pytest.mark.parametrize("tty", [False, True], ids=["pipes", "terminal"])
async def test_what_is_left_in_the_background_holds_nobody_up(
    cluster: Cluster, streams: NodeStreams, tty: bool
) -> None:
    """The session ends with its program; the rest is the container's, and ends with it."""
    found = await run_pod(cluster)
    before = set(marked(uid_of(found)))
    for script in ("trap '' HUP; sleep 600 & echo hi; exit 4", "trap '' HUP; yes & exit 4"):
        answer = await ask(streams, found, "sh", "-c", script, tty=tty)
        assert answer.ended == Ended(4) and answer.out[:1] in (b"h", b"y", b"")
    assert set(marked(uid_of(found))) - before
    await cluster.api.delete(PODS, "default", "p", grace=0)
    await cluster.gone()
    await until(lambda: marked(uid_of(found)) == [])


async def test_a_terminal(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    script = (
        "test -t 0 && test -t 1 && test -t 2 && tty && echo >/dev/tty && echo $TERM; trap 'echo told' WINCH; "
        "trap 'echo interrupted; exit 5' INT; echo ready; while :; do stty size; sleep 0.02; done"
    )
    session = await begin(streams, found, "bash", "-c", script, stdin=True, tty=True)
    assert (await read_until(session, lambda seen: b"ready\r\n" in seen)).startswith(b"/dev/pts/")
    session.resize(Size(132, 43))
    await read_until(session, lambda seen: b"43 132\r\n" in seen and b"told\r\n" in seen)
    session.resize(Size(80, 0))
    session.resize(Size(10**6, 1))
    await read_until(session, lambda seen: b"1 65535\r\n" in seen)
    session.close_input()  # a terminal has no half to close
    await session.write(b"\x03")
    await read_until(session, lambda seen: b"interrupted" in seen)
    assert (await talk(session)).ended == Ended(5)
    await session.close()
    session.resize(Size(1, 1))


async def test_a_shell_that_is_typed_into(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    session = await begin(streams, found, "bash", "--norc", stdin=True, tty=True)
    await session.write(b"PS1='> '; sleep 600\n")
    await read_until(session, lambda seen: b"sleep 600\r\n" in seen)
    await until(lambda: [pid for pid in marked(uid_of(found)) if read_command(pid) == "sleep 600"][1:])
    await session.write(b"\x1a")  # Ctrl-Z: it has job control
    await read_until(session, lambda seen: b"Stopped" in seen)
    await session.write(b"kill -9 %1; exit 6\nexit 6\n")
    assert (await talk(session)).ended == Ended(6)
    await session.close()


def read_command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""


async def test_who_hangs_up_leaves_nothing(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    await ask(streams, found, "true")  # begins when all processes of the container are there
    before, descriptors = set(marked(uid_of(found))), len(os.listdir("/proc/self/fd"))
    scripts = (
        "exec sleep 600",
        "sleep 600 | cat",
        "trap '' HUP TERM INT; sleep 600; sleep 600",
        "yes",
        "kill -STOP $$",
    )
    sessions = [
        await begin(streams, found, "sh", "-c", script, tty=tty, stdin=True)
        for script in scripts
        for tty in (False, True)
    ]
    await until(lambda: len(set(marked(uid_of(found))) - before) >= len(sessions))
    await asyncio.gather(*(session.close() for session in sessions))
    assert set(marked(uid_of(found))) == before
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert [await session.read() for session in sessions] == [None] * len(sessions)
    assert all([(await session.wait()).code in (129, 137, 141) for session in sessions])
    await asyncio.gather(*(session.close() for session in sessions))
    assert streams._counts.total == 0 and not streams._sessions


async def test_who_gives_up_before_it_has_started_leaves_nothing(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    await ask(streams, found, "true")  # begins when all processes of the container are there
    before, descriptors = set(marked(uid_of(found))), len(os.listdir("/proc/self/fd"))
    for turns in range(6):
        starting = asyncio.create_task(begin(streams, found, "sleep", "600", tty=True))
        for _ in range(turns):
            await asyncio.sleep(0.004)
        starting.cancel()
        session = (await asyncio.gather(starting, return_exceptions=True))[0]
        if not isinstance(session, BaseException):
            await session.close()
    await until(lambda: set(marked(uid_of(found))) == before)
    await until(lambda: len(os.listdir("/proc/self/fd")) == descriptors and streams._counts.total == 0)


async def test_a_session_ends_with_its_container(cluster: Cluster, streams: NodeStreams, tmp_path: Path) -> None:
    """And not before: that another container of the pod has ended, and what it left is killed, is nothing to it."""
    stop = tmp_path / "stop"
    stop.mkdir()
    made = pod(
        shell(f"until test -e {stop}/main; do sleep 0.02; done; exit 2"),
        shell(f"until test -e {stop}/other; do sleep 0.02; done", name="other"),
    )
    await cluster.create(seeing(made, stop))
    found = await cluster.see("p", is_running)
    session = await begin(streams, found, "sleep", "600")
    (stop / "other").touch()
    await cluster.see("p", lambda now: "terminated" in now["status"]["containerStatuses"][1]["state"])
    waiting = asyncio.create_task(session.wait())
    await asyncio.sleep(0.3)  # in which nothing happens
    assert not waiting.done()
    (stop / "main").touch()
    assert await waiting == Ended(137, "container main has ended, and with it what ran in it")
    await session.close()
    assert terminated(await cluster.end())["exitCode"] == 2
    with pytest.raises(BadRequest, match="pod p has ended: its phase is Failed"):
        await begin(streams, await cluster.api.get(PODS, "default", "p"), "true")


async def test_a_program_without_the_marks_of_its_pod_ends_with_the_container_too(
    cluster: Cluster, streams: NodeStreams
) -> None:
    found = await run_pod(cluster)
    session = await begin(streams, found, "env", "-i", "sh", "-c", "trap '' HUP TERM; sleep 600; sleep 600")
    assert isinstance(session, Program)
    await until(lambda: not processes.belongs_to_pod(session.leader.pid, uid_of(found)))
    await cluster.api.delete(PODS, "default", "p", grace=0)
    assert (await session.wait()).code == 137
    assert not processes.is_alive(session.leader)
    await session.close()


async def test_a_program_counts_as_its_containers(cluster: Cluster, streams: NodeStreams) -> None:
    """Its memory, and its processes where nothing else bounds them."""
    assert cluster.kubelet is not None
    kubelet, runs = cluster.kubelet, cluster.kubelet.list_running
    await cluster.create(pod(shell("exec sleep 600")))
    found = await cluster.see("p", is_running)
    holds = (
        "import os; held = bytearray(60 << 20); [os.fork() or os.execlp('sleep', 'sleep', '600') for _ in range(12)]"
    )
    session = await begin(streams, found, PYTHON, "-c", f"{holds}; print('has it', flush=True); input()", stdin=True)
    await read_until(session, lambda seen: b"has it" in seen)
    now = [1000.0]
    machine = Machine(NODE, kubelet._machine.cpus, 2**33)
    meter = Meter(
        cluster.directory, machine, runs, environment={}, clock=lambda: now[0], list_programs=streams.list_programs
    )
    for now[0] in (1000.0, 1100.0):
        await meter.tick()
    assert meter.read_pod(uid_of(found))["main"].memory > 60 << 20
    kubelet.excesses._cgroups = Cgroups(most=10)
    bounded = Meter(
        cluster.directory, machine, runs, environment={}, watch=kubelet.excesses, list_programs=streams.list_programs
    )
    await bounded.tick()
    end = terminated(await cluster.end())
    assert (end["exitCode"], end["reason"]) == (137, "TooManyProcesses"), end
    assert (await session.wait()).code != 0
    await session.close()
    assert streams.list_programs() == []


async def test_nobody_takes_it_for_what_trains(cluster: Cluster, streams: NodeStreams) -> None:
    assert cluster.kubelet is not None
    found = await run_pod(cluster)
    session = await begin(streams, found, PYTHON, "-c", "input()", stdin=True)
    ((_, run),) = cluster.kubelet.list_running()
    listed = Processes().list_of({run.pid: "main"})
    assert listed and not [pid for pid in listed if "input()" in read_command(pid)]
    assert [pid for pid in marked(uid_of(found)) if "input()" in read_command(pid)]
    session.close_input()
    await session.close()


async def test_a_pod_of_an_earlier_kubelet_is_entered_too(cluster: Cluster) -> None:
    found = await run_pod(cluster)
    await cluster.drop()
    cluster.start()
    streams = open_streams(cluster)
    await until(lambda: list(cluster.kubelet.list_running()) if cluster.kubelet else False)
    assert (await ask(streams, found, "sh", "-c", "echo $PADDOCK_CONTAINER")).out == b"main\n"
    await streams.close()


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "no command": ({"command": ()}, "you must specify at least 1 command for the container"),
    "an empty command": ({"command": ("", "x")}, "you must specify at least 1 command for the container"),
    "a wrong container": (
        {"container": "mian"},
        "container mian is not valid for pod p; it has main, helper, first; did you mean main?",
    ),
    "a strange container": ({"container": "xyz"}, "container xyz is not valid for pod p; it has main, helper, first"),
    "an ended one": (
        {"container": "first"},
        "container first of pod p has ended with exit code 0; those that run: main, helper",
    ),
    "a NUL": ({"command": ("echo", "a\0b")}, "command: embedded null byte"),
    "too long": (
        {"command": ("echo", "x" * 200_000)},
        "exec: argument list too long: the command has 200004 bytes",
    ),
}


async def test_what_cannot_be_is_refused_before_anything_runs(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(
        cluster,
        shell("exec sleep 600"),
        shell("exec sleep 600", name="helper"),
        initContainers=[container("/bin/true", name="first")],
    )
    descriptors = len(os.listdir("/proc/self/fd"))
    for name, (more, message) in REFUSED.items():
        with pytest.raises(BadRequest) as caught:
            await streams.exec(found, StreamRequest(**{"command": ("true",), **more}))  # type: ignore[arg-type]
        assert caught.value.message == message, name
    assert len(os.listdir("/proc/self/fd")) == descriptors and streams._counts.total == 0
    assert (await ask(streams, found, "sh", "-c", "echo $PADDOCK_CONTAINER", container="helper")).out == b"helper\n"


async def test_an_init_container_that_runs_is_entered(cluster: Cluster, streams: NodeStreams) -> None:
    made = pod(shell("exit 0"), initContainers=[shell("exec sleep 600", name="first")])
    await cluster.create(made)
    found = await cluster.see(
        "p", lambda now: "running" in now["status"].get("initContainerStatuses", [{}])[0].get("state", {})
    )
    assert (await ask(streams, found, "true", container="first")).ended == Ended()
    with pytest.raises(
        BadRequest, match=r"container main of pod p does not run yet: it waits \(PodInitializing\); those"
    ):
        await ask(streams, found, "true")


async def test_a_pods_variables_do_nothing_outside_of_it(cluster: Cluster, streams: NodeStreams) -> None:
    """A library that is preloaded would run in the program that enters the pod, as its maker."""
    env = [{"name": "LD_PRELOAD", "value": "/no/such.so"}, {"name": "PYTHONSTARTUP", "value": "/no"}]
    found = await run_pod(cluster, container("/bin/sleep", "600", env=env))
    assert (await ask(streams, found, "/bin/true")).err.count(b"/no/such.so") == 1


@pytest.mark.sandbox
async def test_root_in_a_pod_does_not_uncover_what_is_hidden(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("key")
    async with open_cluster(tmp_path / "cluster", need_sandbox("bubblewrap"), hidden=(secret,)) as cluster:
        made = seeing(pod(shell("exec sleep 600")), tmp_path)
        await cluster.create(made)
        found = await cluster.see("p", is_running)
        streams = open_streams(cluster)
        cat = f"cat {secret}/key"
        for script in (
            cat,
            f"umount {secret}; {cat}",
            f"unshare -m sh -c 'umount {secret}; {cat}'",
            f"unshare -Urm sh -c 'umount {secret}; {cat}'",
            f"mount --move {secret} /mnt; {cat}",
            f"nsenter -t 1 -m {cat}",
            f"cat /proc/[0-9]*/root{secret}/key",
            "cat /proc/*/cwd/key",
            "cat /proc/*/fd/*/key",
        ):
            answer = await ask(streams, found, "sh", "-c", script)
            assert b"key" not in answer.out.split(b"\n") and answer.out != b"key", script
            assert answer.ended.code != 0, script
        await streams.close()


@pytest.mark.parametrize("name", SANDBOXES)
async def test_a_program_is_in_the_control_groups_of_its_container(tmp_path: Path, name: str) -> None:
    """So it counts to the container's memory, as on a cluster."""
    cgroups = find_cgroups(tmp_path / "node", 2.0)
    if not cgroups.trees:
        lack("cgroups", "this user may make no control groups here")
    async with open_cluster(tmp_path, need_sandbox(name), cgroups=cgroups) as cluster:
        assert cluster.kubelet is not None
        found = await run_pod(cluster)
        ((_, run),) = cluster.kubelet.list_running()
        streams = NodeStreams(cluster.kubelet.list_running, cluster.kubelet.recall_run, cluster.directory, cgroups)
        answer = await ask(streams, found, "cat", "/proc/self/cgroup")
        assert answer.out.decode() == Path(f"/proc/{run.pid}/cgroup").read_text()
        assert answer.out.count(uid_of(found).encode())
        assert (await ask(streams, found, "ls", "-1", "/proc/self/fd")).out == b"0\n1\n2\n3\n"
        await streams.close()


async def test_a_node_that_ends_ends_what_it_is_about_to_start_too(
    cluster: Cluster, streams: NodeStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A probe begins in any moment."""
    found = await run_pod(cluster, shell("exec sleep 600"))
    request = StreamRequest(command=("/bin/sh", "-c", "exec sleep 600"))
    begun, ends, start = asyncio.Event(), asyncio.Event(), node_streams.start_program

    async def start_then(*words: Any) -> Program:
        begun.set()
        await ends.wait()
        return await start(*words)

    monkeypatch.setattr(node_streams, "start_program", start_then)
    asked = asyncio.create_task(streams.exec(found, request))
    await begun.wait()
    closing = asyncio.create_task(streams.close())
    await asyncio.sleep(0)  # it closes from here on
    ends.set()
    await closing
    with pytest.raises(Unavailable, match="is being stopped"):
        await asked
    with pytest.raises(Unavailable, match="is being stopped"):
        await streams.exec(found, request)
    assert not streams.list_programs() and not streams.is_in_use


async def test_a_program_that_does_not_start_is_given_up_and_reaped(
    cluster: Cluster, streams: NodeStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose file system does not answer."""
    found = await run_pod(cluster)
    monkeypatch.setattr(programs, "_read_source", lambda: "import time; time.sleep(600)")
    monkeypatch.setattr(programs, "_START_SECONDS", 0.2)
    children = set(processes.find_descendants(os.getpid()))
    with pytest.raises(InternalError, match="container main: the command was not started within 0 seconds"):
        await begin(streams, found, "true")
    await until(lambda: set(processes.find_descendants(os.getpid())) <= children)
    assert streams._counts.total == 0


async def test_probes_are_asked_in_a_pod_that_is_full_of_shells(cluster: Cluster, streams: NodeStreams) -> None:
    found = await run_pod(cluster)
    for _ in range(POD_SESSIONS):
        streams._counts.add(uid_of(found), "p")
    with pytest.raises(TooManyRequests, match="pod p has 50 sessions"):
        await begin(streams, found, "true")
    session = await streams.exec_for_kubelet(found, StreamRequest(command=("true",)))
    assert (await talk(session)).ended == Ended()
    await session.close()
