"""Cursor, ledger and progress of a watch: bytes in, lines and events out."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from paddock.client.watch import LONGEST_DELAY, Cursor, Ledger, Line, Progress, count_failures, plan_delay, plan_start
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
def test_lines_are_complete_wherever_the_stream_is_split(chunks: list[bytes], types: list[str], version: str) -> None:
    cursor = Cursor("0")
    assert [line.type for chunk in chunks for line in cursor.feed(chunk)] == types
    assert cursor.version == version


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [(error(410, "Expired"), Expired), (error(410, "Gone"), Expired), (error(500, "InternalError"), InternalError),
     (b"<html>\n", InternalError)],
)  # fmt: skip
def test_an_error_event_is_raised_after_the_lines_before_it(chunk: bytes, expected: type[ApiError]) -> None:
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
def test_a_new_list_yields_only_changes(second: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    ledger = Ledger(PODS)
    assert told(listed(ledger, pod("a", 1), pod("b", 2))) == [("ADDED", "a"), ("ADDED", "b")]
    assert told(listed(ledger, *second)) == expected
    assert told(listed(ledger, *second)) == []


def test_a_list_that_starts_again_forgets_the_pages_before() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1), pod("b", 2)))
    ledger.begin_list()
    assert told(ledger.take_page(encode(pod("a", 1), pod("b", 3)))) == [("MODIFIED", "b")]
    ledger.begin_list()
    assert told(ledger.take_page(encode(pod("a", 1)))) == []
    assert told(ledger.end_list()) == [("DELETED", "b")]


def test_an_object_missing_in_a_list_is_deleted_by_its_identity() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1)))
    (event,) = listed(ledger)
    identity = {"namespace": "n", "name": "a", "uid": "u-a"}
    assert event.object == {"apiVersion": "v1", "kind": "Pod", "metadata": identity}


def test_the_ledger_repeats_nothing_and_deletes_only_what_it_has_yielded() -> None:
    ledger = Ledger(PODS)
    list(listed(ledger, pod("a", 1)))
    changes = [("ADDED", pod("a", 1)), ("MODIFIED", pod("a", 2)), ("DELETED", pod("a", 3)), ("DELETED", pod("a", 3))]
    events = [ledger.change(Line(kind, json.dumps(body).encode())) for kind, body in changes]
    assert [event and event.type for event in events] == [None, "MODIFIED", "DELETED", None]


def test_objects_of_a_list_get_the_kind_that_lists_omit() -> None:
    (event,) = listed(Ledger(PODS), pod("a", 1))
    assert (event.object["apiVersion"], event.object["kind"]) == ("v1", "Pod")


def test_delays_grow_to_five_seconds() -> None:
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


def test_who_shows_what_is_followed_ends_when_the_right_is_taken_away_and_at_nothing_else() -> None:
    assert plan_start(Forbidden("no"), "7", proven=True, endures=False) is None
    assert plan_start(Unavailable("away"), "7", proven=True, endures=False) == "7"
    assert plan_start(Unauthorized("expired"), "7", proven=True, endures=False) == "7"
    assert plan_start(None, "7", proven=True, endures=False) == "7"


@pytest.mark.parametrize(
    ("seconds", "progressed", "failures"),
    [(0.1, False, 4), (0.1, True, 1), (LONGEST_DELAY + 1, False, 1), (LONGEST_DELAY, False, 4)],
    ids=["worth nothing", "progressed on", "quiet for long, which is nobody's fault", "not for long"],
)
def test_only_a_watch_with_progress_or_a_long_one_resets_the_delay(
    seconds: float, progressed: bool, failures: int
) -> None:
    assert count_failures(3, seconds, progressed=progressed) == failures


RELIST = 100.0
ADDED_8 = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}).encode() + b"\n"


@pytest.mark.parametrize(
    ("chunks", "error", "seconds", "version", "delay"),
    [
        ([ADDED_8], None, 1, "8", 0.1),
        ([ADDED_8, ADDED_8[:9]], Unavailable("cut"), 1, "8", 0.1),
        ([], None, 1, "7", 0.2),
        ([], Unavailable("away"), 1, "7", 0.2),
        ([], Unavailable("quiet for long"), LONGEST_DELAY + 1, "7", 0.1),
        ([b"\n"], Forbidden("no right for a moment"), 1, "7", 0.2),
        ([ADDED_8], Expired("too old"), 1, "", 0.1),
        ([ADDED_8], None, RELIST + 1, "", 0.1),
    ],
    ids=str,
)
def test_what_follows_a_watch(
    chunks: list[bytes], error: ApiError | None, seconds: float, version: str, delay: float
) -> None:
    """After a failed list and then a list of version 7."""
    progress = Progress(RELIST)
    progress.begin(0.0)
    assert progress.end(Unavailable("of the list"), 1.0) == 0.1
    progress.begin(1.0)
    progress.end_list("7", 10.0)
    for chunk in chunks:
        list(progress.feed(chunk))
    assert progress.end(error, 10.0 + seconds) == pytest.approx(delay)
    assert progress.cursor.version == version
    assert progress.synced


def test_an_incomplete_line_of_a_broken_watch_is_dropped() -> None:
    progress = Progress(RELIST)
    progress.end_list("7", 0.0)
    assert list(progress.feed(ADDED_8[:9])) == []
    progress.end(Unavailable("cut"), 1.0)
    progress.begin(1.0)
    assert [line.type for line in progress.feed(ADDED_8)] == ["ADDED"]


def test_a_permanent_error_ends_following_until_a_watch_has_worked() -> None:
    progress = Progress(RELIST)
    progress.end_list("7", 0.0)
    with pytest.raises(Forbidden):
        progress.end(Forbidden("no right to watch"), 1.0)
    progress.end(None, 2.0)
    progress.end(Forbidden("no right for a moment"), 3.0)
    assert progress.cursor.version == "7"
