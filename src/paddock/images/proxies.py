"""The environment's proxy for one address, as a registry or a Prometheus: HTTPS_PROXY, HTTP_PROXY, NO_PROXY.

aiohttp reads them with `trust_env`, and ~/.netrc along with them. Its users would be told to hosts that nobody meant,
such as the storage to which a registry redirects, and a request that says itself who asks would fail. So a session has
no `trust_env`, and each request the proxy of its own address.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.request import getproxies, proxy_bypass

from yarl import URL


def find_proxy(url: URL) -> URL | None:
    """None for an address of this machine too. Raises ValueError for a proxy that is no address."""
    host = url.host or ""
    found = getproxies().get(url.scheme)
    if not found or is_here(host) or proxy_bypass(host):
        return None
    return URL(found if "://" in found else f"http://{found}")


def is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
