"""`paddock console --context A --context B`: the jobs of several clusters in one list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from paddock.app.home import Home, read_running
from paddock.cli.cluster.consoles import notify
from paddock.cli.cluster.errors import Failed
from paddock.cli.cluster.places import Local, build_cluster
from paddock.client.errors import ConfigError
from paddock.client.kubeconfig import Config, read_config

if TYPE_CHECKING:
    from paddock.app.consoles.fleets import Member
    from paddock.app.consoles.links import Link

LOCAL = "paddock"
"""The context of the local cluster's own kubeconfig, which need not be merged into kubectl's."""


def serve_fleet(
    contexts: Sequence[str], kubeconfig: str | None, home: Home, port: int, path: str, show: Callable[[Link], None]
) -> int:
    """Until Ctrl-C; the local cluster is started if it is among them. `show`: of the link that signs in once and goes
    on to `path`. Raises `ConfigError` for a context that cannot be used."""
    from paddock.app.consoles import fleets
    from paddock.app.health import CannotServe
    from paddock.serving.loop import run
    from paddock.serving.open_files import raise_limit

    raise_limit()
    members = [_find(name, kubeconfig, home) for name in contexts]
    try:
        run(fleets.serve_fleet(members, port, lambda make: show(make(path)), home, notify))
    except CannotServe as error:
        raise Failed(*error.args) from None
    return 0


def _find(name: str, kubeconfig: str | None, home: Home) -> Member:
    from paddock.app.consoles.cluster import Shown, name_cluster
    from paddock.app.consoles.fleets import Member

    config = _read(name, kubeconfig)
    if config is None or config.server == _read_local_server(home):
        local = Local(home)
        local.start()
        running = read_running(home)
        return Member(name, local.read_config(), Shown(name, ""), running.machine if running else name)
    flags = build_cluster(config, name, kubeconfig).flags
    return Member(name, config, Shown(name_cluster(config), flags.options, flags.kubectl))


def _read(name: str, kubeconfig: str | None) -> Config | None:
    """None for the name of the local cluster, where the kubeconfig has no context of that name."""
    try:
        return read_config(kubeconfig, name)
    except ConfigError:
        if name != LOCAL:
            raise
        return None


def _read_local_server(home: Home) -> str:
    """Empty where there was no local cluster yet."""
    return read_config(str(home.kubeconfig)).server if home.kubeconfig.exists() else ""
