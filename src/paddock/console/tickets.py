"""Signed tickets: the one-time link of a sign-in. The clock is an argument.

    PURPOSE.EXPIRES.NONCE.SIGNATURE

Who can read the key makes tickets, so `paddock console` makes a link without a word to the server; whether a link was
used before, the server remembers (`link_sign_in.UsedTickets`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from urllib.parse import quote

from paddock.kube.times import Moment

LINK_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a signed ticket says."""

    purpose: str
    expires: int  # whole seconds since the epoch
    nonce: str  # random, letters and digits


def write_ticket(ticket: Ticket, key: bytes) -> str:
    body = f"{ticket.purpose}.{ticket.expires}.{ticket.nonce}"
    return f"{body}.{_sign(body, key)}"


def read_ticket(text: str, purpose: str, key: bytes, now: Moment) -> Ticket | None:
    """The ticket in a text; None for what this key has not signed for this purpose, or whose time is over."""
    body, _, signature = text.rpartition(".")
    if not hmac.compare_digest(_sign(body, key).encode(), signature.encode("utf-8", "replace")):
        return None
    named, expires, nonce = body.split(".")
    if named != purpose or int(expires) <= now:
        return None
    return Ticket(named, int(expires), nonce)


def make_link(key: bytes, now: Moment, path: str = "/") -> str:
    """The address, without host, that signs in once and within five minutes, and goes on to `path`."""
    ticket = Ticket("link", int(now) + LINK_SECONDS, secrets.token_hex(12))
    following = "" if path == "/" else f"&next={quote(path)}"
    return f"/sign-in?token={write_ticket(ticket, key)}{following}"


def name_host(key: bytes) -> str:
    """A name of this machine (RFC 6761, 6.3) for the console of this key alone, for links through a forwarded port: all
    else that is forwarded is at `localhost`, and what a browser keeps for one is not for the other."""
    return f"paddock-{_sign('host', key)[:8]}.localhost"


def _sign(body: str, key: bytes) -> str:
    return hmac.new(key, body.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
