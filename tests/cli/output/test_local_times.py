from __future__ import annotations

import time
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from paddock.cli.output.local_times import format_apart, format_local_time, localize_times

MOMENT = 1795327390.9
"""2026-11-22T06:03:10.9Z"""
SUMMER = MOMENT - 120 * 86400


@pytest.mark.parametrize(
    ("zone", "moment", "shown"),
    [
        (UTC, MOMENT, "2026-11-22 06:03:10 UTC"),
        (timezone(timedelta(hours=8)), MOMENT, "2026-11-22 14:03:10 +08:00"),
        (timezone(timedelta(hours=-3, minutes=-30)), MOMENT, "2026-11-22 02:33:10 -03:30"),
        (timezone(timedelta(hours=5, minutes=45, seconds=10)), MOMENT, "2026-11-22 11:48:20 +05:45"),
        (ZoneInfo("Asia/Shanghai"), MOMENT, "2026-11-22 14:03:10 +08:00"),
        (ZoneInfo("Europe/Berlin"), MOMENT, "2026-11-22 07:03:10 +01:00"),
        (ZoneInfo("Europe/Berlin"), SUMMER, "2026-07-25 08:03:10 +02:00"),
        (ZoneInfo("Europe/London"), MOMENT, "2026-11-22 06:03:10 UTC"),
        (UTC, 1e30, "9999-12-31 00:00:00 UTC"),
        (timezone(timedelta(hours=14)), 1e30, "9999-12-31 14:00:00 +14:00"),
        (timezone(timedelta(hours=-12)), -5.0, "1969-12-31 12:00:00 -12:00"),
    ],
    ids=str,
)
def test_a_time_has_its_zone(zone: tzinfo, moment: float, shown: str) -> None:
    assert format_local_time(moment, zone) == shown


def test_times_of_one_second_are_told_apart() -> None:
    found = format_apart([MOMENT - 5, MOMENT, MOMENT + 0.0625, MOMENT + 1], UTC)
    assert [each.removeprefix("2026-11-22 06:03:") for each in found] == [
        "05 UTC",
        "10.900 UTC",
        "10.962 UTC",
        "11 UTC",
    ]
    assert format_apart([], UTC) == []


def test_without_a_zone_it_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as patched:
            patched.setenv("TZ", "CST-8")
            time.tzset()
            assert format_local_time(MOMENT) == "2026-11-22 14:03:10 +08:00"
    finally:
        time.tzset()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("silent since 2026-11-22T06:03:10Z", "silent since 2026-11-22 14:03:10 +08:00"),
        ("(2026-11-22T06:03:10.25Z)", "(2026-11-22 14:03:10 +08:00)"),
        ("at 2026-11-22T06:03:10-01:00, and", "at 2026-11-22 15:03:10 +08:00, and"),
        ("2026-13-45T06:03:10Z stays", "2026-13-45T06:03:10Z stays"),
        ("log-2026-11-22T06:03:10Z.txt", "log-2026-11-22T06:03:10Z.txt"),
        ("nothing", "nothing"),
    ],
)
def test_times_in_a_sentence_are_the_readers(text: str, shown: str) -> None:
    assert localize_times(text, timezone(timedelta(hours=8))) == shown
