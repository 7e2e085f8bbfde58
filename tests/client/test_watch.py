"""The watch as values: bytes in, lines and events out."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from paddock.client.watch import LONGEST_DELAY, Cursor, Ledger, Line, count_failures, plan_delay, plan_start
from paddock.kube.api import Event
from paddock.kube.errors import (
    ApiError,
    Expired,
    Forbidden,
    InternalError,
    NotFound,
    Timeout,
    Unauthorized,
    Unavailable,
)
from paddock.kube.meta import PODS


def pod(name: str, version: int, uid: str = "") -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": name, "uid": uid or f"u-{name}", "resourceVersion": str(version)}}


def line(kind: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def error(code: int, reason: str) -> bytes:
    return line("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "too old"})


A1, B2, MARK9 = line("ADDED", pod("a", 1)), line("MODIFIED", pod("b", 2)), line("BOOKMARK", pod("", 9))


@pytest.mark.parametrize(
    ("chunks", "types", "version"),
    [
        ([], [], "0"),
        ([A1], ["ADDED"], "1"),
        ([A1 + B2], ["ADDED", "MODIFIED"], "2"),
        ([A1[:7], A1[7:] + B2[:3], B2[3:]], ["ADDED", "MODIFIED"], "2"),
        ([A1, B2[:-1]], ["ADDED"], "1"),  # half a line is no event yet
        ([A1, b"\n\n", MARK9], ["ADDED"], "9"),  # a bookmark moves the cursor alone
    ],
)
def test_lines_come_out_whole_wherever_the_stream_is_cut(chunks: list[bytes], types: list[str], version: str) -> None:
    cursor = Cursor("0")
    assert [line.type for chunk in chunks for line in cursor.feed(chunk)] == types
    assert cursor.version == version


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [(error(410, "Expired"), Expired), (error(410, "Gone"), Expired), (error(500, "InternalError"), InternalError),
     (b"<html>\n", InternalError)],
)  # fmt: skip
def test_an_error_event_is_raised_after_what_stood_before_it(chunk: bytes, expected: type[ApiError]) -> None:
    cursor, seen = Cursor("0"), []
    with pytest.raises(expected):
        for found in cursor.feed(A1 + chunk + B2):
            seen.append(found.type)
    assert (seen, cursor.version) == (["ADDED"], "1")


def told(events: Any) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


def encode(*objects: dict[str, Any]) -> list[bytes]:
    return [json.dumps(found).encode() for found in objects]


def listed(ledger: Ledger, *objects: dict[str, Any]) -> Iterator[Event]:
    """The events of one list, in one page for each object."""
    ledger.begin_list()
    for found in objects:
        yield from ledger.take_page(encode(found))
    yield from ledger.end_list()


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([pod("a", 1), pod("b", 2)], []),
        ([pod("b", 2)], [("DELETED", "a")]),
        ([pod("a", 5), pod("b", 2)], [("MODIFIED", "a")]),
        ([pod("a", 1), pod("b", 2), pod("c", 3)], [("ADDED", "c")]),
        ([pod("a", 7, "other"), pod("b", 2)], [("DELETED", "a"), ("ADDED", "a")]),  # the name was used again
    ],
)
def test_a_new_list_tells_only_what_changed_meanwhile(
    second: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    ledger = Ledger(PODS)
    assert told(listed(ledger, pod("a", 1), pod("b", 2))) == [("ADDED", "a"), ("ADDED", "b")]
    assert told(listed(ledger, *second)) == expected
    assert told(listed(ledger, *second)) == []


def test_a_list_that_begins_anew_forgets_the_pages_before() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1), pod("b", 2)))
    ledger.begin_list()
    assert told(ledger.take_page(encode(pod("a", 1), pod("b", 3)))) == [("MODIFIED", "b")]
    ledger.begin_list()
    assert told(ledger.take_page(encode(pod("a", 1)))) == []
    assert told(ledger.end_list()) == [("DELETED", "b")]


def test_what_a_list_finds_gone_is_told_by_its_identity() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1)))
    (event,) = listed(ledger)
    identity = {"namespace": "n", "name": "a", "uid": "u-a"}
    assert event.object == {"apiVersion": "v1", "kind": "Pod", "metadata": identity}


def test_the_watch_tells_nothing_twice_and_deletes_only_what_was_told() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1)))
    changes = [("ADDED", pod("a", 1)), ("MODIFIED", pod("a", 2)), ("DELETED", pod("a", 3)), ("DELETED", pod("a", 3))]
    events = [ledger.change(Line(kind, json.dumps(body).encode())) for kind, body in changes]
    assert [event and event.type for event in events] == [None, "MODIFIED", "DELETED", None]


def test_objects_of_a_list_get_the_kind_that_lists_leave_out() -> None:
    (event,) = listed(Ledger(PODS), pod("a", 1))
    assert (event.object["apiVersion"], event.object["kind"]) == ("v1", "Pod")


def test_waits_grow_to_five_seconds() -> None:
    assert [plan_delay(failures) for failures in (0, 1, 2, 3, 20)] == [0, 0.1, 0.2, 0.4, 5]


@pytest.mark.parametrize(
    ("error", "proven", "start"),
    [
        (None, True, "7"),
        (Unavailable("away"), False, "7"),
        (InternalError("an ERROR event"), True, "7"),
        (Expired("too old"), False, ""),
        (Timeout("of a list"), True, ""),
        (NotFound("the kind went"), True, ""),
        (NotFound("no such kind"), False, None),
        (Forbidden("no right yet"), False, None),
        (Forbidden("no right for a moment"), True, "7"),
        (Unauthorized("nobody"), False, None),
    ],
    ids=str,
)
def test_where_to_watch_from_after_an_end(error: ApiError | None, proven: bool, start: str | None) -> None:
    assert plan_start(error, "7", proven=proven) == start


@pytest.mark.parametrize(
    ("seconds", "moved", "failures"),
    [(0.1, False, 4), (0.1, True, 1), (LONGEST_DELAY + 1, False, 1), (LONGEST_DELAY, False, 4)],
    ids=["worth nothing", "moved on", "quiet for long, which is nobody's fault", "not for long"],
)
def test_only_a_watch_that_was_worth_something_shortens_the_wait(seconds: float, moved: bool, failures: int) -> None:
    assert count_failures(3, seconds, moved=moved) == failures
