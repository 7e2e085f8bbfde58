"""The API's times, and durations for people. The unit is always seconds.

A moment (`Moment`) is a float of seconds since the epoch. Nothing here reads a clock; callers pass the time.
"""

from __future__ import annotations

from datetime import UTC, datetime

Moment = float
"""Seconds since 1970-01-01 UTC."""
_LAST_SECOND = 253_402_300_799


def format_time(moment: Moment) -> str:
    """`2026-11-20T08:12:00Z`, whole seconds, as metav1.Time; a later year than 9999 is the end of that year."""
    # RFC 3339 has years of four digits, and a grace period has 64 bits of seconds.
    return datetime.fromtimestamp(min(int(moment), _LAST_SECOND), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: Moment) -> str:
    """`2026-11-20T08:12:00.123456Z`, as metav1.MicroTime (Leases); from 1970 to the year 9999."""
    return datetime.fromtimestamp(min(max(moment, 0), _LAST_SECOND), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_time(text: str | None) -> Moment | None:
    """The moment of an API time; None if there is none or it is not a time."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError):
        return None


def format_duration(seconds: float) -> str:
    """The duration as kubectl prints ages (apimachinery, duration.HumanDuration): `41s`, `4m4s`, `12m`, `3h5m`, `2d3h`,
    `1y20d`."""
    whole = int(seconds)
    if whole < 0:
        return "0s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def exponential_backoff(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after consecutive failures: `first`, doubled for each further one, at most `longest`."""
    # At most 2 ** 32, as a float overflows at 2.0 ** 1024.
    return float(min(longest, first * 2.0 ** min(failures - 1, 32))) if failures > 0 else 0.0


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
