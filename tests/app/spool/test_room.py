"""Which log gives way when there is no room for all, as a table, and what no reader can do to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.app.consoles.spool.room import Held, Room, choose_yielding

HERE = ("ada", "ben")


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({}, None),
        ({"a": Held("ada", 0)}, None),
        ({"a": Held("ada", 1), "b": Held("ada", 2)}, "b"),
        ({"a": Held("ada", 5), "b": Held("ben", 3), "c": Held("ben", 3)}, "b"),
        ({"a": Held("ada", 5), "b": Held("ben", 3), "c": Held("ben", 4)}, "c"),
        ({"a": Held("ada", 9), "b": Held("eve", 1), "c": Held("", 2)}, "c"),
        ({"a": Held("ada", 9), "b": Held("eve", 0)}, "a"),
    ],
    ids=[
        "no log",
        "nothing is copied yet",
        "the largest log of the only reader",
        "of the reader who has most, not the largest of all",
        "the largest of that reader",
        "of those who have left before of those who are here",
        "but for what is empty",
    ],
)
def test_who_gives_way(held: dict[str, Held], expected: str | None) -> None:
    assert choose_yielding(held, HERE) == expected


MOST, EACH = 4_096, 1_024


GROWTH = st.tuples(st.sampled_from(["ada", "ben", "eve"]), st.integers(0, 4), st.integers(1, 400))


@given(st.lists(GROWTH, max_size=200))
def test_a_reader_below_an_equal_share_never_loses_a_line(steps: list[tuple[str, int, int]]) -> None:
    room, sizes = Room[tuple[str, int]](MOST, EACH), dict[tuple[str, int], int]()
    for reader in ("ada", "ben", "eve"):
        room.enter(reader)
    for reader, number, bytes_ in steps:
        log = (reader, number)
        if log not in sizes:
            room.hold(log, reader, 0)
        sizes[log] = min(EACH, sizes.get(log, 0) + bytes_)
        room.resize(log, sizes[log])
        while found := room.find_yielding():
            yielding, kept = found
            taken = sum(size for (owner, _), size in sizes.items() if owner == yielding[0])
            assert taken >= MOST / 3 and kept < sizes[yielding]
            sizes[yielding] = kept
            room.resize(yielding, kept)
        assert sum(sizes.values()) <= MOST


def test_what_gave_way_goes_on_when_a_sixteenth_of_the_room_is_free() -> None:
    room = Room[str](MOST, EACH)
    room.hold("a", "ada", MOST - 257)
    assert room.may_go_on(0)
    room.resize("a", MOST - 255)
    assert not room.may_go_on(0)
    room.drop("a")
    assert room.may_go_on(0) and not room.may_go_on(EACH - room.step)


def test_a_reader_with_two_tokens_is_here_until_both_have_gone() -> None:
    room = Room[str](10, EACH)
    for reader in ("ada", "ada", "ben"):
        room.enter(reader)
    room.hold("a", "ada", 6)
    room.hold("b", "ben", 8)
    room.leave("ada")
    assert room.find_yielding() == ("b", 0)
    room.leave("ada")
    assert room.find_yielding() == ("a", 0)
