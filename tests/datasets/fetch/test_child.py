"""The process that a controller starts: its lines, its exit codes, its ends."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from datasets.fetch.calls import read_tree, start
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetching import REPORT_SECONDS, Failed, Fault, Fetched, Progress, Request, build_line, read_report

DATA = build_bytes(400_000)


async def test_it_says_how_far_it_is_and_what_came_of_it(tmp_path: Path) -> None:
    async with serve(Server(data=DATA, speed=300_000)) as server:
        begun = time.monotonic()
        child = await start(Request(uri=server.url(), target=str(tmp_path / "t")))
        code, end = await child.end()
        took = time.monotonic() - begun
    assert (code, end) == (0, Fetched(size=len(DATA), files=1, fetched=len(DATA), revision='"one"'))
    progress = [each for each in child.reports if isinstance(each, Progress)]
    done = [each.done for each in progress]
    assert done == sorted(done) and len(done) < 4 + took / REPORT_SECONDS
    assert any(0 < each.done < each.total == len(DATA) and each.speed > 0 for each in progress)
    assert child.other == []


async def test_a_job_of_kubernetes_gives_variables(tmp_path: Path) -> None:
    """The Secret's values come beside the request, and the last line goes to where Kubernetes reads it."""
    async with serve(Server(data=DATA)) as server:
        request = Request(uri=server.url(), target=str(tmp_path / "t"))
        environ = {
            "PADDOCK_FETCH": msgspec.json.encode(request).decode(),
            "PADDOCK_FETCH_SECRET_token": "hush",
            "PADDOCK_FETCH_SECRET_username": "",
            "PADDOCK_FETCH_TERMINATION": str(tmp_path / "log"),
        }
        code, end = await (await start(None, environ)).end()
    assert code == 0
    assert server.requests[0]["Authorization"] == "Bearer hush"
    assert read_report((tmp_path / "log").read_bytes()) == end
    found = read_tree(tmp_path / "t")
    assert found.pop(".paddock"), "what is known of the files, which programs take for no directory of data"
    assert found == {"words.bin": DATA}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_when_it_is_asked_to(tmp_path: Path, number: int) -> None:
    async with serve(Server(data=DATA, speed=100_000, trickles_after=80_000)) as server:
        request = Request(uri=server.url(), target=str(tmp_path / "t"))
        child = await start(request)
        await child.read_until(lambda each: each.done > 50_000)
        child.process.send_signal(number)
        code, end = await child.end()
        assert (code, end.fault) == (1, Fault.MACHINE)
        assert "was ended; what has come is kept" in end.message
        server.speed, sent = 0.0, server.sent
        await (await start(request)).end()
        assert server.sent - sent < len(DATA) - 40_000


async def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """A controller that is killed tells nobody."""
    async with serve(Server(data=DATA, speed=20_000, trickles_after=100_000)) as server:
        request = Request(uri=server.url(), target=str(tmp_path / "t"))
        parent = (
            "import subprocess, sys, time\n"
            "child = subprocess.Popen([sys.executable, '-m', 'paddock.datasets.fetch'], stdin=subprocess.PIPE)\n"
            "child.stdin.write(sys.stdin.buffer.read())\n"
            "child.stdin.close()\n"
            "time.sleep(600)\n"
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", parent), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        process.stdin.write(msgspec.json.encode(request))
        process.stdin.close()
        await process.stdout.readline()
        process.kill()
        # The child holds the other end of the pipe; it is closed when the child has ended.
        rest = await asyncio.wait_for(process.stdout.read(), 180)
        await process.wait()
        assert isinstance(read_report(rest.splitlines(keepends=True)[-1]), Failed)
        assert server.sent < len(DATA)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"", "a fault of Paddock: the request to fetch cannot be read"),
        (b'{"uri": 1}', "a fault of Paddock: the request to fetch cannot be read"),
        (b'{"uri": "oss://x/y", "target": "T"}', 'spec.source.uri: found "oss://": write s3://x/y and the endpoint'),
        (b'{"uri": "file:///x", "target": "T"}', "file:///x is where it is: nothing of a directory is fetched"),
        (b'{"uri": "claim://x", "target": "T"}', "claim://x is where it is: nothing of a claim is fetched"),
    ],
)
async def test_what_cannot_be_fetched_is_one_sentence(tmp_path: Path, given: bytes, words: str) -> None:
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "paddock.datasets.fetch"],
        input=given.replace(b'"T"', json.dumps(str(tmp_path / "t")).encode()),
        capture_output=True,
    )
    assert ended.returncode == 1
    assert (ended.stderr, len(ended.stdout.splitlines())) == (b"", 1)
    assert words in read_report(ended.stdout).message


async def test_a_fault_of_ours_is_told_with_its_place_in_the_log(tmp_path: Path) -> None:
    """A NUL in the path of the target is nothing that the controller gives."""
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "paddock.datasets.fetch"],
        input=msgspec.json.encode(Request(uri="http://127.0.0.1:9/x", target="a\0b")),
        capture_output=True,
    )
    assert ended.returncode == 1
    assert b"Traceback" in ended.stderr
    assert read_report(ended.stdout.splitlines(keepends=True)[-1]).message.startswith("a fault of Paddock: ValueError")


def test_it_starts_quickly(tmp_path: Path) -> None:
    """A refusal needs no library of any source."""
    code = "import sys, paddock.datasets.fetch.run as r, paddock.datasets.fetch.__main__; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    assert not {"aiohttp", "obstore", "cryptography", "paddock.jobs", "paddock.client"} & set(modules)


def test_reports_are_read_as_they_were_said() -> None:
    for report in (
        Progress(phase="fetching", done=3, total=7, files=1, all_files=2, speed=1.5),
        Progress(phase="retrying", reason="好"),
        Fetched(size=1, files=1, fetched=1, revision='"x"'),
        Failed(message="no", fault=Fault.NETWORK),
    ):
        assert read_report(build_line(report)) == report
        assert build_line(report).count(b"\n") == 1


@pytest.mark.parametrize(
    "line", [b"", b"Downloading\n", b"{\n", b"{}\n", b'{"type":"other"}\n', b'{"type":"failed"}\n']
)
def test_lines_of_libraries_are_no_reports(line: bytes) -> None:
    assert read_report(line) is None
