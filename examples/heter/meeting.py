"""Workers wait for worker 0 at the start and at the end, by a port of it: the one after its own.

Worker 0 opens the port when the servers have its first parameters. A worker that has trained connects and waits for the
answer, which worker 0 gives when it has scored the parameters of all. Gloo's barrier would do, and may be off; a shared
directory would do, and a cluster may have none.
"""

import socket
import time

import mended

_PATIENCE = 600
"""Seconds that one worker waits for the others."""


def find_endpoint(worker_0):
    host, port = worker_0.rsplit(":", 1)
    return host, int(port) + 1


class Host:
    """Worker 0's side."""

    def __init__(self, worker_0):
        self.server = socket.create_server(find_endpoint(worker_0))
        self.connections = {}

    def wait_for(self, ranks):
        """Waits until each of `ranks` has connected and said its number."""
        deadline = time.monotonic() + _PATIENCE
        while missing := sorted(set(ranks) - set(self.connections)):
            self.server.settimeout(max(deadline - time.monotonic(), 0.1))
            try:
                connection, _ = self.server.accept()
            except TimeoutError:
                raise SystemExit(f"worker {missing[0]} did not finish in {_PATIENCE} s after worker 0") from None
            # who only looks whether the port is open says nothing
            if said := connection.recv(8):
                self.connections[int(said)] = connection

    def dismiss(self):
        for connection in self.connections.values():
            connection.sendall(b"done")


def wait(worker_0):
    """Another worker's side, at the start: waits until worker 0 has opened its port."""
    mended.wait_for([":".join(map(str, find_endpoint(worker_0)))])


def report(worker_0, rank):
    """Another worker's side: says that it has trained, and waits until worker 0 needs nobody any more."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(find_endpoint(worker_0), timeout=_PATIENCE) as connection:
                connection.sendall(str(rank).encode())
                if connection.recv(8):
                    return
        except OSError:
            pass
        # worker 0 is being started again
        time.sleep(0.5)
    raise SystemExit(f"worker 0 did not answer worker {rank} in {_PATIENCE} s")
