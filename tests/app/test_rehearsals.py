"""The directories of a rehearsal's volumes: copied, private, and gone afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paddock.app.home import Home
from paddock.app.rehearsals import Uncopied, fill, make_directory, measure, place_of
from paddock.kube.rehearsals import without_random_names
from paddock.submission.rehearsed_pods import Replaced


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", tmp_path / "cache")


def test_a_directory_is_private_and_gone_afterwards(home: Home) -> None:
    with make_directory(home) as directory:
        assert directory.stat().st_mode & 0o077 == 0
        (directory / "data").mkdir()
    assert list(place_of(home).iterdir()) == []


def test_the_history_knows_the_directory_of_a_volume_by_its_path(home: Home) -> None:
    with make_directory(home) as directory:
        spec = {"volumes": [{"name": "data", "hostPath": {"path": f"{directory}/data"}}]}
    own = {"volumes": [{"name": "data", "hostPath": {"path": "rehearsals/data"}}]}
    assert without_random_names("resnet-rehearsal", spec) == own
    assert without_random_names("resnet", spec) == spec


def test_what_a_killed_command_left_is_removed_and_what_another_uses_stays(home: Home) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    place_of(home).mkdir(parents=True)
    for name in (f"{ended.pid}-x", f"{os.getpid()}-y", "other"):
        (place_of(home) / name).mkdir()
    with make_directory(home):
        assert not (place_of(home) / f"{ended.pid}-x").exists()
    assert {each.name for each in place_of(home).iterdir()} == {f"{os.getpid()}-y", "other"}


def test_a_name_that_is_no_process_of_ours_stops_nobody(home: Home) -> None:
    (place_of(home) / ("9" * 200 + "-x")).mkdir(parents=True)
    with make_directory(home) as directory:
        assert directory.is_dir()


def test_a_copy_of_any_depth_and_modes_is_removed(home: Home) -> None:
    """Deeper than Python recurses; root, who may run this test, needs no modes."""
    with make_directory(home) as directory:
        here = os.open(directory, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("deep", dir_fd=here)
            below = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.fchmod(here, 0o555)
            os.close(here)
            here = below
        os.close(here)
    assert list(place_of(home).iterdir()) == []


def build_volumes(tmp_path: Path, *names: str) -> list[Replaced]:
    return [Replaced(name, f"hostPath /{name}", str(tmp_path / "own" / name), ()) for name in names]


def test_a_volume_has_a_copy_and_one_without_data_is_empty(tmp_path: Path) -> None:
    source = tmp_path / "small"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "a.txt").write_text("a")
    (source / "deep" / "run").touch(mode=0o755)
    (source / "deep").chmod(0o555)
    fill(build_volumes(tmp_path, "one", "two"), {"hostPath /one": source})
    copied = tmp_path / "own" / "one" / "deep"
    assert copied.stat().st_mode & 0o777 == 0o555 and os.access(copied / "run", os.X_OK)
    (copied / "a.txt").write_text("changed")
    assert (source / "deep" / "a.txt").read_text() == "a"
    assert list((tmp_path / "own" / "two").iterdir()) == []


def test_what_links_lead_to_is_copied_so_that_nothing_is_written_by_them(tmp_path: Path) -> None:
    """As a snapshot of Hugging Face's cache has them, whose files lie outside it."""
    snapshot, blobs = tmp_path / "snapshots/main", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    (blobs / "many").mkdir(parents=True)
    (blobs / "1f").write_text("model")
    (blobs / "many/2f").write_text("words")
    (snapshot / "model.bin").symlink_to("../../blobs/1f")
    (snapshot / "again.bin").symlink_to(blobs / "1f")
    (snapshot / "first").symlink_to(blobs / "many")
    (snapshot / "second").symlink_to(blobs / "many")
    fill(build_volumes(tmp_path, "one"), {"hostPath /one": snapshot})
    own = tmp_path / "own/one"
    files = [own / "model.bin", own / "again.bin", own / "first/2f", own / "second/2f"]
    for each in files:
        each.write_text("changed")
    assert not any(each.is_symlink() for each in own.rglob("*"))
    assert (blobs / "1f").read_text() == "model" and (blobs / "many/2f").read_text() == "words"


@pytest.mark.parametrize(
    ("link", "target", "said"),
    [
        ("a", "nowhere", "a is a link to nowhere, which leads to nothing"),
        ("a", "a", "a is a link to a, which leads to nothing"),
        ("a", ".", "a is a link to ., a directory in which it lies"),
        ("deep/deeper/a", "../..", "deep/deeper/a is a link to ../.., a directory in which it lies"),
        ("a", "/dev/null", "a is neither a file nor a directory"),
    ],
)
def test_a_link_without_an_end_is_refused(tmp_path: Path, link: str, target: str, said: str) -> None:
    (tmp_path / "small/deep/deeper").mkdir(parents=True)
    (tmp_path / "small" / link).symlink_to(target)
    with pytest.raises(Uncopied) as raised:
        measure(tmp_path / "small")
    assert str(raised.value).startswith(f"{tmp_path}/small/{said}")
    with pytest.raises(Uncopied):
        fill(build_volumes(tmp_path, "one"), {"hostPath /one": tmp_path / "small"})


def test_a_copy_beneath_its_source_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    fill(build_volumes(tmp_path, "one"), {"hostPath /one": tmp_path})
    assert {each.name for each in (tmp_path / "own/one").iterdir()} == {"a.txt", "own"}


def test_a_directory_is_measured_with_what_links_lead_to_no_further_than_is_needed(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    (tmp_path / "large").write_bytes(b"x" * 10_000)
    for number in range(5):
        (small / str(number)).symlink_to(tmp_path / "large")
    assert measure(small) == 50_000
    assert 20_000 < measure(small, 20_000) <= 30_000


def test_small_files_and_directories_take_their_place_on_the_disk(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.d").mkdir()
        (tmp_path / f"{number}.d/file").touch()
    assert measure(tmp_path) == 10 * 4096
