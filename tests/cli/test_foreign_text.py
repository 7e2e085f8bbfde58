"""What strangers wrote is printed by every verb, on a terminal and in a pipe, and nothing in it acts on a terminal.

Every leaf of the tree of commands has a row of command lines in `ROWS`, or a reason in `SILENT`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
import tty
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from history.test_logs import write_log
from paddock.app.home import Home, Lock, Running, write_running
from paddock.build import BUILD
from paddock.cli.main import cli, run
from paddock.history.records import Attempt, Cause, RunRecord, write_record
from paddock.manifests.yaml_texts import write_yaml
from support.foreign import EVIL, FAILED, JOB, LOG, REFUSED, build_job, serve_foreign, write_kubeconfig

SHOWN = r"\x1b]52;"
"""How the corpus looks where it was cleaned; the visible form of its escape in JSON and in YAML."""
IN_JSON, IN_YAML = r"\u001b]52;", r"\e]52;"
UNPRINTED = "it is written, and never printed"

ROWS: dict[str, list[tuple[str, str]]] = {
    "run": [("run FILE --kubeconfig CONFIG --detach", SHOWN), ("run FILE --detach", SHOWN),
            ("run FILE --print", IN_YAML)],
    "init": [("init -o - --env A=EVIL -- python PROGRAM EVIL", IN_YAML)],
    "submit": [("submit FILE", SHOWN)],
    "render": [("render FILE --to bare --hosts EVIL", SHOWN), ("render FILE --to bare --hosts a -o -", UNPRINTED),
               ("render FILE --to kubernetes -o -", IN_YAML)],
    "rehearse": [("rehearse FILE --print", IN_YAML), ("rehearse WRONG", SHOWN)],
    "validate": [("validate WRONG", SHOWN), ("validate WRONG -o json", IN_JSON)],
    "get": [("get", SHOWN), ("get -A", SHOWN), ("get pods", SHOWN), ("get pods -o wide", SHOWN), ("get env", SHOWN),
            ("get datasets", SHOWN), ("get -o name", SHOWN), ("get -o json", IN_JSON), ("get -o yaml", IN_YAML)],
    "queue": [("queue -A", SHOWN), ("queue -o json", IN_JSON)],
    "describe": [("describe demo", SHOWN)],
    "explain": [("explain demo", SHOWN)],
    "bundle": [("bundle EVIL -o b.tar.gz", SHOWN)],
    "doctor": [("doctor EVIL", SHOWN), ("doctor --log LOG -o json", IN_JSON), ("doctor --log LOG -o yaml", IN_YAML),
               ("doctor --log LOG", SHOWN)],
    "logs": [("logs demo -o json", IN_JSON), ("logs EVIL", SHOWN)],
    "stacks": [("stacks EVIL", SHOWN)],
    "top": [("top EVIL", SHOWN), ("top demo --once", "no rank of demo runs")],
    "exec": [("exec EVIL -- true", SHOWN), ("exec demo -- true", SHOWN)],
    "shell": [("shell EVIL", SHOWN), ("shell demo", SHOWN)],
    "forward": [("forward EVIL 80", SHOWN), ("forward demo 80", SHOWN)],
    "wait": [("wait demo --for completed", SHOWN)],
    "console": [("console EVIL --url", SHOWN)],
    "history": [("history kept", SHOWN), ("history -o json", IN_JSON)],
    "usage": [("usage --since EVIL", SHOWN), ("usage --prometheus EVIL", SHOWN)],
    "outputs": [("outputs kept -l", SHOWN), ("outputs kept -o json", IN_JSON)],
    "board": [("board EVIL", SHOWN)],
    "suspend": [("suspend EVIL", SHOWN)],
    "resume": [("resume EVIL", SHOWN)],
    "cancel": [("cancel EVIL", SHOWN)],
    "clone": [("clone demo --print", IN_YAML)],
    "compare": [("compare EVIL", SHOWN)],
    "delete": [("delete EVIL", SHOWN)],
    "env build": [("env build EVIL", SHOWN)],
    "env create": [("env create EVIL --image a -r PACKAGES", SHOWN)],
    "env list": [("env list", SHOWN), ("env list -o json", IN_JSON)],
    "env rm": [("env rm EVIL", SHOWN)],
    "env update": [("env update EVIL --add tiny", SHOWN)],
    "dataset create": [("dataset create EVIL --from https://h/x", SHOWN)],
    "dataset describe": [("dataset describe demo", SHOWN), ("dataset describe demo -o json", IN_JSON)],
    "dataset list": [("dataset list -A", SHOWN), ("dataset list -o json", IN_JSON)],
    "dataset rerun": [("dataset rerun EVIL", SHOWN)],
    "dataset rm": [("dataset rm EVIL", SHOWN)],
    "clean": [("clean outputs --dry-run", SHOWN), ("clean outputs --dry-run -o json", IN_JSON)],
    "status": [("status", SHOWN), ("status -o json", IN_JSON), ("status --kubeconfig CONFIG", SHOWN)],
    "operator": [("operator --kubeconfig EVIL", SHOWN)],
    "webhook": [("webhook --EVIL", SHOWN)],
    "manifests": [("manifests crd --kinds EVIL", SHOWN)],
    "completion": [("completion EVIL", SHOWN)],
}  # fmt: skip
SILENT = {
    "up": "starts the user's own cluster, and names its own files alone",
    "down": "ends the user's own cluster, and names its own processes alone",
    "kubeconfig": "prints the path of a file of the user's own",
    "version": "prints versions of its own",
}
TYPED = EVIL.replace("\0", "")
"""What can be an argument of a program; and the name of a file."""
FILE = TYPED.replace("/", "")
REFUSING = (
    "get", "queue", "describe demo", "explain demo", "logs demo", "stacks demo", "top --once", "exec demo -- true",
    "shell demo", "forward demo 80", "wait demo", "suspend demo", "resume demo", "cancel demo", "clone demo",
    "delete demo", "dataset list", "dataset describe demo", "submit FILE", "run FILE",
)  # fmt: skip
"""Verbs that ask a server which refuses, with a hostile message."""

Ask = Callable[[str, bool], str]


def walk(command: click.Command, context: click.Context, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command without subcommands: `get`, `env list`."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from walk(found, click.Context(found, parent=context, info_name=name), (*path, name))


_OWN = re.compile(r"\x1b\[(?!38;5;213m)[\d;]*m|\x1b\[\?25[lh]|\x1b\[1A|\r?\x1b\[2K|\r(?=\x1b\[2K)")
"""What rich writes: colours but that of the corpus, and of the cursor what a live line needs."""
_AT_BEGIN = re.compile(r"(?:^|(?<=\n))\r")
_MARKS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def find_acting(text: str, *, is_terminal: bool) -> set[str]:
    """The characters that act, beside our own sequences; by Unicode's tables, not by the product's."""
    rest = _AT_BEGIN.sub("", _OWN.sub("", text)) if is_terminal else text
    return {
        each for each in rest
        if (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") and each not in "\n\t")
        or unicodedata.bidirectional(each) in _MARKS or each in "\u200e\u200f\u061c"
    }  # fmt: skip


@pytest.fixture
def url() -> Iterator[str]:
    with serve_foreign() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A local cluster that is up: this process has its lock. It has kept two runs, with logs and outputs."""
    home = Home(tmp_path / "home", tmp_path / "cache")
    home.api.mkdir(parents=True)
    home.kubeconfig.write_text(write_kubeconfig(url))
    lock = Lock(home)
    assert lock.acquire()
    lock.write_pid()
    write_running(home, Running(os.getpid(), url, time.time(), BUILD, EVIL, "none", EVIL, url))
    cause = Cause(FAILED["reason"], FAILED["args"])
    for name, uid in (("kept", "1" * 8), ("other", "2" * 8)):
        write_record(home.history, RunRecord(
            JOB.api_version, JOB.kind, "default", name, uid, 1, time.time() - 60, ended=time.time() - 30,
            deleted=time.time() - 20, phase="Failed", finished=True, cause=cause,
            attempts=(Attempt(0, time.time() - 60), Attempt(1, time.time() - 50, cause)),
        ))  # fmt: skip
        write_log(home.node, f"{name}-worker-0", uid, job=uid, text=f"{EVIL}\n")
    written = home.outputs / "default" / "kept-11111111"
    written.mkdir(parents=True)
    written.with_name(f"{written.name}.json").write_text(json.dumps({"directory": "", "started": 1}))
    for name in (FILE, os.fsdecode(b"caf\xe9")):  # the second is not UTF-8: half of a surrogate pair in Python
        (written / name).write_text("x")
    (written.parent / f"{FILE}-33333333").mkdir()
    places = {"PADDOCK_HOME": str(home.root), "XDG_CACHE_HOME": str(home.cache)}
    for name, value in {**places, "TERM": "xterm-256color", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    try:
        yield home
    finally:
        lock.release()


@contextmanager
def open_pty(found: list[bytes]) -> Iterator[int]:
    """A pseudo-terminal that changes nothing; what is written to it is in `found` after the context."""
    mine, theirs = os.openpty()
    tty.setraw(theirs)

    def read() -> None:
        with suppress(OSError):  # the other end is closed
            while chunk := os.read(mine, 65536):
                found.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield theirs
    finally:
        os.close(theirs)
        reader.join()
        os.close(mine)


@contextmanager
def open_pipe(found: list[bytes]) -> Iterator[int]:
    mine, theirs = os.pipe()
    with os.fdopen(mine, "rb") as pipe:
        reader = threading.Thread(target=lambda: found.append(pipe.read()))
        reader.start()
        try:
            yield theirs
        finally:
            os.close(theirs)
            reader.join()


def build_sent() -> dict[str, Any]:
    """A manifest that is not refused: a program can be given no NUL."""
    job = json.loads(json.dumps(build_job()).replace(r"\u0000", ""))
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "registry/trainer:1"
    return {**job, "metadata": {"name": "sent", "annotations": {"note": TYPED}}, "status": {}}


@pytest.fixture
def ask(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """All that a command prints to one place; the words in capitals stand for a file, or for the corpus."""
    text = write_yaml([build_sent()])
    wrong = write_yaml([build_sent() | {EVIL: 1}])
    places = {"FILE": text, "WRONG": wrong, "LOG": "LAUNCH INFO 2026-11-20 09:00:00,000 nnodes: 2\n",
              "PROGRAM": "print(1)\n", "PACKAGES": "tiny\n", "CONFIG": home.kubeconfig.read_text()}  # fmt: skip
    ends = {"PROGRAM": "py", "PACKAGES": "txt"}
    paths = {name: tmp_path / f"{name.lower()}.{ends.get(name, 'yaml')}" for name in places}
    paths["LOG"] = tmp_path / FILE
    for name, text in places.items():
        paths[name].write_text(text)
    words = {name: str(path) for name, path in paths.items()}
    monkeypatch.chdir(tmp_path)

    def ask(line: str, is_terminal: bool) -> str:
        found: list[bytes] = []
        with (
            (open_pty if is_terminal else open_pipe)(found) as place,
            os.fdopen(os.dup(place), "w", encoding="utf-8") as stream,
            monkeypatch.context() as patch,
        ):
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            with suppress(SystemExit):  # so ends a completion
                run([words.get(word, word.replace("EVIL", TYPED)) for word in line.split()])
        return b"".join(found).decode()

    return ask


def test_each_verb_has_a_row_or_a_reason_for_none() -> None:
    verbs = set(walk(cli, click.Context(cli)))
    assert len(verbs) > 35
    assert verbs == set(ROWS) | set(SILENT)
    assert not set(ROWS) & set(SILENT)


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize(("line", "seen"), [row for rows in ROWS.values() for row in rows])
def test_what_strangers_wrote_is_shown_and_does_not_act(line: str, seen: str, is_terminal: bool, ask: Ask) -> None:
    printed = ask(line, is_terminal)
    assert find_acting(printed, is_terminal=is_terminal) == set()
    assert seen in printed


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("line", REFUSING)
def test_what_a_server_says_in_a_refusal_does_not_act(line: str, is_terminal: bool, ask: Ask) -> None:
    own, dashes, program = line.partition(" -- ")
    printed = ask(f"{own} -n {REFUSED}{dashes}{program}", is_terminal)
    assert find_acting(printed, is_terminal=is_terminal) == set()
    assert SHOWN in printed


FOLLOWED = "run FILE --kubeconfig CONFIG"


def test_lines_of_a_followed_log_are_as_they_were_written_and_all_else_is_clean(ask: Ask) -> None:
    printed = ask(FOLLOWED, False)
    lines = [line.rpartition("\r")[2] for line in LOG.split("\n")]  # of a line that is printed over, the last state
    assert "\n".join(lines) in printed
    assert find_acting(printed.replace("\n".join(lines), "", 1), is_terminal=False) == set()
    assert SHOWN in printed


@pytest.mark.parametrize("line", [FOLLOWED, "logs demo", "logs demo --raw", "logs demo --first-error", "logs kept"])
def test_on_a_terminal_lines_of_a_log_keep_their_colours_and_act_by_nothing_else(line: str, ask: Ask) -> None:
    printed = ask(line, True)
    assert "\x1b[38;5;213m" in printed
    assert find_acting(printed.replace("\x1b[38;5;213m", ""), is_terminal=True) == set()


def test_a_log_in_a_pipe_is_as_it_was_written(ask: Ask) -> None:
    assert ask("logs demo --raw", False) == LOG


def test_documents_have_the_same_values(ask: Ask) -> None:
    for line, job in (("get jobs demo", build_job()), ("get", {"items": [build_job(), build_job(EVIL)]})):
        for read, output in ((json.loads, "json"), (yaml.safe_load, "yaml")):
            found = read(ask(f"{line} -o {output}", False))
            assert {key: found[key] for key in job} == job
    (logged, *_) = ask("logs demo -o json", False).splitlines()
    assert json.loads(logged)["line"] == LOG.split("\n")[0].rpartition("\r")[2]


def test_what_a_shell_completes_does_not_act(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", "paddock describe ")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_PADDOCK_COMPLETE", "bash_complete")
    printed = ask("", False)
    assert find_acting(printed, is_terminal=False) == set()
    assert SHOWN in printed
