"""Logs of several readers in one room: who prints without end cuts nobody else's, and nothing is cut for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.app.consoles.spool.copying import Copier
from paddock.app.consoles.spool.files import ClusterSpool, read_left_out, read_progress
from paddock.app.consoles.spool.room import Room
from paddock.app.home import Home
from paddock.history.records import RunRecord
from paddock.kube.meta import Manifest
from support.waiting import until

MOST, EACH = 40_000, 20_000


def build_pod(name: str) -> Manifest:
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "paddle"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "paddle", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
        },
    }


def stamp(second: int) -> bytes:
    return b"2026-01-01T%02d:%02d:%02dZ " % (second // 3600, second // 60 % 60, second % 60)


def write(begin: int, end: int, width: int = 60) -> bytes:
    """A line a second, of `width` bytes or more."""
    return b"".join(stamp(n) + b"line %d " % n + b"x" * (width - 12) + b"\n" for n in range(begin, end))


class Program:
    """What a container has printed; a kubelet streams it on, from the second that is asked for."""

    def __init__(self) -> None:
        self.text = b""
        self._ended = False
        self._grown = asyncio.Event()

    def print(self, text: bytes) -> None:
        self.text += text
        self._grown.set()
        self._grown = asyncio.Event()

    def end(self, text: bytes) -> None:
        self._ended = True
        self.print(text)

    def rotate(self, begin: int) -> None:
        """What was printed before this second is there no more."""
        self.text = b"".join(line for line in self.text.splitlines(True) if line >= stamp(begin))

    async def stream_log(self, _: str, __: str, *, since_time: str = "", **___: Any) -> AsyncIterator[bytes]:
        place = next((at for at, line in self._lines() if line >= since_time.encode()), len(self.text))
        while True:
            grown = self._grown
            if place < len(self.text):
                chunk = self.text[place : place + 1_000]
                place += len(chunk)
                yield chunk
                await asyncio.sleep(0)
            elif self._ended:
                return
            else:
                await grown.wait()

    def _lines(self) -> list[tuple[int, bytes]]:
        found, place = [], 0
        for line in self.text.splitlines(True):
            found.append((place, line))
            place += len(line)
        return found


class Readers:
    """Copiers of readers, each of one pod, in one spool."""

    def __init__(self, directory: Path) -> None:
        self._home = Home(directory, directory)
        self.programs: dict[str, Program] = {}
        self.copiers: dict[str, Copier] = {}
        self.start()

    def start(self) -> None:
        self.spool = ClusterSpool(self._home, Room(MOST, EACH))
        assert self.spool.acquire()

    def look(self, reader: str, name: str) -> None:
        program = self.programs.setdefault(name, Program())
        copier = self.copiers.get(name)
        if copier is None:
            copier = self.copiers[name] = Copier(program, self.spool, reader=reader)
        copier.see(build_pod(name))

    async def leave(self, *names: str) -> None:
        for name in names or list(self.copiers):
            await self.copiers.pop(name).stop()

    def path(self, name: str) -> Path:
        return self.spool.path_of(build_pod(name))

    def read(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    async def see(self, name: str, holds: Callable[[bytes], bool]) -> None:
        await until(lambda: self.path(name).exists() and holds(self.read(name)))

    def is_full(self, name: str) -> bool:
        return read_progress(self.path(name)).full

    @property
    def taken(self) -> int:
        return sum(path.stat().st_size for path in self.spool.home.node.glob("pods/*/*/0.log"))


async def test_what_one_reader_s_programs_print_without_end_cuts_no_other_reader_s_log(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    readers.look("ada", "quiet")
    readers.programs["quiet"].print(write(0, 8))
    await readers.see("quiet", lambda text: b"line 7 " in text)
    loud = [f"loud-{n}" for n in range(4)]
    for name in loud:
        readers.look("ben", name)
        readers.programs[name].print(write(0, 1_000))
    await until(lambda: all(map(readers.is_full, loud)))
    readers.programs["quiet"].print(write(8, 90) + stamp(90) + b"RuntimeError: this is why\n")
    await readers.see("quiet", lambda text: text.endswith(b"RuntimeError: this is why\n"))
    assert not readers.is_full("quiet")
    assert readers.taken <= MOST + 1_000  # torn lines
    await readers.leave()
    readers.spool.release()


async def test_a_log_that_reached_its_own_bound_stops_alone_and_says_at_how_many_bytes(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    for name in ("loud", "quiet"):
        readers.look("ada", name)
    readers.programs["loud"].print(write(0, 1_000))
    await until(lambda: readers.is_full("loud"))
    readers.programs["quiet"].print(write(0, 20))
    await readers.see("quiet", lambda text: b"line 19 " in text)
    left_out = read_left_out(readers.path("loud"))
    assert left_out is not None and left_out.stopped is not None
    assert (left_out.pod, left_out.container, left_out.gaps) == ("loud", "paddle", ())
    assert EACH - 1_000 < left_out.stopped <= EACH + 1_000
    assert read_left_out(readers.path("quiet")) is None
    for _ in range(3):  # there is no room for more of it: a look begins nothing
        readers.look("ada", "loud")
    assert readers.spool.is_copied(build_pod("loud"))
    await readers.leave()
    readers.spool.release()


async def fill(readers: Readers) -> None:
    """`cut` of ada has given way to others of hers: about 10,000 of 15,000 bytes are left of it."""
    readers.look("ada", "cut")
    readers.programs["cut"].print(write(0, 250))
    await readers.see("cut", lambda text: b"line 249 " in text)
    for name in ("a", "b", "c"):
        readers.look("ada", name)
        readers.programs[name].print(write(0, 170))
        await readers.see(name, lambda text: b"line 169 " in text or (bool(text) and readers.is_full("cut")))
    await until(lambda: readers.is_full("cut"))


async def test_when_there_is_room_again_copying_goes_on_without_a_gap(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    await fill(readers)
    before = readers.read("cut")
    assert before.endswith(b"\n") and b"line 249 " not in before
    await readers.leave("a", "b", "c")
    for name in ("a", "b", "c"):
        readers.path(name).unlink()
    readers.spool.forget_pruned()
    readers.programs["cut"].print(write(250, 260))
    readers.look("ada", "cut")
    await until(lambda: not readers.copiers["cut"].namespaces or b"line 259 " in readers.read("cut"))
    readers.look("ada", "cut")
    await readers.see("cut", lambda text: b"line 259 " in text)
    lines = [int(line.split()[1]) for line in readers.read("cut").splitlines()]
    assert lines == list(range(260))
    await until(lambda: read_left_out(readers.path("cut")) is None)
    await readers.leave()
    readers.spool.release()


async def test_a_new_start_goes_on_too_and_says_what_the_cluster_did_not_have_any_more(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    await fill(readers)
    await readers.leave()
    readers.spool.release()
    kept = [int(line.split()[1]) for line in readers.read("cut").splitlines()]
    for name in ("a", "b", "c"):
        readers.path(name).unlink()
    readers.start()
    readers.programs["cut"].rotate(245)
    readers.programs["cut"].print(write(250, 260))
    readers.look("ada", "cut")
    await readers.see("cut", lambda text: b"line 259 " in text)
    lines = [int(line.split()[1]) for line in readers.read("cut").splitlines()]
    assert lines == [*kept, *range(245, 260)]
    await readers.leave()
    left_out = read_left_out(readers.path("cut"))
    assert left_out is not None and left_out.stopped is None
    start = 1_767_225_600.0  # 2026-01-01T00:00:00Z
    assert left_out.gaps == ((start + kept[-1], start + 245),)
    readers.spool.release()


async def test_what_a_former_process_left_takes_room_and_gives_way_first(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    for name in ("old", "older"):
        readers.look("ada", name)
        readers.programs[name].print(write(0, 1_000))
        await until(lambda name=name: readers.is_full(name))
    await readers.leave()
    readers.spool.release()
    readers.start()
    readers.look("ben", "new")
    readers.programs["new"].print(write(0, 250))
    await readers.see("new", lambda text: b"line 249 " in text)
    assert not readers.is_full("new")
    assert readers.taken <= MOST + 1_000
    assert b"line 0 " in readers.read("old") and b"line 0 " in readers.read("older")
    await readers.leave()
    readers.spool.release()


async def test_a_log_whose_pod_has_ended_has_no_end_before_all_of_it_is_there(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    readers.look("ada", "loud")
    readers.programs["loud"].print(write(0, 1_000))
    ended = build_pod("loud") | {"status": {"phase": "Succeeded"}}
    readers.copiers["loud"].see(ended)
    await until(lambda: readers.is_full("loud"))
    await until(lambda: not readers.copiers["loud"].namespaces)
    assert not read_progress(readers.path("loud")).ended
    await readers.leave()
    readers.spool.release()


def end_pod(name: str) -> Manifest:
    return build_pod(name) | {"status": {"phase": "Succeeded"}}


async def end(readers: Readers, reader: str, name: str, text: bytes) -> None:
    """A pod that has ended is copied to its end."""
    readers.look(reader, name)
    readers.programs[name].end(text)
    readers.copiers[name].see(end_pod(name))
    await until(lambda: not readers.copiers[name].namespaces)


async def test_of_logs_that_have_ended_the_oldest_are_removed_which_is_said_and_they_are_not_copied_again(
    tmp_path: Path,
) -> None:
    readers = Readers(tmp_path)
    for n in range(6):
        await end(readers, "ada", f"ended-{n}", write(0, 120))
    assert readers.taken <= MOST
    assert [len(readers.read(f"ended-{n}")) > 0 for n in range(6)] == [False] * 2 + [True] * 4
    left_out = read_left_out(readers.path("ended-0"))
    assert left_out is not None and left_out.removed and left_out.pod == "ended-0"
    assert read_left_out(readers.path("ended-5")) is None
    readers.copiers["ended-0"].see(end_pod("ended-0"))
    assert not readers.copiers["ended-0"].namespaces
    await readers.leave()
    readers.spool.release()


async def test_a_log_that_has_ended_is_not_removed_for_another_reader_s_programs(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    await end(readers, "ada", "quiet", write(0, 60))
    loud = [f"loud-{n}" for n in range(4)]
    for name in loud:
        readers.look("ben", name)
        readers.programs[name].print(write(0, 1_000))
    await until(lambda: all(map(readers.is_full, loud)))
    assert b"line 59 " in readers.read("quiet")
    await readers.leave()
    readers.spool.release()


async def test_a_log_at_which_two_look_counts_for_who_takes_less_whoever_came_first(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    readers.look("ada", "both")
    readers.programs["both"].print(write(0, 150))
    await readers.see("both", lambda text: b"line 149 " in text)
    ben = Copier(readers.programs["both"], readers.spool, reader="ben")
    ben.see(build_pod("both"))
    loud = [f"loud-{n}" for n in range(4)]
    for name in loud:
        readers.look("ada", name)
        readers.programs[name].print(write(0, 140))
    await until(lambda: any(map(readers.is_full, loud)) and not readers.is_full("both"))
    readers.programs["both"].print(write(150, 155))
    await readers.see("both", lambda text: b"line 154 " in text)
    assert not readers.is_full("both")
    await ben.stop()
    await readers.leave()
    readers.spool.release()


BESIDE = 3_000


def measure(directory: Path) -> int:
    """Bytes of all files."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file())


POD = st.tuples(
    st.sampled_from(["ada", "ben"]), st.sampled_from([1, 20, 150, 400]), st.sampled_from([0, 60]), *[st.booleans()] * 2
)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(pods=st.lists(POD, min_size=20, max_size=40))
async def test_whatever_pods_print_and_however_many_end_the_disk_has_a_bound(
    pods: list[tuple[str, int, int, bool, bool]],
) -> None:
    """Labels of pods are on the disk too."""
    with TemporaryDirectory() as name:
        spool = ClusterSpool(Home(Path(name), Path(name)), Room(MOST, EACH, BESIDE))
        assert spool.acquire()
        for number, (reader, lines, width, ends, labels) in enumerate(pods):
            pod = build_pod(f"p{number}")
            owner = {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
            pod["metadata"] |= {"ownerReferences": [owner], "labels": {"x": "y" * 10_000 * labels}}
            log = spool.begin(pod, reader)
            text = write(0, lines, width)
            for at in range(0, len(text), 1_000):
                log.write(text[at : at + 1_000])
            if ends and not log.at.full:
                log.end()
            log.save()
            spool.finish(log)
            log = spool.begin(build_pod("last"), reader)  # one line, as what gives way does so when one grows
            log.write(write(0, 1))
            spool.finish(log)
            assert measure(spool.home.node) <= MOST + 3_000
        spool.release()
        again = ClusterSpool(Home(Path(name), Path(name)), Room(MOST // 2, EACH, BESIDE))
        assert again.acquire()
        assert measure(again.home.node) <= MOST // 2
        again.release()


async def test_of_lines_without_text_the_times_beside_them_take_room_too(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    for n in range(3):
        log = readers.spool.begin(build_pod(f"p{n}"), "ada")
        for second in range(2_000):
            log.write(stamp(second) + b"\n")
        readers.spool.finish(log)
    assert 20_000 < measure(readers.spool.home.node) <= MOST + 10_000  # how far each is copied
    readers.spool.release()


async def test_the_record_of_a_run_says_that_a_log_of_it_was_removed(tmp_path: Path) -> None:
    readers = Readers(tmp_path)
    record = RunRecord("v1", "Job", "team", "j", "u", 0, 0.0)
    readers.spool.keep(record)
    owner = {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    for n in range(4):
        pod = build_pod(f"p{n}")
        pod["metadata"]["ownerReferences"] = [owner]
        log = readers.spool.begin(pod, "ada")
        log.write(write(0, 160))
        log.end()
        readers.spool.finish(log)
        kept = readers.spool.find_record("team", "j", "u")
        assert kept is not None and kept.logs_pruned == (n == 3)
    readers.spool.release()
