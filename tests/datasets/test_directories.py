"""The directory of a dataset on this machine: what pods see, round after round."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from paddock.datasets.definition import Definition, read_definition
from paddock.datasets.directories import Directory, Record, build_key
from paddock.datasets.fetching import STATE_DIRECTORY


def definition(**spec: Any) -> Definition:
    source = {"uri": "s3://bucket/words/"} | spec.pop("source", {})
    return read_definition({"metadata": {"name": "words", "namespace": "default", "uid": "u1"},
                            "spec": {"source": source} | spec})  # fmt: skip


def directory(root: Path, **spec: Any) -> Directory:
    return Directory(root, "u1", build_key(definition(**spec)))


def fill(place: Directory, **files: str) -> None:
    """As a child process does: each file under another name first, then by a rename."""
    target = place.prepare()
    (target / STATE_DIRECTORY).mkdir(exist_ok=True)
    (target / STATE_DIRECTORY / "journal").write_text("state")
    for name, content in files.items():
        part = target / STATE_DIRECTORY / "part"
        part.write_text(content)
        part.rename(target / name)


def test_nothing_is_there_before_it_is_complete(tmp_path: Path) -> None:
    place = directory(tmp_path)
    fill(place, a="1")
    assert place.read() is None
    assert not place.final.exists()


def test_what_is_complete_is_what_pods_mount_and_says_what_it_is(tmp_path: Path) -> None:
    place = directory(tmp_path)
    fill(place, a="1")
    place.publish(Record(1, 1, "etag"))
    assert place.read() == Record(1, 1, "etag")
    assert sorted(each.name for each in place.final.iterdir()) == ["a"]
    assert (place.final / "a").stat().st_mode & 0o777 == 0o444


def test_a_new_round_begins_with_the_files_of_the_one_before_and_leaves_them_alone(tmp_path: Path) -> None:
    first, second = directory(tmp_path), directory(tmp_path, round=1)
    fill(first, same="1", changed="old")
    first.publish(Record(4, 2))
    opened = os.open(first.final, os.O_RDONLY)  # as a pod that has mounted it
    target = second.prepare()
    assert (target / "same").samefile(first.final / "same")
    assert (target / STATE_DIRECTORY / "journal").read_text() == "state"
    fill(second, changed="new")
    second.publish(Record(4, 2))
    assert (second.final / "changed").read_text() == "new"
    assert (Path(f"/proc/self/fd/{opened}") / "changed").read_text() == "old"
    os.close(opened)


def test_rounds_before_go_when_nobody_mounts_them(tmp_path: Path) -> None:
    first, second = directory(tmp_path), directory(tmp_path, round=1)
    fill(first, a="1")
    first.publish(Record(1, 1))
    fill(second, a="2")
    second.publish(Record(1, 1))
    assert not second.is_pruned
    second.prune()
    assert second.is_pruned
    assert not first.final.exists()
    assert (second.final / "a").read_text() == "2"


def test_another_source_has_another_key_and_the_same_one_the_same() -> None:
    keys = {
        build_key(definition()),
        build_key(definition(round=1)),
        build_key(definition(source={"endpoint": "https://oss.example"})),
        build_key(definition(source={"uri": "s3://bucket/others/"})),
        build_key(definition(source={"include": ["*.txt"]})),
        build_key(definition(source={"exclude": ["*.txt"]})),
    }
    assert len(keys) == 6
    assert build_key(definition()) == build_key(definition(storage={"size": "1Gi"}))


def test_a_torn_record_is_no_record(tmp_path: Path) -> None:
    place = directory(tmp_path)
    fill(place, a="1")
    place.publish(Record(1, 1))
    record = place.final.with_name(f"{place.final.name}.json")
    record.write_bytes(record.read_bytes()[:5])
    assert place.read() is None


def test_all_goes_with_the_dataset(tmp_path: Path) -> None:
    place = directory(tmp_path)
    fill(place, a="1")
    place.publish(Record(1, 1))
    place.remove()
    assert not list(tmp_path.iterdir())
