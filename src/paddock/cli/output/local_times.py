"""Times as people read them: in the zone of this machine, with its offset from UTC.

What programs read (`-o json`, the API's objects and messages) keeps RFC 3339 in UTC (`paddock.kube.times`).
"""

from __future__ import annotations

import re
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


def localize_times(text: str, zone: tzinfo | None = None) -> str:
    """A sentence with its times of the API (`2026-11-22T06:03:10Z`) in a reader's zone; other text stays."""
    return _STAMP.sub(lambda match: _localize(match[0], zone), text)


def _localize(stamp: str, zone: tzinfo | None) -> str:
    moment = read_time(stamp)
    return stamp if moment is None else format_local_time(moment, zone)
