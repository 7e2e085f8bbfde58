"""Which log gives way when there is no room for all, as a table, and what no reader can do to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.consoles.spool.room import Held, Room, choose_yielding

HERE = ("ada", "ben")


def of(readers: str, size: int, beside: int = 0, *, copied: bool = True, ended: bool = False) -> Held:
    return Held(frozenset(readers.split()), size, beside, copied, ended)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({}, ""),
        ({"a": of("ada", 0, 4)}, ""),
        ({"a": of("ada", 1), "b": of("ada", 2)}, "ba"),
        ({"a": of("ada", 5), "b": of("ben", 3), "c": of("ben", 3)}, "bc"),
        ({"a": of("ada", 5), "b": of("ben", 3), "c": of("ben", 4)}, "cb"),
        ({"a": of("ada", 9), "b": of("eve", 1), "c": of("", 2)}, "cb"),
        ({"a": of("ada", 9), "b": of("eve", 0)}, "a"),
        ({"a": of("ada", 9), "b": of("ada", 1, copied=False, ended=True), "c": of("ben", 9, ended=True)}, "ba"),
        ({name: of("ada", 4 - at, 1, copied=False, ended=True) for at, name in enumerate("abcde")}, "abcde"),
        ({"a": of("", 0, 4, copied=False), "b": of("", 1)}, "ba"),
        ({"a": of("ada ben", 6), "b": of("ben", 3), "c": of("ben", 1)}, "a"),
        ({"a": of("ada ben", 6), "b": of("ada", 3), "c": of("ben", 10)}, "c"),
        ({"a": of("ada eve", 6), "b": of("ben", 7)}, "b"),
    ],
    ids=[
        "no log",
        "nothing is copied yet",
        "the largest log of the only reader",
        "of the reader who has most, not the largest of all",
        "the largest of that reader",
        "of those who have left before of those who are here",
        "but for what is empty",
        "of that reader what has ended before what goes on",
        "the oldest first, those without lines last",
        "what is left of a log of nobody after its lines and those of others",
        "a log of two is the log of who takes less, all that they look at counted",
        "so the other one gives way with another",
        "who has left takes nothing",
    ],
)
def test_who_gives_way(held: dict[str, Held], expected: str) -> None:
    assert "".join(choose_yielding(held, HERE)) == expected


MOST, EACH = 4_096, 1_024


READERS = ("ada", "ben", "eve")
GROWTH = st.tuples(
    st.sets(st.sampled_from(READERS), min_size=1), st.integers(0, 4), st.integers(1, 400), st.integers(0, 9)
)


@given(st.lists(GROWTH, max_size=200))
def test_a_reader_below_an_equal_share_never_loses_a_line(steps: list[tuple[set[str], int, int, int]]) -> None:
    """Whoever looks at a log, and whatever has ended."""
    room, sizes, looks = Room[int](MOST, EACH), dict[int, int](), dict[int, set[str]]()
    for reader in READERS:
        room.enter(reader)
    for readers, number, bytes_, ends in steps:
        room.hold(number, min(readers), sizes.get(number, 0))
        for reader in readers:
            room.share(number, reader)
        looks[number] = looks.get(number, set()) | readers
        sizes[number] = min(EACH, sizes.get(number, 0) + bytes_)
        room.resize(number, sizes[number])
        if ends == 0:
            room.stop(number, sizes[number], ended=True)
        while found := room.find_yielding():
            at_once = sum(sizes.values()) - MOST + room.step
            for log, kept in found:
                for reader in looks[log]:
                    taken = sum(size for each, size in sizes.items() if reader in looks[each])
                    assert taken >= MOST / 3 - at_once
                assert kept is not None and kept < sizes[log]
                sizes[log] = kept
                room.resize(log, kept)
        assert sum(sizes.values()) == room.taken <= MOST


def test_what_gave_way_goes_on_when_a_sixteenth_of_the_room_is_free() -> None:
    room = Room[str](MOST, EACH)
    room.hold("a", "ada", MOST - 257)
    assert room.may_go_on(0)
    room.resize("a", MOST - 255)
    assert not room.may_go_on(0)
    room.drop("a")
    assert room.may_go_on(0) and not room.may_go_on(EACH - room.step)


def test_what_gave_way_goes_on_where_logs_that_have_ended_make_room_for_it_and_no_other_is_cut() -> None:
    room = Room[str](MOST, EACH)
    for reader in HERE:
        room.enter(reader)
    room.hold("a", "ada", MOST - 400)
    room.hold("old", "ben", 400)
    room.stop("old", 400, ended=True)
    assert not room.may_go_on(0)  # the log of ada, who has most, would be cut
    room.leave("ben")
    assert room.may_go_on(0)
    room.resize("a", MOST - 400 + 200)
    assert not room.may_go_on(0)


def test_a_reader_with_two_tokens_is_here_until_both_have_gone() -> None:
    room = Room[str](10, EACH)
    for reader in ("ada", "ada", "ben"):
        room.enter(reader)
    room.hold("a", "ada", 6)
    room.hold("b", "ben", 8)
    room.leave("ada")
    assert room.find_yielding() == [("b", 0)]
    room.leave("ada")
    assert room.find_yielding() == [("a", 0)]


def test_what_is_left_beside_logs_without_a_line_takes_room_and_goes_as_a_whole() -> None:
    room = Room[int](100, EACH, beside=10)
    for number in range(11):
        room.hold(number, "ada", 0, more=number)
        room.stop(number, 0, ended=True)
    gone = [log for log, kept in room.find_yielding() if kept is None]
    assert gone == [0, 1, 2, 3, 4, 5, 6]  # of 165 bytes 65 are above, and a step of 16
