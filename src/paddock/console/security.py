"""What keeps other sites out: headers of every answer, hosts that are served, origins that may change things. Pure.

The console trusts nothing of what it shows: names, lines of logs and messages are text. No script, style, picture or
request goes anywhere but to the console itself, and no other site may frame it, or send it a form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
"""Of every answer. `Referrer-Policy`: the first address has a token in it. `Server`: else it names the versions that
serve."""
PAGE_HEADERS = {**HEADERS, "Cross-Origin-Opener-Policy": "same-origin"}
"""Of pages: the last one means nothing with scripts, which are to be light."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_host_served(host: str, own: Collection[str]) -> bool:
    """Whether the Host header names this console: one of `own` names, or this machine. Its port does not matter, as a
    port may be forwarded; a site that has its own name resolve to this machine (DNS rebinding) has that name here."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name in own or name in _LOOPBACK or name.endswith(".localhost")


def is_from_elsewhere(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request that may change something was not sent by a page of this console. Each browser of today sends
    one of the two headers with a form; who sends neither is no browser, and has no session."""
    if method in _SAFE_METHODS:
        return False
    if site := headers.get("Sec-Fetch-Site"):
        return site != "same-origin"
    origin = headers.get("Origin", "")
    return not origin or urlsplit(origin).netloc.lower() != headers.get("Host", "").lower()
