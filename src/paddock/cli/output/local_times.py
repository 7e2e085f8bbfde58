"""Times as people read them: in the zone of this machine, with its offset from UTC.

What programs read (`-o json`, the API's objects and messages) keeps RFC 3339 in UTC (`paddock.kube.times`).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from paddock.kube.times import Moment, read_time

_LAST_SECOND = 253_402_214_400
"""One day before the year 10000, which no zone's calendar has."""
_STAMP = re.compile(r"(?<![\w.:+-])\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})(?![\w:])")


def format_local_time(moment: Moment, zone: tzinfo | None = None) -> str:
    """`2026-11-22 14:03:10 +08:00`, or `… UTC`; whole seconds. `zone`: None for this machine's, with the summer time of
    that moment. An offset and no abbreviation, as `CST` is the name of three zones."""
    when = datetime.fromtimestamp(max(0, min(int(moment), _LAST_SECOND)), UTC).astimezone(zone)
    offset = f"{when:%z}"
    shown = f"{offset[:3]}:{offset[3:5]}" if when.utcoffset() else "UTC"
    return f"{when:%Y-%m-%d %H:%M:%S} {shown}"


def format_clock(moment: Moment, zone: tzinfo | None = None, now: Moment | None = None) -> str:
    """`14:03` where that is today, else as `format_local_time`. For what is printed on the machine of the clock."""
    when, today = (
        datetime.fromtimestamp(each, UTC).astimezone(zone) for each in (moment, time.time() if now is None else now)
    )
    return f"{when:%H:%M}" if when.date() == today.date() else format_local_time(moment, zone)


def format_apart(moments: Sequence[Moment], zone: tzinfo | None = None) -> list[str]:
    """The times of a column: as `format_local_time`, and with thousandths where two of them are in one second."""
    seconds = Counter(map(int, moments))
    return [
        format_local_time(each, zone) if seconds[int(each)] == 1 else _format_thousandths(each, zone)
        for each in moments
    ]


def _format_thousandths(moment: Moment, zone: tzinfo | None) -> str:
    day, time, rest = format_local_time(moment, zone).split(" ", 2)
    return f"{day} {time}.{int(moment * 1000) % 1000:03d} {rest}"


def localize_times(text: str, zone: tzinfo | None = None) -> str:
    """A sentence with its times of the API (`2026-11-22T06:03:10Z`) in a reader's zone; other text stays."""
    return _STAMP.sub(lambda match: _localize(match[0], zone), text)


def _localize(stamp: str, zone: tzinfo | None) -> str:
    moment = read_time(stamp)
    return stamp if moment is None else format_local_time(moment, zone)
