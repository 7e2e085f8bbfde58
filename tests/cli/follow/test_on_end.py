"""--on-end: what it takes, what it tells, and that its failure is one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from paddock.cli.cluster.errors import UserError
from paddock.cli.follow.on_end import Program, Webhook, call_on_end, kill, read_on_end
from paddock.jobs.ended import End

END = End("train", "default", "Failed", "worker-0 says “no”", 12.34)


def test_a_command_is_split_as_a_shell_would_and_an_address_is_taken_whole() -> None:
    assert read_on_end("sh -c 'echo $PADDOCK_JOB'") == Program(("sh", "-c", "echo $PADDOCK_JOB"))
    assert read_on_end("https://me:secret@example.org:8443/a?b=c") == Webhook(
        "https://me:secret@example.org:8443/a?b=c"
    )
    assert Webhook("https://me:secret@example.org:8443/a").host == "example.org:8443"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "--on-end: a command or a web address is wanted"),
        ("echo 'a", "--on-end echo 'a: No closing quotation"),
        ("nowhere-1 x", "--on-end: there is no program nowhere-1"),
        ("ftp://example.org", "--on-end: found ftp://; http:// and https:// are allowed"),
        ("https://", "--on-end: a web address with a host is wanted, such as https://example.org/hook"),
        ("http://h:x/", "--on-end: a web address with a host is wanted, such as https://example.org/hook"),
        ("http://h/a b", "--on-end: a web address with a host is wanted, such as https://example.org/hook"),
        ("http://h/\n", "--on-end: a web address with a host is wanted, such as https://example.org/hook"),
    ],
)
def test_what_cannot_be_called_is_refused_before_anything_runs(text: str, told: str) -> None:
    with pytest.raises(UserError) as error:
        read_on_end(text)
    assert str(error.value) == told


def test_a_command_that_takes_too_long_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = Thread(target=held.read_bytes, daemon=True)  # ends when nobody has the other end open any more
    reader.start()
    told = call_on_end(Program(("sh", "-c", f"sleep 600 >{held} & wait")), END, seconds=3.0)
    assert str(told) == "--on-end sh: it ran longer than 3 s and was ended"
    reader.join(60)
    assert not reader.is_alive()


def test_a_command_that_takes_too_long_may_clean_up(tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    words = ("sh", "-c", f"trap 'touch {cleaned}; exit 0' TERM; sleep 600 & wait")
    assert str(call_on_end(Program(words), END, seconds=3.0)) == "--on-end sh: it ran longer than 3 s and was ended"
    assert cleaned.exists()


def test_a_command_that_was_waited_for_is_not_killed() -> None:
    """Ctrl-C comes while it ends: `Popen.wait` has seen the end when it raises KeyboardInterrupt."""
    process = subprocess.Popen(["true"], process_group=0)
    process.wait(60)
    kill(process)


def test_a_command_finds_the_end_in_its_environment_and_no_shell_reads_it(tmp_path: Path) -> None:
    program = "import json, os, sys; json.dump([sys.argv[1], dict(os.environ)], open(sys.argv[2], 'w'))"
    words = (sys.executable, "-c", program, "$PADDOCK_JOB; exit 3", str(tmp_path / "seen"))
    assert call_on_end(Program(words), END) is None
    word, seen = json.loads((tmp_path / "seen").read_text())
    assert word == "$PADDOCK_JOB; exit 3"
    assert {name: value for name, value in seen.items() if name.startswith("PADDOCK_") and name[8:] in
            ("JOB", "NAMESPACE", "PHASE", "CAUSE", "SECONDS")} == {
        "PADDOCK_JOB": "train", "PADDOCK_NAMESPACE": "default", "PADDOCK_PHASE": "Failed",
        "PADDOCK_CAUSE": "worker-0 says “no”", "PADDOCK_SECONDS": "12.3",
    }  # fmt: skip


def test_a_command_that_fails_is_told_in_a_line() -> None:
    assert str(call_on_end(Program((sys.executable, "-c", "exit(3)")), END)) == (
        f"--on-end {sys.executable}: it ended with exit code 3"
    )
    assert str(call_on_end(Program(("/nowhere/x",)), END)) == "--on-end /nowhere/x: No such file or directory"


@contextmanager
def serve(code: int, seen: list[tuple[str, str, bytes]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers["Content-Type"], body))
            self.send_response(code)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hook?key=secret"
        finally:
            server.shutdown()
            thread.join()


def test_an_address_gets_the_end_in_json() -> None:
    seen: list[tuple[str, str, bytes]] = []
    with serve(204, seen) as url:
        assert call_on_end(Webhook(url), END) is None
    ((path, kind, body),) = seen
    assert (path, kind) == ("/hook?key=secret", "application/json")
    assert json.loads(body) == {
        "job": "train", "namespace": "default", "phase": "Failed", "cause": "worker-0 says “no”", "seconds": 12.3,
    }  # fmt: skip


@pytest.mark.parametrize("code", [302, 404, 500])
def test_an_answer_that_is_no_success_is_told_without_the_address(code: int) -> None:
    seen: list[tuple[str, str, bytes]] = []
    with serve(code, seen) as url:
        told = str(call_on_end(Webhook(url), END))
    assert told == f"--on-end {Webhook(url).host}: it answered {code}"
    assert len(seen) == 1, "no redirection is followed"
    assert "secret" not in told


def test_an_address_where_nobody_listens_is_told() -> None:
    with serve(200, []) as url:
        pass
    assert str(call_on_end(Webhook(url), END)) == f"--on-end {Webhook(url).host}: Connection refused"
