"""One machine for the checks of a script: a network, a host name, hosts and resolv.conf of its own, all on loopback.

Nothing is reached from it: a peer is a route, or a line of hosts. Tests that train have machines that reach each other.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from places.bare.rendered import OWN
from support.programs import lack, need

_ENTER = r"""
set -e
ip link set lo up
for address in $1; do ip address add "$address/32" dev lo; done
for peer in $2; do ip route add "$peer/32" dev lo src "${1%% *}"; done
hostname "$3"
mount --bind "$4/hosts" /etc/hosts
mount --bind "$4/resolv.conf" /etc/resolv.conf
shift 4
exec "$@"
"""
_UNSHARE = ("--map-root-user", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Whatever is started there ends with the command that started it."""


@functools.cache
def _need_namespaces() -> str:
    unshare = need("unshare")
    answer = subprocess.run([unshare, *_UNSHARE, "true"], capture_output=True, text=True)
    return unshare if answer.returncode == 0 else lack("unshare", answer.stderr.strip())


class Machine:
    """`addresses`: its own ones. `peers`: addresses that it has a route to. `hosts`: lines of /etc/hosts. `folder`: for
    its files."""

    def __init__(
        self,
        folder: Path,
        *,
        addresses: str = "10.9.0.1",
        peers: str = "10.9.0.2",
        hosts: str = "",
        name: str = "gpu-a",
    ) -> None:
        self.unshare = _need_namespaces()
        self.enter = ["bash", "-c", _ENTER, "machine", addresses, peers, name, str(folder)]
        need("ip")
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}\n")
        (folder / "resolv.conf").write_text("")

    def run(
        self, script: Path, *words: str, env: Mapping[str, str] | None = None, before: str = "true"
    ) -> subprocess.CompletedProcess[str]:
        """Runs a script there. `before`: typed in the same shell before it."""
        program = f'{before} && exec bash "$@"'
        path = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        reader, writer = os.pipe()  # an input that does not end before the command
        try:
            return subprocess.run(
                [self.unshare, *_UNSHARE, *self.enter, "bash", "-c", program, "bash", str(script), *words],
                env={**OWN, "PATH": path, **(env or {})}, stdin=reader, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
        finally:
            os.close(reader)
            os.close(writer)
