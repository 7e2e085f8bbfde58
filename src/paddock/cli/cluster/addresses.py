"""Options that name an address to listen on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from paddock.cli.output.language import localized

if TYPE_CHECKING:
    from paddock.app.health import Address


def read_bind_address(_context: click.Context, parameter: click.Parameter, value: str) -> Address | None:
    """A callback of an option."""
    from paddock.app.health import read_address

    try:
        return read_address(value)
    except ValueError as error:
        raise click.BadParameter(localized(error.args[0]), param=parameter) from None


def build_bind_address(port: int) -> str:
    """The default address: in a pod (which has KUBERNETES_SERVICE_HOST) all addresses, as in paddle-operator, for the
    kubelet's probes, Prometheus and the API server; elsewhere the loopback address. A pod of a laptop's cluster, whose
    API is on the loopback too, is a program of the laptop."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    return f":{port}" if host and not host.startswith("127.") else f"127.0.0.1:{port}"
