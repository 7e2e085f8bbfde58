"""exec, cp, attach and port-forward by each real kubectl that is here, and by the official Python client."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.programs import Programs, serving
from apiserver.test_kubectl import Kubectl, find_kubectls
from paddock.apiserver.http.server import Server
from paddock.apiserver.objects.in_process import LocalApi

PORT = 80


@pytest.fixture
async def programs() -> AsyncIterator[Programs]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
        writer.close()

    made = Programs()
    server = await asyncio.start_server(echo, "127.0.0.1")
    made.ports[PORT] = server.sockets[0].getsockname()[1]
    yield made
    server.close()


@pytest.fixture
async def server(widgets: LocalApi, programs: Programs, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(widgets, programs, tmp_path) as started:
        yield started


@pytest.fixture(
    params=[each if each == "kubectl" else pytest.param(each, marks=pytest.mark.slow) for each in find_kubectls()]
)
async def kubectl(server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Kubectl:
    home = tmp_path / "home"
    home.mkdir()
    return Kubectl(server, home, request.param)


async def ask(kubectl: Kubectl, *args: str, stdin: bytes = b"") -> tuple[int | None, bytes, str]:
    """The exit code, and both outputs."""
    process = await kubectl.start(*args)
    out, err = await asyncio.wait_for(process.communicate(stdin), 60)
    return process.returncode, out, err.decode()


async def test_exec_passes_input_outputs_and_the_exit_code(kubectl: Kubectl) -> None:
    code, out, err = await ask(kubectl, "exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (code, out) == (7, b"out\n")
    assert err == "err\ncommand terminated with exit code 7\n"
    data = os.urandom(1_000_000)
    assert await ask(kubectl, "exec", "-i", "p", "--", "cat", stdin=data) == (0, data, "")
    code, _, err = await ask(kubectl, "exec", "p", "--", "nosuch")
    assert (code, err) == (1, 'error: exec: "nosuch": executable file not found in $PATH\n')
    code, _, err = await ask(kubectl, "exec", "p", "-c", "nope", "--", "true")
    assert (code, err) == (1, "Error from server (BadRequest): container nope is not valid for pod p: it has main\n")


@pytest.mark.slow
async def test_cp_goes_both_ways(kubectl: Kubectl, tmp_path: Path) -> None:
    source, inside, back = (tmp_path / name for name in ("source", "inside", "back"))
    source.write_bytes(os.urandom(300_000))
    assert (await ask(kubectl, "cp", str(source), f"default/p:{inside}"))[0] == 0
    assert (await ask(kubectl, "cp", f"p:{inside}", str(back)))[0] == 0
    assert source.read_bytes() == inside.read_bytes() == back.read_bytes()


async def test_attach(kubectl: Kubectl) -> None:
    code, out, _ = await ask(kubectl, "attach", "-i", "p", stdin=b"in\n")
    assert (code, out) == (0, b"in\nseen\n")


async def test_port_forward(kubectl: Kubectl) -> None:
    process = await kubectl.start("port-forward", "p", f":{PORT}")
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
    found = re.fullmatch(rf"Forwarding from 127.0.0.1:(\d+) -> {PORT}\n", line)
    assert found, line

    async def send(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(found[1]))
        writer.write(data)
        got = await asyncio.wait_for(reader.readexactly(len(data)), 60)
        writer.close()
        return got

    for size in (10, 1_000_000):
        sent = [os.urandom(size) for _ in range(3)]
        assert await asyncio.gather(*map(send, sent)) == sent
    process.terminate()
    await process.communicate()


async def test_debug_says_what_to_type_instead(kubectl: Kubectl) -> None:
    code, _, err = await ask(kubectl, "debug", "p", "--image=busybox")
    assert code == 1
    assert "`kubectl exec -n default -it p -- sh`" in err, err


@pytest.mark.slow
async def test_the_official_python_client(server: Server) -> None:
    client = pytest.importorskip("kubernetes.client")
    config = pytest.importorskip("kubernetes.config")
    streaming = pytest.importorskip("kubernetes.stream")

    def use() -> None:
        core = client.CoreV1Api(config.new_client_from_config(str(server.kubeconfig)))
        words = {"stdin": False, "stdout": True, "stderr": True, "tty": False}
        command = ["sh", "-c", "echo out; echo err >&2"]
        both = streaming.stream(core.connect_get_namespaced_pod_exec, "p", "default", command=command, **words)
        assert sorted(both.split()) == ["err", "out"]
        talk = streaming.stream(
            core.connect_get_namespaced_pod_exec, "p", "default", command=["sh", "-c", "read x; echo got $x; exit 3"],
            **{**words, "stdin": True}, _preload_content=False,
        )  # fmt: skip
        talk.write_stdin("it\n")
        talk.run_forever(timeout=60)
        assert (talk.read_stdout(), talk.returncode) == ("got it\n", 3)
        forward = streaming.portforward(core.connect_get_namespaced_pod_portforward, "p", "default", ports=str(PORT))
        connection = forward.socket(PORT)
        connection.settimeout(60)
        connection.sendall(b"x" * 100_000)
        got = b""
        while len(got) < 100_000:
            got += connection.recv(64 * 1024)
        connection.close()
        assert forward.error(PORT) is None
        refused = streaming.portforward(core.connect_get_namespaced_pod_portforward, "p", "default", ports="81")
        assert refused.socket(81).recv(1) == b""
        assert "nobody listens on port 81" in refused.error(81)

    await asyncio.to_thread(use)
