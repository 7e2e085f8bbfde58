"""The files of runs, from the program that runs in a pod into a directory: the program is a process here, and what it
reads and writes goes through a session as of exec."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from paddock.app.claimed.conversation import Conversation, ProgramEnded, Silent
from paddock.app.claimed.fetching import Fetch, Fetched
from paddock.app.claimed.files import BadAnswer, ClaimedFile, Listing, explain_path, show_path
from paddock.app.claimed.pod import build_command, read_program
from paddock.app.claimed.target import NotOurs, Target
from paddock.kube.errors import Unavailable
from paddock.kube.pod_streams import STDERR, STDOUT, Ended, Size

UID = "00000001-0000-4000-8000-000000000000"
Change = Callable[[bytes], bytes | None]


class ProcessSession:
    """A program of exec that is a process of this machine. `change`: what becomes of its output on the way; None cuts
    the connection."""

    def __init__(self, process: asyncio.subprocess.Process, change: Change) -> None:
        self._process, self._change, self._cut = process, change, False

    async def read(self) -> tuple[int, bytes] | None:
        assert self._process.stdout is not None and self._process.stderr is not None
        if data := await self._process.stdout.read(32 << 10):
            if (changed := self._change(data)) is not None:
                return STDOUT, changed
            self._cut = True
            return None
        said = await self._process.stderr.read(4096)
        return (STDERR, said) if said else None

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> Ended:
        if self._cut:
            raise Unavailable("the connection was lost")
        return Ended(await self._process.wait())

    async def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


def keep(data: bytes) -> bytes | None:
    return data


@asynccontextmanager
async def talk(root: Path, change: Change = keep) -> AsyncIterator[Conversation]:
    _, *words = build_command(str(root))
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe, stderr=pipe)
    conversation = Conversation(ProcessSession(process, change))
    try:
        await conversation.begin(read_program())
        yield conversation
    finally:
        await conversation.close()


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    """The directory of a job with a run."""
    root = tmp_path / "claim/train"
    run = root / UID
    (run / "checkpoint").mkdir(parents=True)
    (run / "model").write_bytes(os.urandom(3_000_000))
    (run / "checkpoint/epoch-1").write_bytes(b"one")
    (run / "empty").touch()
    (root / f"{UID}.json").write_text(json.dumps({"run": 7, "started": "2026-11-30T00:00:00Z", "kind": "PaddleJob.x"}))
    return root


async def look(root: Path, most: int = 100) -> Listing:
    async with talk(root) as conversation:
        return await conversation.list_files(UID, most)


async def fetch(root: Path, place: Path, change: Change = keep) -> Fetched:
    target = Target(place)
    target.open("train", UID)
    found = Fetch((await look(root)).files, UID, target, lambda _: None)
    async with talk(root, change) as conversation:
        while not found.is_done:
            await found.run(conversation)
    return found.fetched


def read_tree(place: Path) -> dict[str, bytes]:
    files = (each for each in place.rglob("*") if each.is_file() and not each.name.startswith(".paddock"))
    return {str(each.relative_to(place)): each.read_bytes() for each in files}


async def test_runs_are_told_with_what_was_recorded(claim: Path) -> None:
    (claim / "00000002").mkdir()
    (claim / "not-a-run.json").write_text("{}")
    (claim / "link").symlink_to(claim)
    async with talk(claim) as conversation:
        without, run = await conversation.list_runs()
    assert (run.uid, run.number, run.kind, run.started) == (UID, 7, "PaddleJob.x", "2026-11-30T00:00:00Z")
    assert (without.uid, without.number) == ("00000002", 0)


async def test_a_claim_without_the_job_has_no_runs(tmp_path: Path) -> None:
    async with talk(tmp_path / "nothing") as conversation:
        assert await conversation.list_runs() == []
        assert await conversation.list_files(UID, 10) == Listing([])


async def test_all_comes_whole_and_a_second_time_nothing_is_sent(claim: Path, tmp_path: Path) -> None:
    first = await fetch(claim, tmp_path / "here")
    assert read_tree(tmp_path / "here") == read_tree(claim / UID)
    assert (first.files, first.there, first.failed, first.received) == (3, 0, 0, 3_000_003)
    (claim / UID / "checkpoint/epoch-2").write_bytes(b"two")
    second = await fetch(claim, tmp_path / "here")
    assert (second.files, second.there, second.received) == (4, 3, 3)
    assert (tmp_path / "here/model").stat().st_mode & 0o777 == 0o600


async def test_a_fetch_that_is_cut_goes_on_where_it_stopped(claim: Path, tmp_path: Path) -> None:
    seen = 0

    def cut(data: bytes) -> bytes | None:
        nonlocal seen
        seen += len(data)
        return data if seen < 2_000_000 else None

    with pytest.raises(Unavailable):
        await fetch(claim, tmp_path / "here", cut)
    assert not (tmp_path / "here/model").exists()
    second = await fetch(claim, tmp_path / "here")
    assert second.failed == 0 and second.received < 1_100_000
    assert second.bytes == second.wanted
    assert read_tree(tmp_path / "here") == read_tree(claim / UID)


async def test_a_beginning_that_is_not_the_files_is_sent_anew(claim: Path, tmp_path: Path) -> None:
    place = tmp_path / "here"
    Target(place).open("train", UID)
    (place / "model.paddock-part").write_bytes(b"x" * 1_000_000)
    found = await fetch(claim, place)
    assert found.failed == 0 and found.bytes == found.wanted
    assert read_tree(place) == read_tree(claim / UID)


async def test_what_comes_damaged_twice_is_told_and_not_kept(claim: Path, tmp_path: Path) -> None:
    def damage(data: bytes) -> bytes:
        return data.replace(b"the first epoch", b"the last epoch!")

    (claim / UID / "checkpoint/epoch-1").write_bytes(b"the first epoch")
    found = await fetch(claim, tmp_path / "here", damage)
    (said,) = map(str, found.problems)
    assert found.failed == 1 and said.startswith("checkpoint/epoch-1: came damaged twice")
    assert sorted(read_tree(tmp_path / "here")) == ["empty", "model"]


async def test_links_and_pipes_are_counted_and_not_followed(claim: Path, tmp_path: Path) -> None:
    (claim / UID / "passwd").symlink_to("/etc/passwd")
    (claim / UID / "up").symlink_to("/etc")
    os.mkfifo(claim / UID / "pipe")
    found = await look(claim)
    assert found.others == 3 and len(found.files) == 3
    async with talk(claim) as conversation:
        for path in ("passwd", "up/passwd", "pipe", "../../../etc/passwd", "gone"):
            await conversation.ask(get=f"{UID}/{path}", **{"from": 0})
            assert set(await conversation.read_line()) == {"end", "problem"}, path


NAMES = [b"a\nb", b"\x1b[31mred", b"\xff\xfe", "模型".encode(), b" ", b"-rf", b"a" * 200, b"$(reboot)", b"'\"", b"..."]


async def test_names_of_any_bytes_come_as_they_are(claim: Path, tmp_path: Path) -> None:
    for each in NAMES:
        Path(os.fsdecode(os.path.join(os.fsencode(claim / UID), each))).write_bytes(each)
    found = await fetch(claim, tmp_path / "here")
    assert found.failed == 0
    assert {os.fsencode(each) for each in os.listdir(tmp_path / "here")} > set(NAMES)
    assert show_path(os.fsdecode(b"\xff\xfe")) == "\\xff\\xfe"


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.", "..", "a\0b", "x" * 5000, ".paddock-run.json",
     "a/b.paddock-part"],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(path: str, tmp_path: Path) -> None:
    assert explain_path(path) is not None
    found = Fetch([ClaimedFile(path, 3, 0.0)], "", Target(tmp_path), lambda _: None)
    assert found.is_done and found.fetched.failed == 1


async def test_a_link_in_the_directory_here_is_not_followed(claim: Path, tmp_path: Path) -> None:
    place = tmp_path / "here"
    Target(place).open("train", UID)
    (tmp_path / "outside").mkdir()
    (place / "checkpoint").symlink_to(tmp_path / "outside")
    found = await fetch(claim, place)
    assert found.failed == 1 and str(found.problems[0]).startswith("checkpoint/epoch-1: ")
    assert list((tmp_path / "outside").iterdir()) == []
    assert (place / "model").read_bytes() == (claim / UID / "model").read_bytes(), "all others came"


async def test_a_directory_in_the_place_of_a_file_costs_that_file_alone(claim: Path, tmp_path: Path) -> None:
    place = tmp_path / "here"
    Target(place).open("train", UID)
    (place / "model").mkdir()
    found = await fetch(claim, place)
    assert (found.failed, found.files) == (1, 2)


@pytest.mark.parametrize("size", [3_000_004, 2_000_000, 0])
async def test_a_file_that_grew_or_shrank_since_it_was_listed_comes_whole_and_is_told(
    claim: Path, tmp_path: Path, size: int
) -> None:
    async with talk(claim) as conversation:
        listed = await conversation.list_files(UID, 10)
        os.truncate(claim / UID / "model", size)
        target = Target(tmp_path / "here")
        target.open("train", UID)
        found = Fetch(listed.files, UID, target, lambda _: None)
        await found.run(conversation)
    assert (tmp_path / "here/model").read_bytes() == (claim / UID / "model").read_bytes()
    assert found.fetched.failed == 0 and found.fetched.changed == {"model": size}
    assert found.fetched.bytes == found.fetched.wanted == size + 3


ONE = ClaimedFile("model", 3, 0.0)
BEGIN, RIGHT = '{"size": 3, "from": 0, "time": 1.0}\n', hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("end", "tries", "said"),
    [
        (f'"sha256": "{RIGHT}", "changed": true', 1, ""),
        ('"sha256": "x", "changed": true', 2, "model: was made shorter while it was read, twice"),
        ('"sha256": "x", "changed": false', 2, "model: came damaged twice: its digest is another one than where it was "
                                               "sent"),
        ('"sha256": "x", "changed": false, "problem": "Input/output error"', 1, "model: Input/output error"),
    ],
)  # fmt: skip
async def test_what_happens_to_a_file_while_it_is_read_is_told(tmp_path: Path, end: str, tries: int, said: str) -> None:
    fetch = Fetch([ONE], "", Target(tmp_path), lambda _: None)
    conversation = say(*[f'{BEGIN}abc{{"end": "get", {end}}}'] * tries)
    for _ in range(tries):
        assert not fetch.is_done
        await fetch.run(conversation)
    assert fetch.is_done and [str(each) for each in fetch.fetched.problems] == ([said] if said else [])
    assert fetch.fetched.changed == ({} if said else {"model": 3})
    assert sorted(each.name for each in tmp_path.iterdir()) == ([] if said else ["model"])


def test_a_directory_is_of_one_run(tmp_path: Path) -> None:
    Target(tmp_path / "here").open("train", UID)
    Target(tmp_path / "here").open("train", UID)
    with pytest.raises(NotOurs, match=UID):
        Target(tmp_path / "here").open("train", "another")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").touch()
    with pytest.raises(NotOurs):
        Target(tmp_path / "mine").open("train", UID)


async def test_a_program_that_is_not_ours_is_told(tmp_path: Path) -> None:
    async with talk(tmp_path, lambda data: b"hello\n") as conversation:
        with pytest.raises(BadAnswer, match="hello"):
            await conversation.list_runs()


class SaidSession:
    """A pod that says what its tenant likes."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    async def read(self) -> tuple[int, bytes] | None:
        line = next(self._lines, None)
        return None if line is None else (STDOUT, line + b"\n")

    async def write(self, data: bytes) -> None: ...

    def close_input(self) -> None: ...

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> Ended:
        return Ended(0)

    async def close(self) -> None: ...


def say(*lines: str) -> Conversation:
    return Conversation(SaidSession(each.encode() for each in lines))


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-Infinity", "1e300", "1" + "0" * 400, "[]", "null"])
async def test_a_time_that_no_file_has_is_refused_and_raises_nothing_else(time: str, tmp_path: Path) -> None:
    with pytest.raises(BadAnswer):
        await say(f'{{"path": "model", "size": 1, "time": {time}}}').list_files("", 9)
    with pytest.raises(BadAnswer):
        await say(f'{{"uid": "{UID}", "written": {time}}}').list_runs()
    fetch = Fetch([ClaimedFile("model", 1, 0.0)], "", Target(tmp_path), lambda _: None)
    with pytest.raises(BadAnswer):
        await fetch.run(say(f'{{"size": 1, "from": 0, "time": {time}}}'))


@pytest.mark.parametrize("line", ["[" * 200_000, '{"path": "' + "a/" * 4000 + '", "size": 1, "time": 1}'])
async def test_an_answer_that_would_take_the_memory_here_is_refused(line: str) -> None:
    with pytest.raises(BadAnswer):
        await say(line).list_files("", 9)


async def test_a_pod_that_never_ends_its_list_of_runs_is_not_read_for_ever() -> None:
    runs = (json.dumps({"uid": str(number), "written": 1.0}).encode() for number in itertools.count())
    with pytest.raises(BadAnswer):
        await Conversation(SaidSession(runs)).list_runs()


async def test_a_file_does_not_begin_behind_what_is_here(tmp_path: Path) -> None:
    """Else the file here would grow to that length, and be read to its end for its digest."""
    fetch = Fetch([ClaimedFile("model", 2**50, 0.0)], "", Target(tmp_path), lambda _: None)
    with pytest.raises(BadAnswer):
        await fetch.run(say(json.dumps({"size": 2**50, "from": 2**50 - 1, "time": 0.0})))
    assert not list(tmp_path.iterdir())


class SilentSession(SaidSession):
    async def read(self) -> tuple[int, bytes] | None:
        await asyncio.Event().wait()
        return None


async def test_a_pod_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with pytest.raises(Silent):
        await Conversation(SilentSession(iter(())), seconds=0).list_runs()


@pytest.mark.parametrize(
    "asked", [{"runs": ""}, {"list": UID, "most": 9}, {"get": f"{UID}/model", "from": 2_000_000}], ids=str
)
def test_where_an_answer_is_long_in_coming_there_is_a_sign(claim: Path, asked: dict[str, object]) -> None:
    _, *words = build_command(str(claim))
    asks = f"{read_program()}{json.dumps(asked)}\n".encode()
    ended = subprocess.run([sys.executable, *words], input=asks, capture_output=True, check=True)
    assert set(ended.stderr) == set(b"\n"), "one in each fifteen seconds"


async def test_a_python_that_fails_is_told_with_its_last_words(claim: Path) -> None:
    async with talk(claim) as conversation:
        await conversation.ask(get=3)
        with pytest.raises(ProgramEnded, match="KeyError"):
            await conversation.read_line()


@pytest.mark.slow
async def test_many_files_are_listed_in_little_memory_and_more_is_said(claim: Path) -> None:
    for number in range(3000):
        (claim / UID / f"checkpoint/{number}").touch()
    tracemalloc.start()
    found = await look(claim, 2000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.more and len(found.files) == 2000
    assert most < 4_000_000
