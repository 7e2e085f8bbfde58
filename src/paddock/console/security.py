"""What keeps other sites out: headers of every answer, hosts that are served, origins that may change things. Pure.

The console trusts nothing of what it shows: names, lines of logs and messages are text. No script, style, picture or
request goes anywhere but to the console itself, and no other site may frame it, or send it a form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "Paddock",
}
"""Of every answer. `Referrer-Policy`: the first address has a token in it, and each other one the place of its session.
`Server`: else it names the versions that serve."""
STATIC_HEADERS = {name: HEADERS[name] for name in ("X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Server")}
"""Of scripts, styles and icons of ours: none of them is a document of somebody else, and they are to be light."""
PAGE_HEADERS = {**HEADERS, "Cross-Origin-Opener-Policy": "same-origin"}
"""Of pages: the last one means nothing with scripts, which are to be light."""


def choose_headers(content_type: str, *, is_static: bool) -> Mapping[str, str]:
    """`is_static`: at the address of a file of ours."""
    if content_type == "text/html":
        return PAGE_HEADERS
    return STATIC_HEADERS if is_static else HEADERS


_SAFE_METHODS = frozenset({"GET", "HEAD"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_host_served(host: str, own: Collection[str]) -> bool:
    """Whether the Host header names this console: one of `own` names, or this machine. Its port does not matter, as a
    port may be forwarded; a site that has its own name resolve to this machine (DNS rebinding) has that name here."""
    name = read_host(host)
    return name in own or name in _LOOPBACK


def is_on_this_machine(host: str, peer: str) -> bool:
    """Whether browser and console are on one machine, or `kubectl port-forward` or ssh is between them: it came to a
    name of this machine, and over its loopback network. The header alone is what anybody may write. `peer`: the
    address at the other end of the connection."""
    name = read_host(host)
    return (name in _LOOPBACK or name.endswith(".localhost")) and _is_loopback(peer)


def _is_loopback(address: str) -> bool:
    try:
        read = ip_address(address)
    except ValueError:
        return False
    return (getattr(read, "ipv4_mapped", None) or read).is_loopback


def read_host(header: str) -> str:
    """The name of a Host header, without its port; empty for what cannot be read."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def is_from_elsewhere(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request that may change something was not sent by a page of this console. Each browser of today sends
    one of the two headers with a form; who sends neither is no browser, and has no session."""
    if method in _SAFE_METHODS:
        return False
    if site := headers.get("Sec-Fetch-Site"):
        return site != "same-origin"
    origin = headers.get("Origin", "")
    return not origin or urlsplit(origin).netloc.lower() != headers.get("Host", "").lower()
