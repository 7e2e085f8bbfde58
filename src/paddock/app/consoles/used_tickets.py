"""The links of a home that were used, for the next start of its cluster.

<home>/console/spent    a line each: when its time is over (seconds since the epoch), its digest; 0600

Nobody gets in by what stands there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path

from paddock.app.consoles.links import make_directory, read_key, renew_key, write_private
from paddock.app.home import Home
from paddock.console.link_sign_in import UsedTickets
from paddock.kube.times import Moment

_LINE = re.compile(r"([0-9]{1,12}) ([0-9a-f]{64})", re.ASCII)
_log = logging.getLogger(__name__)


def open_sign_in(home: Home, now: Moment) -> tuple[bytes, UsedTickets]:
    """The key of the home, and the tickets that are used up before they expire. A file that cannot be read, or was
    torn, does not say which links were used: then the key is another, and none of them is good. Raises OSError."""
    path = make_directory(home) / "spent"
    try:
        known = read_used_tickets(path.read_bytes(), now)
    except FileNotFoundError:
        known = {}
    except OSError as error:
        _log.warning("cannot read %s, so no link of before is good: %s", path, error)
        known = None
    if known is None:
        path.unlink(missing_ok=True)
        return renew_key(home), UsedTickets({}, _Keeper(path))
    return read_key(home), UsedTickets(known, _Keeper(path))


def read_used_tickets(content: bytes, now: Moment) -> Mapping[str, int] | None:
    """digest -> when its ticket expires, of those that have not; None for what `write_used_tickets` has not written.
    Pure."""
    text = content.decode("ascii", "replace")
    if not text.endswith("\n"):
        return None
    found = [_LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    if not all(found):
        return None
    known = {each[2]: int(each[1]) for each in found if each}
    return {digest: expires for digest, expires in known.items() if expires > now}


def write_used_tickets(known: Mapping[str, int]) -> bytes:
    """Pure."""
    return "".join(f"{expires} {digest}\n" for digest, expires in known.items()).encode()


class _Keeper:
    """A disk that is full keeps nobody from signing in, to see what fills it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, known: Mapping[str, int]) -> None:
        try:
            write_private(self._path, write_used_tickets(known))
        except OSError as error:
            _log.warning("cannot write %s, so the next start forgets it: %s", self._path, error)
