"""Which proxy of the environment leads to a host: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, and NO_PROXY."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address, ip_network
from urllib.request import getproxies, proxy_bypass


def find_proxy(scheme: str, host: str) -> str:
    """Its address, with a scheme, as the environment has it; empty if there is none. NO_PROXY has names, and nets
    (`10.0.0.0/8`), of which Python knows nothing."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    nets = proxies.get("no", "").split(",")
    if not proxy or proxy_bypass(host) or any(_is_within(host, each.strip()) for each in nets):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_within(host: str, net: str) -> bool:
    with suppress(ValueError):
        return ip_address(host) in ip_network(net, strict=False)
    return False
