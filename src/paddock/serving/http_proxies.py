"""The environment's proxy of a request by aiohttp: to a registry, a Prometheus, a webhook of notices, a provider of
sign-ins.

aiohttp reads the environment with `trust_env`, and ~/.netrc along with it. Its users would be told to hosts that nobody
meant, such as the storage to which a registry redirects, and a request that says itself who asks would fail. So a
session has no `trust_env`, and each request the proxy of its own address.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address

import aiohttp
from yarl import URL

from paddock.serving import proxies


def find_proxy(url: URL) -> URL | None:
    """None for an address of this machine too, and for SOCKS, which aiohttp does not speak. Raises `aiohttp.InvalidURL`
    for a proxy that is no address."""
    host = url.host or ""
    try:
        found = URL("" if _is_loopback(host) else proxies.find_proxy(url.scheme, host))
    except ValueError as error:
        raise aiohttp.InvalidURL("(of the environment)", "no address of a proxy") from error
    return found if found.scheme in ("http", "https") else None


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"
