"""A directory as an archive: the same content is the same digest, and what arrives is what was looked at."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.directory_files import find_files
from paddock.cli.submit.sent_archives import build_digest, open_archive


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def digest(root: Path) -> str:
    return build_digest(root, find_files(root).files, lambda file, beginning: None)


FILES = {"train.py": b"import pkg", "pkg/mod.py": b"x = 1", "weights.bin": b"\0" * 3_000_000, "empty": b""}


def test_equal_content_has_an_equal_digest_wherever_and_whenever_it_was_written(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", FILES), write(tmp_path / "two", dict(reversed(FILES.items())))
    os.utime(two / "train.py", (1, 1))
    (two / "train.py").chmod(0o600)
    assert digest(one) == digest(two)


@pytest.mark.parametrize(
    "change",
    [{"train.py": b"import pkg "}, {"new.py": b""}, {"pkg/mod.py": b"", "pkg/mod.pyx": b"x = 1"}],
)
def test_another_content_has_another_digest(change: dict[str, bytes], tmp_path: Path) -> None:
    before = digest(write(tmp_path, FILES))
    assert digest(write(tmp_path, change)) != before


def test_what_may_be_executed_counts(tmp_path: Path) -> None:
    before = digest(write(tmp_path, FILES))
    (tmp_path / "train.py").chmod(0o755)
    assert digest(tmp_path) != before


def test_an_archive_has_the_files_and_nothing_of_this_machine(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    (root / "train.py").chmod(0o755)
    found = find_files(root)
    with open_archive(root, found.files, digest(root)) as archive:
        data = archive.file.read()
    assert (archive.size, archive.digest) == (len(data), hashlib.sha256(data).hexdigest())
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        members = opened.getmembers()
        read = {each.name: opened.extractfile(each).read() for each in members}  # type: ignore[union-attr]
    assert read == FILES
    assert {(each.uid, each.gid, each.uname, each.mtime) for each in members} == {(0, 0, "", 0)}
    assert {each.name for each in members if each.mode == 0o755} == {"train.py"}


@pytest.mark.parametrize("content", [b"other!", b"import pkg and more", b""])
def test_a_file_that_changes_while_it_is_sent_is_another_content(content: bytes, tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    found, expected = find_files(root), digest(root)
    (root / "train.py").write_bytes(content)
    with pytest.raises(Failed, match="has changed while it was sent"), open_archive(root, found.files, expected):
        pass


def test_a_file_that_goes_is_named(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    found, expected = find_files(root), digest(root)
    (root / "train.py").unlink()
    with pytest.raises(Failed, match=r"train.py cannot be sent"), open_archive(root, found.files, expected):
        pass
    with pytest.raises(UserError, match=r"train.py cannot be read"):
        build_digest(root, found.files, lambda file, beginning: None)
