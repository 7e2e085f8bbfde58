"""No server of the product is without limits."""

from __future__ import annotations

from pathlib import Path

from support.imports import find_modules

SOURCE = Path(__file__).parents[2] / "src"
UNBOUNDED = ("AppRunner", "ServerRunner", "TCPSite", "SockSite", "UnixSite", "run_app", "create_server", "start_server")


def test_whatever_listens_does_so_in_one_room() -> None:
    listening = {
        name for name, path in find_modules(SOURCE).items() if any(f"{word}(" in path.read_text() for word in UNBOUNDED)
    }
    # The second has no HTTP and one client, its own process; a head has its time there too. The third hands on
    # the bytes of a port, in the terminal of who asked for it.
    assert listening == {"paddock.serving.server", "paddock.datasets.fetch.fences", "paddock.cli.follow.forwarding"}
