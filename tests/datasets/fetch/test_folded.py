"""What a pod leaves in a claim: the files, and one hidden file, from which the next pod goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from datasets.fetch.calls import start
from datasets.fetch.web import Server, build_bytes, serve
from paddock.datasets.fetch.folded import fold, unfold
from paddock.datasets.fetch.names import find_problem
from paddock.datasets.fetching import Fetched, Report, Request

DATA = build_bytes(200_000)


async def fetch_as_pod(request: Request) -> tuple[int, Report]:
    variable = msgspec.json.encode(request).decode()
    return await (await start(None, {"PADDOCK_FETCH": variable})).end()


@pytest.mark.slow
async def test_a_pod_leaves_no_directory_of_its_own_and_the_next_round_asks_for_nothing_again(tmp_path: Path) -> None:
    """A loader that takes each directory for a class finds none that is not of the source."""
    async with serve(Server(data=DATA)) as server:
        for round_ in range(3):
            request = Request(uri=server.url(), target=str(tmp_path), round=round_)
            code, end = await fetch_as_pod(request)
            assert (code, end) == (0, Fetched(size=len(DATA), files=1, fetched=end.fetched, revision='"one"'))
            assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == []
            assert sorted(each.name for each in tmp_path.iterdir()) == [".paddock", "words.bin"]
        assert server.sent == len(DATA)


def prepare(root: Path) -> None:
    (root / ".paddock" / "parts").mkdir(parents=True)
    (root / ".paddock" / "files").write_text("known")


def spoil_part(root: Path) -> None:
    """Killed while the archive was written."""
    prepare(root)
    (root / ".paddock.part").write_bytes(b"half")


def lose_directory(root: Path) -> None:
    """Killed while the directory was removed, beside the whole archive."""
    prepare(root)
    fold(str(root))
    (root / ".paddock").rename(root / ".paddock.new")
    (root / ".paddock" / "parts").mkdir(parents=True)


def unpack_half(root: Path) -> None:
    """Killed while the archive was unpacked."""
    prepare(root)
    fold(str(root))
    (root / ".paddock.rest").mkdir()


def unpack_whole(root: Path) -> None:
    """Killed when it was unpacked, before the archive was gone."""
    prepare(root)
    shutil.copytree(root / ".paddock", root / ".paddock.open")
    fold(str(root))


def unpack_and_remove(root: Path) -> None:
    """Killed when it was unpacked and the archive was gone."""
    prepare(root)
    (root / ".paddock").rename(root / ".paddock.open")


def fold_well(root: Path) -> None:
    prepare(root)
    fold(str(root))


@pytest.mark.parametrize(
    "leave", [prepare, fold_well, spoil_part, lose_directory, unpack_half, unpack_whole, unpack_and_remove]
)
def test_nothing_that_is_known_is_lost_whenever_a_pod_is_killed(leave: Callable[[Path], None], tmp_path: Path) -> None:
    leave(tmp_path)
    unfold(str(tmp_path))
    assert (tmp_path / ".paddock" / "files").read_text() == "known"
    fold(str(tmp_path))
    assert (tmp_path / ".paddock").is_file()
    unfold(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == [".paddock"]


def test_an_archive_that_is_spoilt_and_one_that_is_not_there_are_none(tmp_path: Path) -> None:
    unfold(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".paddock").write_bytes(b"no archive")
    unfold(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".paddock", ".paddock/x", ".paddock.new", ".paddock.open/files"])
def test_no_source_can_write_what_is_known(name: str) -> None:
    assert "is the name of Paddock's own directory" in str(find_problem(name))
    assert find_problem(name.replace(".paddock", ".paddocks")) is None
    assert find_problem(f"below/{name}") is None
