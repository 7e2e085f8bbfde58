"""Notes and tags of runs: their bounds, and who replaces whose."""

from __future__ import annotations

import fcntl
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.history.note_files import RunGone, Stale, choose_note, read_notes, write_note
from paddock.history.notes import (
    LONGEST_TAG,
    MOST_CHARACTERS,
    MOST_TAGS,
    NOTE_ANNOTATION,
    TAGS_ANNOTATION,
    Note,
    bound,
    clean_text,
    explain_tags,
    explain_text,
    read_note,
    read_tags,
    write_annotations,
)
from paddock.history.records import Damaged, RunRecord, path_of, read_records, remove_record, write_record
from paddock.kube.described import read_owner

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "uid-1", 1, 100.0)
NOTE = Note("as yesterday\nwith a warm-up", ("baseline", "lr sweep"))


@pytest.mark.parametrize(
    ("text", "tags"),
    [("", ()), (" , ,", ()), ("a", ("a",)), ("b, a ,b", ("b", "a")), ("lr\t sweep,<b>", ("lr sweep", "<b>"))],
)
def test_tags_are_separated_by_commas_and_each_is_there_once(text: str, tags: tuple[str, ...]) -> None:
    assert read_tags(text) == tags


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ((), ""),
        (("a" * LONGEST_TAG,), ""),
        (("a" * (LONGEST_TAG + 1),), "1 to 40 characters"),
        (("",), "1 to 40 characters"),
        (("a\x1b[31m",), "no control characters"),
        (tuple(f"t{number}" for number in range(MOST_TAGS)), ""),
        (tuple(f"t{number}" for number in range(MOST_TAGS + 1)), "at most 16 tags, here are 17"),
    ],
)
def test_what_is_no_tag_is_told(tags: tuple[str, ...], said: str) -> None:
    found = explain_tags(tags)
    assert said in str(found) if said else found is None


def test_a_note_has_at_most_four_thousand_characters() -> None:
    assert explain_text("字" * MOST_CHARACTERS) is None
    assert "at most 4000 characters, this one has 4001" in str(explain_text("字" * (MOST_CHARACTERS + 1)))
    assert clean_text(" a\r\nb\rc \n") == "a\nb\nc"


@given(st.builds(Note, st.text(max_size=5_000), st.lists(st.text(max_size=60), max_size=20).map(tuple)))
def test_a_note_of_any_text_is_written_as_annotations_within_the_bounds_and_read_back(note: Note) -> None:
    kept = bound(Note(note.text, read_tags(", ".join(note.tags))))
    written = {name: value for name, value in write_annotations(kept).items() if value is not None}
    assert read_note(written) == kept
    assert explain_text(kept.text) is None and explain_tags(kept.tags) is None


def test_the_owner_is_what_the_annotation_says_cut_to_a_name() -> None:
    assert read_owner({}) == "" and read_owner({"paddock.dev/owner": " ada "}) == "ada"
    assert len(read_owner({"paddock.dev/owner": "a" * 100_000})) < 300


def test_a_note_is_kept_beside_its_record_for_its_owner_alone_and_goes_with_it(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    write_note(tmp_path, RUN, NOTE, Note().digest)
    assert read_notes(tmp_path) == read_notes(tmp_path, "default", "demo") == {"uid-1": NOTE}
    assert read_notes(tmp_path, "..", "x") == read_notes(tmp_path, "default", "other") == {}
    path = path_of(tmp_path, RUN)
    assert {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {
        "uid-1.json": 0o600, "uid-1.note": 0o600,
    }  # fmt: skip
    write_record(tmp_path, replace(RUN, phase="Completed"))  # the keeper knows nothing of notes
    assert read_notes(tmp_path) == {"uid-1": NOTE} and len(list(read_records(tmp_path))) == 1
    remove_record(tmp_path, RUN)
    assert list(tmp_path.rglob("*")) == []


def test_of_two_who_write_a_note_at_once_the_second_is_told_what_the_first_wrote(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    seen = Note().digest
    write_note(tmp_path, RUN, NOTE, seen)
    with pytest.raises(Stale) as raised:
        write_note(tmp_path, RUN, Note("mine"), seen)
    assert raised.value.now == NOTE and read_notes(tmp_path) == {"uid-1": NOTE}
    write_note(tmp_path, RUN, NOTE, seen)  # the same once more is no conflict: a button pressed twice
    write_note(tmp_path, RUN, Note("mine"), NOTE.digest)
    assert read_notes(tmp_path) == {"uid-1": Note("mine")}


def test_of_many_who_write_at_once_one_wins(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    won, told = list[str](), list[str]()

    def write(text: str) -> None:
        try:
            write_note(tmp_path, RUN, Note(text), Note().digest)
            won.append(text)
        except Stale as stale:
            told.append(stale.now.text)

    threads = [threading.Thread(target=write, args=(f"note {number}",)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(won) == 1 and told == won * 7
    assert read_notes(tmp_path) == {"uid-1": Note(won[0])}


def test_who_waits_for_another_writer_sees_what_that_one_wrote(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    place, told = path_of(tmp_path, RUN).parent, list[Note]()

    def write() -> None:
        with pytest.raises(Stale) as raised:
            write_note(tmp_path, RUN, Note("second"), Note().digest)
        told.append(raised.value.now)

    other = os.open(place, os.O_RDONLY)  # as another process has it
    fcntl.flock(other, fcntl.LOCK_EX)
    thread = threading.Thread(target=write)
    thread.start()
    thread.join(0.2)  # it waits for the other one however long that takes
    assert thread.is_alive()
    (place / "uid-1.note").write_text('{"text": "first"}')
    os.close(other)
    thread.join()
    assert told == [Note("first")] and read_notes(tmp_path) == {"uid-1": Note("first")}


def test_the_note_of_the_manifest_counts_until_somebody_writes_another(tmp_path: Path) -> None:
    run = replace(RUN, annotations={NOTE_ANNOTATION: "from the file", TAGS_ANNOTATION: "a,b"})
    assert choose_note(run, None) == Note("from the file", ("a", "b"))
    write_record(tmp_path, run)
    with pytest.raises(Stale):
        write_note(tmp_path, run, NOTE, Note().digest)
    write_note(tmp_path, run, Note(), choose_note(run, None).digest)
    assert choose_note(run, read_notes(tmp_path)["uid-1"]) == Note()


def test_of_a_run_that_is_pruned_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RunGone):
        write_note(tmp_path, RUN, NOTE, Note().digest)
    write_record(tmp_path, replace(RUN, uid="other"))
    with pytest.raises(RunGone):
        write_note(tmp_path, RUN, NOTE, Note().digest)
    assert read_notes(tmp_path) == {}


class PrunedMeanwhile(str):
    """The digest that a writer has seen, by the look at which the run is pruned."""

    run: RunRecord
    directory: Path

    def __eq__(self, other: object) -> bool:
        remove_record(self.directory, self.run)
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_of_a_run_that_is_pruned_while_a_note_is_written_nothing_is_left(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    write_record(tmp_path, replace(RUN, uid="other"))  # so that their directory stays
    seen = PrunedMeanwhile(Note().digest)
    seen.run, seen.directory = RUN, tmp_path
    with pytest.raises(RunGone):
        write_note(tmp_path, RUN, NOTE, seen)
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["other.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"text": 3}', b"\xff", b"[" * 100_000, b" " * 70_000])
def test_a_damaged_note_is_told_and_replaced_by_the_next(tmp_path: Path, content: bytes) -> None:
    write_record(tmp_path, RUN)
    path = path_of(tmp_path, RUN).with_suffix(".note")
    path.write_bytes(content)
    assert isinstance(read_notes(tmp_path)["uid-1"], Damaged)
    write_note(tmp_path, RUN, NOTE, Note().digest)
    assert read_notes(tmp_path) == {"uid-1": NOTE}


def test_a_link_and_a_pipe_in_place_of_a_note_are_no_notes(tmp_path: Path) -> None:
    write_record(tmp_path, RUN)
    place = path_of(tmp_path, RUN).parent
    (tmp_path / "secret").write_text('{"text": "secret"}')
    (place / "uid-1.note").symlink_to(tmp_path / "secret")
    os.mkfifo(place / "uid-2.note")
    assert all(isinstance(each, Damaged) for each in read_notes(tmp_path).values())
    write_note(tmp_path, RUN, NOTE, Note().digest)
    assert (tmp_path / "secret").read_text() == '{"text": "secret"}' and not (place / "uid-1.note").is_symlink()
