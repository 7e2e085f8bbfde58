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

from datasets.fetch.calls import Child, read_tree, start
from datasets.fetch.raw import build_answer, in_turn, serve_raw
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetching import (
    LONGEST_TEXT,
    REPORT_SECONDS,
    Failed,
    Fault,
    Fetched,
    Progress,
    Report,
    Request,
    build_line,
    read_report,
)

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


@pytest.mark.slow
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


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
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
        pytest.param(b'{"uri": 1}', "a fault of Paddock: the request to fetch cannot be read", marks=pytest.mark.slow),
        pytest.param(
            b'{"uri": "oss://x/y", "target": "T"}',
            'spec.source.uri: found "oss://": write s3://x/y and the endpoint',
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b'{"uri": "file:///x", "target": "T"}',
            "file:///x is where it is: nothing of a directory is fetched",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            b'{"uri": "claim://x", "target": "T"}',
            "claim://x is where it is: nothing of a claim is fetched",
            marks=pytest.mark.slow,
        ),
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


class Termination:
    """The two ways in which a child is started: by a laptop, and as a pod, which leaves its end in a file."""

    def __init__(self, as_pod: bool, tmp_path: Path) -> None:
        self.as_pod, self.log = as_pod, tmp_path / "log"

    async def start(self, request: Request, environ: dict[str, str] | None = None) -> Child:
        if not self.as_pod:
            return await start(request, environ)
        given = {"PADDOCK_FETCH": msgspec.json.encode(request).decode(), "PADDOCK_FETCH_TERMINATION": str(self.log)}
        return await start(None, {**given, **(environ or {})})

    def check(self, end: Report) -> None:
        if self.as_pod:
            kept = self.log.read_bytes()
            assert read_report(kept) == end and len(kept) <= 4096


@pytest.fixture(params=[False, True], ids=["laptop", "pod"])
def termination(request: pytest.FixtureRequest, tmp_path: Path) -> Termination:
    return Termination(request.param, tmp_path)


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("Non trouv\xe9", "404 Non trouv\\xe9"),
        pytest.param("Nicht \xc3\xbcbrig", "404 Nicht übrig", marks=pytest.mark.slow),
        pytest.param("Not\x1b]0;owned", "404 Not\\x1b]0;owned", marks=pytest.mark.slow),
        pytest.param("No" + "\xe9" * 5000, "404 No\\xe9", marks=pytest.mark.slow),
    ],
)
async def test_what_a_server_says_is_told_whatever_bytes_it_has(
    tmp_path: Path, termination: Termination, reason: str, shown: str
) -> None:
    async with serve_raw(in_turn(build_answer(f"404 {reason}", "Content-Length: 0"))) as server:
        child = await termination.start(Request(uri=f"{server.url}/x", target=str(tmp_path / "t")))
        code, end = await child.end()
    assert (code, end.fault) == (1, Fault.SOURCE)
    assert f"has no {server.url}/x ({shown}" in end.message and end.message.isprintable()
    termination.check(end)


@pytest.mark.parametrize(
    ("tag", "shown", "sent"),
    [
        ('"caf\xe9"', '"caf\\xe9"', False),
        pytest.param('"caf\xc3\xa9"', '"café"', True, marks=pytest.mark.slow),
        pytest.param('"a\\xe9"', '"a\\xe9"', False, marks=pytest.mark.slow),
        pytest.param('"\xff\x80"', '"\\xff\\x80"', False, marks=pytest.mark.slow),
    ],
)
async def test_an_etag_of_any_bytes_lets_a_file_go_on(
    tmp_path: Path, termination: Termination, tag: str, shown: str, sent: bool
) -> None:
    """One that no header of aiohttp can carry as it came is not sent, and is compared with that of the rest."""
    first = build_answer("200 OK", f"ETag: {tag}", "Content-Length: 1000", body=DATA[:300])
    headers = f"ETag: {tag}", "Content-Range: bytes 300-999/1000", "Content-Length: 700"
    async with serve_raw(in_turn(first, build_answer("206 Part", *headers, body=DATA[300:1000]))) as server:
        child = await termination.start(Request(uri=f"{server.url}/x", target=str(tmp_path / "t")))
        code, end = await child.end()
    assert (code, end) == (0, Fetched(size=1000, files=1, fetched=1000, revision=shown))
    assert "Range: bytes=300-" in server.heads[1]
    assert (f"If-Range: {tag}" in server.heads[1]) is sent and ("If-Range" in server.heads[1]) is sent
    assert read_tree(tmp_path / "t")["x"] == DATA[:1000]
    termination.check(end)


async def test_an_etag_that_is_not_sent_and_has_changed_begins_anew(tmp_path: Path, termination: Termination) -> None:
    first = build_answer("200 OK", 'ETag: "\xe9"', "Content-Length: 1000", body=DATA[:300])
    headers = 'ETag: "\xe8"', "Content-Range: bytes 300-999/1000", "Content-Length: 700"
    whole = build_answer("200 OK", 'ETag: "\xe8"', "Content-Length: 3", body=b"new")
    async with serve_raw(in_turn(first, build_answer("206 Part", *headers, body=DATA[300:1000]), whole)) as server:
        child = await termination.start(Request(uri=f"{server.url}/x", target=str(tmp_path / "t")))
        code, _ = await child.end()
    assert code == 0 and read_tree(tmp_path / "t")["x"] == b"new"


@pytest.mark.slow
async def test_an_etag_of_many_kilobytes_leaves_room_for_the_report(tmp_path: Path, termination: Termination) -> None:
    tag = '"' + "好".encode().decode("latin-1") * 2000 + '"'
    async with serve_raw(in_turn(build_answer("200 OK", f"ETag: {tag}", "Content-Length: 2", body=b"hi"))) as server:
        child = await termination.start(Request(uri=f"{server.url}/x", target=str(tmp_path / "t")))
        code, end = await child.end()
    assert code == 0 and len(end.revision) == LONGEST_TEXT and end.revision.startswith('"好好')
    termination.check(end)


@pytest.mark.slow
async def test_passwords_of_the_home_directory_go_nowhere(tmp_path: Path, termination: Termination) -> None:
    """Neither to the source nor to where it leads. Proxies of the environment are another matter."""
    (tmp_path / ".netrc").write_text(
        "machine 127.0.0.1 login me password hush1\nmachine localhost login me password hush2\n"
    )
    (tmp_path / ".netrc").chmod(0o600)
    async with serve_raw(in_turn(build_answer("200 OK", "Content-Length: 2", body=b"hi"))) as other:
        location = f"Location: http://localhost:{other.port}/y"
        async with serve_raw(in_turn(build_answer("302 Found", location, "Content-Length: 0"))) as server:
            request = Request(uri=f"{server.url}/x", target=str(tmp_path / "t"))
            code, _ = await (await termination.start(request, {"HOME": str(tmp_path)})).end()
    assert code == 0
    assert not any("Authorization" in head for head in server.heads + other.heads)


@pytest.mark.parametrize("text", ["\udce9", "\ud800", "\x00\x1b", "\u2028", "好" * 5000, "\\" * 5000, "\x1b" * 5000])
def test_a_line_is_there_whatever_a_text_holds(text: str) -> None:
    for report in (
        Failed(message=text),
        Progress(phase="retrying", reason=text),
        Fetched(size=1, files=1, revision=text),
    ):
        line = build_line(report)
        assert line.count(b"\n") == 1 and len(line) <= 4096
        assert type(read_report(line)) is type(report)


@pytest.mark.slow
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
