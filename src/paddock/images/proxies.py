"""The environment's proxy for one address, as a registry or a Prometheus: HTTPS_PROXY, HTTP_PROXY, NO_PROXY.

aiohttp reads them with `trust_env`, and ~/.netrc along with them. Its users would be told to hosts that nobody meant,
such as the storage to which a registry redirects, and a request that says itself who asks would fail. So a session has
no `trust_env`, and each request the proxy of its own address.
"""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from paddock.images.references import is_loopback


def find_proxy(url: URL) -> URL | None:
    """None for an address of this machine too. Raises `aiohttp.InvalidURL` for a proxy that is no address."""
    host = url.host or ""
    found = getproxies().get(url.scheme)
    if not found or is_loopback(host) or proxy_bypass(host):
        return None
    try:
        return URL(found if "://" in found else f"http://{found}")
    except ValueError as error:
        raise aiohttp.InvalidURL("(of the environment)", "no address of a proxy") from error
