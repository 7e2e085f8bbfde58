"""The program in the pod of a board, by itself: as `python -c`, with a TensorBoard that serves its arguments."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from paddock.app.boards import paddock_pod_board as program
from paddock.app.boards.pod import PROGRAM
from paddock.app.boards.tools import TOOLS, Tool, find_tool

FAKE = """\
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(json.dumps(sys.argv[1:]).encode())
    def log_message(self, *words): pass
if __name__ == "__main__":
    port = int(next(each for each in sys.argv if each.startswith("--port=")).partition("=")[2])
    http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
TENSORBOARD, VISUALDL = "events.out.tfevents.1700000000.h.1.0", "vdlrecords.1700000000.log"
Begin = Callable[..., "Running"]


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def read(self) -> dict[str, Any]:
        """The next thing that it tells; empty at its end."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.lines.append(line)
            if line.startswith("paddock-board "):
                told: dict[str, Any] = json.loads(line.partition(" ")[2])
                return told
        return {}

    def end(self) -> int:
        while self.read():
            pass
        return self.process.wait(30)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """`modules`: which of the two programs the image has, and with which text."""
    begun: list[Running] = []

    def start(*, wanted: str = "any", idle: float = 1000.0, python: str = sys.executable, **modules: str) -> Running:
        packages = tmp_path / "packages"
        for name, text in modules.items():
            path = packages / f"{program.MODULES[name].replace('.', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            for each in {path.parent, packages / name}:
                (each / "__init__.py").write_text("")
            path.write_text(text)
        words = [wanted, "visualdl", "/s/place", "en", str(idle), "0.05", str(tmp_path / "out")]
        environment = {"PATH": str(tmp_path), "PYTHONPATH": str(packages)}
        text = PROGRAM.read_text()
        process = subprocess.Popen(
            [python, "-c", text, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/",
            env=environment, start_new_session=True,
        )  # fmt: skip
        begun.append(Running(process))
        return begun[-1]

    (tmp_path / "out").mkdir(exist_ok=True)
    yield start
    for each in begun:  # as the end of a container ends all that is in it
        with suppress(ProcessLookupError):
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.wait()


def fetch(port: int) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        found: list[str] = json.load(answer)
        return found


@pytest.mark.slow
def test_it_serves_on_its_loopback_until_nobody_looks(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "out" / TENSORBOARD).touch()
    running = begin(tensorboard=FAKE, visualdl=FAKE, idle=5.0)
    told = running.read()
    assert (told["name"], told["files"], told["others"]) == ("tensorboard", 1, 0)
    given = fetch(told["port"])
    assert given == [
        f"--logdir={tmp_path}/out", "--host=127.0.0.1", f"--port={told['port']}", "--path_prefix=/s/place",
    ]  # fmt: skip
    assert running.read()["idle"] == 5.0
    assert running.end() == 0
    with pytest.raises(urllib.error.URLError):
        fetch(told["port"])


@pytest.mark.slow
def test_who_looks_keeps_it(begin: Begin) -> None:
    running = begin(visualdl=FAKE, idle=5.0)
    told = running.read()
    assert fetch(told["port"])[-3:] == ["--public-path=/s/place", "--language=en", "--disable-telemetry"]
    with socket.create_connection(("127.0.0.1", told["port"])):
        time.sleep(7)
        assert running.process.poll() is None
    assert running.read()["idle"] == 5.0


REAL = {"tensorboard": ("data/plugin/scalars/tags", "loss"), "visualdl": ("api/runs", "[")}


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda each: each.name)
def test_the_real_programs_take_its_words(
    tool: Tool, written: Callable[[Tool], tuple[Path, Path]], begin: Begin
) -> None:
    environment, _ = written(tool)
    running = begin(python=str(environment / "bin/python"))
    told = running.read()
    assert (told["name"], told["files"]) == (tool.name, 1)
    path, wanted = REAL[tool.name]
    address = f"http://127.0.0.1:{told['port']}/s/place/"

    def look() -> bool:
        with urllib.request.urlopen(address + path, timeout=60) as answer:
            return wanted in answer.read().decode()

    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    with urllib.request.urlopen(address, timeout=60) as page:
        assert page.status == 200


@pytest.mark.parametrize(
    ("files", "wanted", "has", "lacks"),
    [
        ([TENSORBOARD], "any", {"visualdl": FAKE}, ["tensorboard"]),
        ([TENSORBOARD], "visualdl", {}, ["visualdl"]),
        ([], "any", {}, ["visualdl", "tensorboard"]),
    ],
)
def test_an_image_that_lacks_it_is_said(
    begin: Begin, tmp_path: Path, files: list[str], wanted: str, has: dict[str, str], lacks: list[str]
) -> None:
    for each in files:
        (tmp_path / "out" / each).touch()
    running = begin(wanted=wanted, **has)
    assert running.read()["lacks"] == lacks
    assert (running.end(), running.lines[-1].startswith("paddock-board ")) == (program.LACKS, True)


def test_what_ends_by_itself_is_said(begin: Begin) -> None:
    running = begin(tensorboard="raise SystemExit('no such thing')")
    assert running.read() == {"ended": 1}
    assert running.end() == program.ENDED
    assert "no such thing\n" in running.lines


def test_a_pod_that_is_deleted_ends_at_once(begin: Begin) -> None:
    running = begin(visualdl=FAKE)
    port = running.read()["port"]
    running.process.send_signal(signal.SIGTERM)
    assert running.end() == 0
    with pytest.raises(urllib.error.URLError):
        fetch(port)


def test_the_files_decide_and_then_the_image(begin: Begin, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / "out" / f"{number}").mkdir()
        (tmp_path / "out" / f"{number}" / TENSORBOARD).touch()
    (tmp_path / "out" / VISUALDL).touch()
    assert begin(visualdl=FAKE).read()["name"] == "visualdl"
    told = begin(tensorboard=FAKE).read()
    assert (told["name"], told["files"], told["others"]) == ("tensorboard", 2, 1)


@pytest.mark.parametrize(
    "name", [TENSORBOARD, VISUALDL, "vdlgraph.x.log", "model.pdparams", "x.tfevents", "a.tfevents.1"]
)
def test_files_are_told_apart_as_on_a_laptop(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    tool = find_tool(name)
    assert [each for each, count in program.count_files(str(tmp_path)).items() if count] == (
        [tool.name] if tool else []
    )
    assert program.PATTERNS.keys() == program.MODULES.keys() == TOOLS.keys()


HEAD = "  sl  local_address rem_address   st tx_queue\n"
V6 = "0" * 24 + "01000000"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["0: 0100007F:1770 00000000:0000 0A 0"], {}),
        (["0: 0100007F:1770 0100007F:9C40 01 0"], {"0100007F:1770 0100007F:9C40": False}),
        (["0: 0100007F:9C40 0100007F:1770 06 0"], {"0100007F:9C40 0100007F:1770": True}),
        ([f"0: {V6}:9C40 {V6}:1770 01 0"], {f"{V6}:9C40 {V6}:1770": False}),
        (["0: 0B00000A:9C40 0100000A:1770 01 0"], {}),  # of another machine's port
        (["0: 0100007F:1771 0100007F:9C40 01 0"], {}),
        (["broken"], {}),
    ],
)
def test_connections_of_the_port_are_seen(rows: list[str], found: dict[str, bool]) -> None:
    assert program.list_connections(HEAD + "\n".join(rows), 6000) == found


@pytest.mark.parametrize(
    ("before", "now", "looked"),
    [
        ({}, {}, False),
        ({}, {"a": False}, True),
        ({"a": False}, {"a": False}, True),
        ({}, {"a": True}, True),
        ({"a": True}, {"a": True}, False),
        ({"a": True}, {"a": True, "b": True}, True),
        (None, {}, True),
        ({}, None, True),
    ],
)
def test_a_connection_counts_until_it_has_ended(
    before: dict[str, bool] | None, now: dict[str, bool] | None, looked: bool
) -> None:
    assert program.is_looked_at(before, now) is looked


def test_old_pythons_read_it() -> None:
    """3.6: of images with PaddlePaddle 2.0. It is an argument of a command, which Linux bounds at 128 KiB."""
    text = PROGRAM.read_text()
    ast.parse(text, feature_version=(3, 6))
    assert len(text.encode()) < 32 * 2**10 and "\nfrom __future__" not in text
