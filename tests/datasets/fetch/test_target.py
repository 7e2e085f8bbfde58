"""What a target knows after any end, and what it says of its disk."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.fetch.calls import must_fail, start
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.journal import Journal
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetching import Failed, Fault, Request
from support.programs import lack


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    found = os.open(tmp_path, os.O_RDONLY)
    yield found
    os.close(found)


def open_journal(tmp_path: Path) -> Journal:
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        return Journal(directory)
    finally:
        os.close(directory)


@given(cut=st.integers(min_value=0, max_value=200))
def test_a_journal_that_was_cut_at_any_byte_knows_all_before(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("journal")
    journal = open_journal(tmp_path)
    names = [f'file "{number}" 好' for number in range(5)]
    ends = []
    for number, name in enumerate(names):
        journal.add(name, number, '"tag"')
        ends.append((tmp_path / "files").stat().st_size)
    journal.close()
    os.truncate(tmp_path / "files", min(cut, ends[-1]))

    again = open_journal(tmp_path)
    assert [again.has(name, number, '"tag"') for number, name in enumerate(names)] == [end <= cut for end in ends]
    again.add("later", 9, '"tag"')
    again.close()

    last = open_journal(tmp_path)
    assert last.has("later", 9, '"tag"') and len(last) == sum(end <= cut for end in ends) + 1
    last.close()


def test_the_later_of_two_lines_counts(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    for tag in ("one", "two", "one", "three"):
        journal.add("a", 1, tag)
    journal.close()
    again = open_journal(tmp_path)
    assert [again.has("a", 1, tag) for tag in ("one", "two", "three")] == [False, False, True]
    again.close()


@pytest.mark.parametrize("line", [b"\xff\xfe\n", b"{}\n", b'["a",1]\n', b"\n", b"\0\0\0\0\n"])
def test_a_spoilt_line_is_passed_over(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "files").write_bytes(b'["a",1,"x"]\n' + line + b'["b",2,"y"]\n')
    journal = open_journal(tmp_path)
    assert journal.has("a", 1, "x") and journal.has("b", 2, "y")
    journal.close()


@pytest.mark.parametrize(
    ("count", "kilobytes"), [(100_000, 50_000), pytest.param(1_000_000, 200_000, marks=pytest.mark.slow)]
)
def test_a_journal_of_many_files_takes_little_memory(tmp_path: Path, count: int, kilobytes: int) -> None:
    """In a process of its own, whose largest size is that of the journal."""
    with (tmp_path / "files").open("wb") as file:
        file.writelines(b'["train/%07d.jpg",123,"\\"%032x\\""]\n' % (number, number) for number in range(count))
    code = (
        "import os, re, sys\n"
        "from paddock.datasets.fetch.journal import Journal\n"
        "journal = Journal(os.open(sys.argv[1], os.O_RDONLY))\n"
        "there = journal.has('train/0000007.jpg', 123, '\"%032x\"' % 7)\n"
        "size = re.search('VmHWM:\\\\s+(\\\\d+)', open('/proc/self/status').read())[1]\n"
        "print(len(journal), there, size)\n"
    )
    output = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=True).stdout.split()
    assert output[:2] == [b"%d" % count, b"True"]
    assert int(output[2]) < kilobytes, output[2]


def test_a_file_that_was_shortened_or_removed_is_not_there(tmp_path: Path) -> None:
    target = Target(str(tmp_path))
    for name in ("a", "b", "c"):
        target.write(name, b"xyz", "one")
    os.truncate(tmp_path / "b", 1)
    (tmp_path / "c").unlink()
    assert [target.has(name, 3, "one") for name in ("a", "b", "c")] == [True, False, False]
    assert not target.has("a", 3, "two") and not target.has("a", 2, "one")
    target.close()


def test_a_part_knows_its_content_and_checksum_after_a_kill(tmp_path: Path) -> None:
    data = build_bytes(100_000)
    target = Target(str(tmp_path))
    part = target.open_part("deep/a", "sha256")
    part.begin('"one"')
    part.append(data[:60_000])
    part.close()  # as the end of a process does; nothing else is written at an end
    target.close()

    target = Target(str(tmp_path))
    part = target.open_part("deep/a", "sha256")
    assert (part.size, part.identity) == (60_000, '"one"')
    part.append(data[60_000:])
    assert part.digest() == hashlib.sha256(data).hexdigest()
    target.keep(part)
    part.close()
    assert (tmp_path / "deep/a").read_bytes() == data
    assert os.listdir(tmp_path / ".paddock/parts") == []
    assert target.has("deep/a", len(data), '"one"')
    target.close()


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    """Pods on a cluster have users of their own."""
    target = Target(str(tmp_path))
    target.write("deep/a", b"x", "one")
    target.close()
    assert (tmp_path / "deep/a").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o755


def test_one_process_fills_a_target(tmp_path: Path) -> None:
    target = Target(str(tmp_path))
    with pytest.raises(FetchError, match="another process fetches into") as problem:
        Target(str(tmp_path))
    assert problem.value.fault == Fault.MACHINE
    target.close()
    Target(str(tmp_path)).close()


class TestDisk:
    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        """A file system of 24 MiB."""
        place = tmp_path / "disk"
        place.mkdir()
        mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], capture_output=True)
        if mounting.returncode != 0:
            lack("mount", "is not allowed here: a small file system cannot be made")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)

    async def test_what_has_no_room_is_not_begun(self, small_disk: Path) -> None:
        async with serve(Server(data=bytes(30 << 20))) as server:
            end = await must_fail(Request(uri=server.url(), target=str(small_disk / "t")))
        assert end.fault == Fault.MACHINE
        assert "needs 31 MB, and 25 MB are free on its disk" in end.message
        assert server.sent < 16 << 20, "of 30 MiB, what the sockets take in"

    async def test_a_disk_that_fills_under_way_is_told_and_goes_on_later(self, small_disk: Path) -> None:
        data = build_bytes(20 << 20)
        (small_disk / "other").write_bytes(bytes(10 << 20))
        async with serve(Server(data=data, length=False)) as server:
            request = Request(uri=server.url(), target=str(small_disk / "t"))
            end = await must_fail(request)
            assert end.fault == Fault.MACHINE
            assert end.message == f"{request.target}: the disk is full: free some space; what was fetched is kept"
            (small_disk / "other").unlink()
            sent = server.sent
            code, _ = await (await start(request)).end()
        assert code == 0
        assert (small_disk / "t/words.bin").read_bytes() == data
        assert server.sent - sent < len(data)

    async def test_a_file_larger_than_this_process_may_write_is_told(self, tmp_path: Path) -> None:
        child = "import resource as r, runpy; r.setrlimit(r.RLIMIT_FSIZE, (100_000, 100_000));"
        async with serve(Server(data=bytes(500_000))) as server:
            request = Request(uri=server.url(), target=str(tmp_path / "t"))
            code, end = await (
                await start(request, code=child + "runpy.run_module('paddock.datasets.fetch', run_name='__main__')")
            ).end()
        assert (code, end.fault) == (1, Fault.MACHINE)
        assert "larger than this machine allows" in end.message

    async def test_a_target_that_cannot_be_made_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        end = await must_fail(Request(uri="http://127.0.0.1:9/x", target=str(tmp_path / "file/t")))
        assert isinstance(end, Failed) and end.fault == Fault.MACHINE
        assert "file/t: Not a directory" in end.message
