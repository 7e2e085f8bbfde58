"""How many files this process may have open, and how many connections follow from that.

Linux gives a process 1,024 at first, for the sake of programs that use select(2), and lets it have more when it asks
(systemd, "File Descriptor Limits"). Servers ask at their start. The limit is inherited: programs of other people, such
as those of pods, get the one back that was there (`raise_limit`'s answer).
"""

from __future__ import annotations

import resource

_MOST = 65_536
"""More helps nobody, and some programs that we start go through all numbers that a file may have."""
_SHARE = 4
_FEWEST, _MOST_CONNECTIONS = 16, 1_000


def raise_limit() -> int | None:
    """Lets this process have as many files open as it may. The limit before, if it was another."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = choose_limit(soft, hard)
    if wanted == soft:
        return None
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft


def choose_limit(soft: int, hard: int) -> int:
    """Never less than there is. Pure."""
    if soft == resource.RLIM_INFINITY:
        return soft
    return max(soft, _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST))


def read_connection_limit() -> int:
    return count_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def count_connections(files: int) -> int:
    """Connections of one server in a process with so many files: a quarter, as the local cluster has two servers, and
    its pods, its store and its own requests need the other half. At most 1,000, for the memory: one that stays in its
    TLS handshake takes 60 KiB. Pure."""
    if files == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(_FEWEST, min(_MOST_CONNECTIONS, files // _SHARE))
