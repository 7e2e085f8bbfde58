"""Who gives way, as a table, and what holds whatever happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.serving.open_files import choose_limit, count_connections
from paddock.serving.places import Phase, Places

HEAD, BODY, IDLE, STALLED, ANSWERED = Phase
SECONDS = {HEAD: 10.0, BODY: 30.0}
LOOPBACKS = ("127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.3", "::ffff:7f01:203")


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([], None),
        ([("a", "10.0.0.1", ANSWERED), ("b", "10.0.0.1", ANSWERED)], None),
        ([("a", "10.0.0.1", HEAD), ("b", "10.0.0.1", HEAD)], "a"),
        ([("a", "10.0.0.1", ANSWERED), ("b", "10.0.0.1", IDLE)], "b"),
        ([("a", "10.0.0.1", IDLE), ("b", "10.0.0.1", HEAD)], "a"),
        ([("a", "10.0.0.1", BODY), ("b", "10.0.0.1", STALLED), ("c", "10.0.0.1", HEAD)], "a"),
        ([("a", "10.0.0.1", HEAD), ("b", "10.0.0.2", HEAD), ("c", "10.0.0.2", HEAD)], "b"),
        ([("a", "10.0.0.1", HEAD), ("b", "10.0.0.2", ANSWERED), ("c", "10.0.0.2", ANSWERED)], "a"),
        ([("a", "10.0.0.1", HEAD), ("b", "10.0.0.2", HEAD)], "a"),
        ([("a", "10.0.0.1", HEAD), ("b", "127.0.0.1", HEAD), ("c", "127.9.8.7", HEAD)], "b"),
        ([("a", "127.0.0.1", HEAD), ("b", "127.0.0.1", HEAD), *((each, each, HEAD) for each in LOOPBACKS)], "a"),
        ([("a", "10.0.0.1", HEAD), ("b", "2001:db8::1", HEAD), ("c", "2001:db8::2:3:4:5", HEAD)], "b"),
        ([("a", "2001:db8::1", HEAD), ("b", "2001:db8:0:1::1", HEAD), ("c", "2001:db8:0:1::2", HEAD)], "b"),
    ],
    ids=[
        "nobody is there",
        "all are being answered",
        "the one that waits longest",
        "not one that is being answered",
        "whatever it waits for",
        "also with bodies and readers",
        "of the address that has most",
        "what is being answered counts for no address",
        "of two addresses that have as many, who waits longest",
        "all of 127.0.0.0/8 are one",
        "whichever address of this machine it is",
        "an IPv6 network is one",
        "two IPv6 networks are two",
    ],
)
def test_who_gives_way(held: list[tuple[str, str, Phase]], expected: str | None) -> None:
    places = Places[str](10, SECONDS)
    for now, (who, address, phase) in enumerate(held):
        places.take(who, address, now)
        places.move(who, phase, now)
    assert places.find_yielding() == expected


@pytest.mark.parametrize(("own", "expected"), [(4, "0"), (5, "own 0")])
def test_who_has_few_connections_is_not_singled_out_by_one_who_has_many_addresses(own: int, expected: str) -> None:
    places = Places[str](64, SECONDS)
    for each in range(64 - own):
        places.take(str(each), f"10.0.0.{each}", each)
    for each in range(own):
        places.take(f"own {each}", "10.1.1.1", 64 + each)
    assert places.full
    assert places.find_yielding() == expected


def test_who_is_late_and_when_the_next_one_is() -> None:
    places = Places[str](10, SECONDS)
    assert places.find_next_end() is None
    for now, phase in enumerate([HEAD, BODY, IDLE, STALLED, ANSWERED]):
        places.take(phase.name, "10.0.0.1", now)
        places.move(phase.name, phase, now)
    assert places.find_next_end() == 10
    assert places.find_late(9.9) == []
    assert places.find_late(10) == ["HEAD"]
    assert places.find_late(1e9) == ["HEAD", "BODY"]
    places.leave("HEAD")
    assert places.find_next_end() == 31
    places.move("BODY", BODY, 20)
    assert places.find_next_end() == 50


def test_one_that_has_given_way_is_not_taken_back() -> None:
    places = Places[str](1, SECONDS)
    places.take("a", "10.0.0.1", 0)
    places.leave("a")
    places.move("a", ANSWERED, 1)
    places.leave("a")
    assert (len(places), places.full) == (0, False)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["10.0.0.1", "10.0.0.2", "::1"]), st.sampled_from([None, *Phase])),
        max_size=60,
    )
)
def test_whoever_gives_way_waits_and_there_is_one_as_long_as_somebody_waits(
    steps: list[tuple[int, str, Phase | None]],
) -> None:
    places, phases = Places[int](10, SECONDS), dict[int, Phase]()
    for now, (who, address, phase) in enumerate(steps):
        if phase is None:
            places.leave(who)
            phases.pop(who, None)
        elif who in phases:
            places.move(who, phase, now)
            phases[who] = phase
        else:
            places.take(who, address, now)
            phases[who] = HEAD
        found = places.find_yielding()
        waiting = {each for each, phase in phases.items() if phase is not ANSWERED}
        assert len(places) == len(phases)
        assert found in waiting if waiting else found is None


@pytest.mark.parametrize(
    ("soft", "hard", "limit"),
    [(1024, 4096, 4096), (1024, 1024, 1024), (1024, -1, 65_536), (1024, 2**30, 65_536), (10**6, 2**30, 10**6),
     (-1, -1, -1)],
)  # fmt: skip
def test_the_limit_of_open_files_is_never_lowered_and_raised_to_what_is_of_use(
    soft: int, hard: int, limit: int
) -> None:
    assert choose_limit(soft, hard) == limit


@pytest.mark.parametrize(("files", "connections"), [(20, 16), (256, 64), (1024, 256), (65_536, 1000), (-1, 1000)])
def test_connections_leave_files_for_the_process_itself(files: int, connections: int) -> None:
    assert count_connections(files) == connections
