"""A bundle comes from a stranger: each way in which it can be none is one sentence, and nothing of it is written."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.bundles import archive
from paddock.app.bundles.archive import BadBundle, pack, unpack
from paddock.app.bundles.contents import Answer, Bundle, Head, JobName, LogEntry, cut_log
from paddock.history.records import RunRecord

HEAD = Head(1, "0.1.0", 1_700_000_000.0, JobName("default", "demo", "PaddleJob", "batch.paddlepaddle.org/v1", "one"))
WHOLE = LogEntry("logs/worker-0.attempt-0.a.log", "demo-worker-0", "one", "worker", 0, 0, 6, first=6)
CUT = LogEntry(
    "logs/worker-1.attempt-0.b.log", "demo-worker-1", "one", "worker", 1, 0, 99, first=4, last=5, left_out=90
)


def build() -> Bundle:
    head = Head(1, "0.1.0", HEAD.made, HEAD.job, logs=(WHOLE, CUT), notes=("of 1 log the middle is left out",))
    pods = Answer("v1", "pods", [{"metadata": {"name": "demo-worker-0"}}])
    run = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "one", 1, 100.0)
    return Bundle(
        head, {("v1", "pods"): pods}, (run,), {"/a": {"b": 1}}, {WHOLE.file: b"a\nb\nc\n", CUT.file: b"one\nlast\n"}
    )


def test_what_is_packed_is_what_is_read() -> None:
    bundle = build()
    content = pack(bundle, "read me")
    assert unpack(io.BytesIO(content)) == bundle
    assert pack(bundle, "read me") == content  # the same bytes


def test_a_person_sees_in_the_log_that_its_middle_is_missing() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack(build(), ""))) as tar:
        (member,) = (each for each in tar if each.name == CUT.file)
        reader = tar.extractfile(member)
        assert reader is not None
        assert reader.read() == b"one\n[paddock: here 90 bytes are left out]\nlast\n"
        assert member.mode == 0o600


def write(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for named, content in members:
            member = tarfile.TarInfo(named) if isinstance(named, str) else named
            if member.isreg():
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def head(**changes: Any) -> bytes:
    job = {"namespace": "default", "name": "demo"}
    return json.dumps({"format": 1, "paddock": "1", "made": 1.0, "job": job, **changes}).encode()


def sparse() -> bytes:
    """A file of GNU's format that says it has a terabyte, and has nothing."""
    found = member("logs/a.log", tarfile.GNUTYPE_SPARSE)
    block = bytearray(found.tobuf(tarfile.GNU_FORMAT))
    block[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return gzip.compress(bytes(block) + bytes(1024))


PODS = b'{"api_version": "v1", "plural": "pods", "items": [5]}'
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "it is damaged, or no bundle"),
    "text": (lambda: b"hello", "it is no bundle of a job"),
    "a gzip of text": (lambda: gzip.compress(b"hello" * 999), "it is damaged, or no bundle"),
    "cut off": (lambda: pack(build(), "x" * 9999)[:-200], "it is damaged, or no bundle"),
    "an empty archive": (write, "it is no bundle of a job: `paddock bundle JOB` writes one"),
    "a way up": (lambda: write(("../bundle.json", head())), "'../bundle.json' in it is no file of a bundle"),
    "a way up within": (lambda: write(("logs/../../x.log", b"")), "'logs/../../x.log' in it is no file of a bundle"),
    "a root": (lambda: write(("/etc/passwd", b"")), "'/etc/passwd' in it is no file of a bundle"),
    "another file": (lambda: write(("train.py", b"")), "'train.py' in it is no file of a bundle"),
    "a name with a line": (lambda: write(("logs/a\nb.log", b"")), "'logs/a\\nb.log' in it is no file of a bundle"),
    "a link": (lambda: write((member("bundle.json", tarfile.SYMTYPE, "/etc/passwd"), b"")), "is no regular file"),
    "a hard link": (lambda: write((member("logs/a.log", tarfile.LNKTYPE, "bundle.json"), b"")), "is no regular file"),
    "a device": (lambda: write((member("logs/a.log", tarfile.CHRTYPE), b"")), "is no regular file"),
    "a directory": (lambda: write((member("logs", tarfile.DIRTYPE), b"")), "is no regular file"),
    "a sparse file": (sparse, ""),
    "two of a name": (lambda: write(("bundle.json", head()), ("bundle.json", head())), "two files of the name"),
    "no JSON": (lambda: write(("bundle.json", b"{")), "bundle.json in it is not as Paddock writes it"),
    "a list": (lambda: write(("bundle.json", b"[]")), "bundle.json in it is not as Paddock writes it"),
    "no UTF-8": (lambda: write(("bundle.json", b'{"format": "\xff"}')), "bundle.json in it is not as Paddock"),
    "too deep": (lambda: write(("bundle.json", b"[" * 99_999)), "bundle.json in it is not as Paddock writes it"),
    "a later format": (lambda: write(("bundle.json", head(format=2, made="x"))), "a later Paddock made it (format 2"),
    "a wrong type": (lambda: write(("bundle.json", head(made="then"))), "Expected `float`, got `str` - at `$.made`"),
    "a command as name": (
        lambda: write(("bundle.json", head(job={"namespace": "default", "name": "x; reboot"}))), "none that Kubernetes"
    ),
    "a namespace with options": (
        lambda: write(("bundle.json", head(place={"local": False, "namespace": "a --x"}))), "none that Kubernetes"
    ),
    "objects of another kind": (
        lambda: write(("bundle.json", head()), ("objects/pods.json", PODS)),
        "objects/pods.json in it is not as Paddock writes it",
    ),
    "runs of another kind": (lambda: write(("bundle.json", head()), ("history.json", b'[5]')), "history.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_bundle_is_refused_by_one_sentence(name: str) -> None:
    make, said = BAD[name]
    with pytest.raises(BadBundle) as refused:
        unpack(io.BytesIO(make()))
    assert said in str(refused.value.said) and "\n" not in str(refused.value.said)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte that would be a hundred megabytes: no more is unpacked than a bundle can have."""
    bomb = write(("logs/a.log", bytes(100 << 20)))
    assert len(bomb) < 200_000
    with pytest.raises(BadBundle, match="larger than a bundle can be"):
        unpack(io.BytesIO(bomb))
    nested = gzip.compress(gzip.compress(bytes(100 << 20)))
    with pytest.raises(BadBundle, match="damaged, or no bundle"):
        unpack(io.BytesIO(nested))
    monkeypatch.setattr(archive, "PACKED_BYTES", 1000)
    with pytest.raises(BadBundle, match="larger than a bundle can be"):
        unpack(io.BytesIO(pack(build(), "".join(map(chr, range(200, 9000))))))


@pytest.mark.parametrize(("limit", "said"), [("JSON_BYTES", "larger than"), ("MEMBERS", "more files than")])
def test_what_is_kept_in_memory_is_bounded(limit: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = pack(build(), "read me")
    monkeypatch.setattr(archive, limit, 3)
    with pytest.raises(BadBundle, match=said):
        unpack(io.BytesIO(content))


def test_a_file_that_says_it_is_larger_than_it_is_is_cut_off() -> None:
    """The header is another's word: what it says is never taken as memory."""
    found = tarfile.TarInfo("logs/a.log")
    found.size = 1 << 40
    with pytest.raises(BadBundle, match="larger than"):
        unpack(io.BytesIO(gzip.compress(found.tobuf(tarfile.GNU_FORMAT))))
    found.size = 1 << 20
    with pytest.raises(BadBundle):
        unpack(io.BytesIO(gzip.compress(found.tobuf(tarfile.GNU_FORMAT) + bytes(512))))


@given(st.binary(max_size=400), st.integers(0, 4000))
def test_damage_anywhere_is_no_crash(noise: bytes, place: int) -> None:
    content = bytearray(pack(build(), "read me"))
    place %= len(content)
    content[place : place + len(noise)] = noise
    try:
        unpack(io.BytesIO(bytes(content)))
    except BadBundle:
        pass


@given(st.binary(max_size=300), st.integers(0, 60), st.integers(0, 60))
def test_a_log_is_cut_at_lines_and_the_gap_is_counted(text: bytes, first: int, last: int) -> None:
    begin, end, left_out = cut_log(text, first, last)
    assert len(begin) + left_out + len(end) == len(text)
    assert text.startswith(begin) and text.endswith(end)
    if left_out:
        assert len(begin) <= first and len(end) <= last
    else:
        assert begin + end == text or (begin, end) == (text, b"")


@given(st.lists(st.sampled_from([b"a\n", b"bcd\n", b"\n"]), max_size=99).map(b"".join))
def test_each_part_has_whole_lines(text: bytes) -> None:
    begin, _, left_out = cut_log(text, 20, 20)
    if left_out:
        assert begin.endswith(b"\n") and text[len(begin) + left_out - 1 :][:1] == b"\n"
