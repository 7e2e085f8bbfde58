"""Layers: the same files are the same bytes, and any archive can be read or is told to be unreadable."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.images.layers import Entry, Stopped, read_layer, write_layer
from paddock.images.packages import start_by_name


def make(place: Path, *names: str) -> list[Entry]:
    entries = []
    for name in names:
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
        entries.append(Entry(f"paddock/workdir/{name}", file, executable=name.endswith(".sh")))
    return entries


def test_the_same_files_give_the_same_bytes_whatever_their_times_and_order(tmp_path: Path) -> None:
    names = ("train.py", "pkg/a.py", "run.sh", f"long/{'x' * 200}/名.txt")
    first = write_layer(tmp_path / "1.tar.gz", make(tmp_path / "a", *names))
    entries = make(tmp_path / "b", *reversed(names))
    for entry in entries:
        assert entry.source is not None
        os.utime(entry.source, (5, 5))
        entry.source.chmod(0o600)
    second = write_layer(tmp_path / "2.tar.gz", entries)
    assert (first.digest, first.diff_id, first.size) == (second.digest, second.diff_id, second.size)
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()


def test_a_layer_has_directories_before_files_and_nothing_of_this_machine(tmp_path: Path) -> None:
    link = Entry("paddock/packages/lib/x.so", link="x.so.1")
    made = Entry("paddock/packages/bin/prog", content=b"#!x", executable=True)
    written = write_layer(tmp_path / "l.tar.gz", [*make(tmp_path, "b.py", "a/run.sh"), link, made])
    with tarfile.open(written.file) as archive:
        members = archive.getmembers()
    assert [(each.name, oct(each.mode)) for each in members] == [
        ("paddock", "0o755"),
        ("paddock/packages", "0o755"),
        ("paddock/packages/bin", "0o755"),
        ("paddock/packages/bin/prog", "0o755"),
        ("paddock/packages/lib", "0o755"),
        ("paddock/packages/lib/x.so", "0o777"),
        ("paddock/workdir", "0o755"),
        ("paddock/workdir/a", "0o755"),
        ("paddock/workdir/a/run.sh", "0o755"),
        ("paddock/workdir/b.py", "0o644"),
    ]
    assert {(each.mtime, each.uid, each.gid, each.uname) for each in members} == {(0, 0, 0, "")}


def test_a_changed_byte_is_another_digest(tmp_path: Path) -> None:
    entries = make(tmp_path, "a.py")
    first = write_layer(tmp_path / "1.tar.gz", entries)
    (tmp_path / "a.py").write_text("a.pz")
    assert write_layer(tmp_path / "2.tar.gz", entries).digest != first.digest


def test_writing_ends_where_nobody_waits(tmp_path: Path) -> None:
    def stop(size: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        write_layer(tmp_path / "1.tar.gz", make(tmp_path, "a.py"), count=stop)


def pack(*entries: tuple[str, bytes], links: tuple[tuple[str, str, bytes], ...] = ()) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in entries:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
        for name, target, kind in links:
            header = tarfile.TarInfo(name)
            header.type, header.linkname = kind, target
            archive.addfile(header)
    return out.getvalue()


PYTHON = pack(
    ("./usr/bin/python3.11", b"x"),
    ("etc/os-release", b"ID=debian\n"),
    ("usr/bin/.wh.old", b""),
    links=(
        ("usr/bin/python", "python3.11", tarfile.SYMTYPE),
        ("usr/bin/python3", "usr/bin/python3.11", tarfile.LNKTYPE),
    ),
)


@pytest.mark.parametrize("packed", [PYTHON, gzip.compress(PYTHON)], ids=["plain", "gzip"])
def test_a_layer_tells_what_its_names_are(tmp_path: Path, packed: bytes) -> None:
    (tmp_path / "layer").write_bytes(packed)
    contents = read_layer(tmp_path / "layer")
    assert contents is not None
    assert contents.links == {
        "usr/bin/python3.11": "", "usr/bin/python": "python3.11", "usr/bin/python3": "/usr/bin/python3.11",
    }  # fmt: skip
    assert contents.releases == {"etc/os-release": "ID=debian\n"}
    assert contents.hidden == ["usr/bin/old"]


def test_reading_ends_in_the_middle_of_an_entry_where_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "layer").write_bytes(pack(("data", bytes(2**20)), ("usr/bin/python3.11", b"x")))
    turns = iter([True] * 20)
    with pytest.raises(Stopped):
        read_layer(tmp_path / "layer", lambda: next(turns, False))
    assert next(turns, False) is False


def test_a_layer_of_nothing_but_what_is_kept_is_not_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "usr/lib/python3/site-packages"
    layer = pack(*((f"{place}/p{number}.dist-info/METADATA", b"x" * 1000) for number in range(20)))
    (tmp_path / "layer").write_bytes(layer)
    assert read_layer(tmp_path / "layer") is not None
    monkeypatch.setattr("paddock.images.layers._MOST_TOLD", 10_000)
    assert read_layer(tmp_path / "layer") is None


def build_huge_header() -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 2**40
    return header.tobuf() + b"0" * 4096


@pytest.mark.parametrize(
    "packed",
    [b"\x28\xb5\x2f\xfd zstd", b"", build_huge_header()],
    ids=["zstd", "empty", "a header of 1 TiB"],
)
def test_what_cannot_be_read_is_unknown(tmp_path: Path, packed: bytes) -> None:
    (tmp_path / "layer").write_bytes(packed)
    contents = read_layer(tmp_path / "layer")
    assert contents is None or contents.links == {}, "an archive without entries may be read as none"


@given(st.binary(max_size=200), st.integers(0, 300))
def test_bytes_of_any_sort_raise_nothing(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    file = tmp_path_factory.getbasetemp() / "noise"
    packed = gzip.compress(PYTHON)
    file.write_bytes(packed[:at] + noise + packed[at + len(noise) :])
    read_layer(file)


@pytest.mark.parametrize(
    ("script", "begun"),
    [
        (b"#!/venv/bin/python\nimport x\n", b"#!/usr/bin/env python3\nimport x\n"),
        (
            b"#!/bin/sh\n'''exec' '/venv/bin/python' \"$0\" \"$@\"\n' '''\nimport x\n",
            b"#!/usr/bin/env python3\nimport x\n",
        ),
        (b"#!/usr/bin/perl\n", None),
        (b"#!/venv/bin/python3.12-other\n", b"#!/usr/bin/env python3\n"),
        (b"\x7fELF", None),
    ],
)
def test_a_program_begins_with_the_python_of_the_image(script: bytes, begun: bytes | None) -> None:
    assert start_by_name(script, "/venv/bin/python") == begun
