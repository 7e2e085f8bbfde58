"""Links into the console of the local cluster. Whoever may read the home may make one, without a word to the console.

<home>/console/key      signs links; 0600
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from paddock.app.home import Home
from paddock.console import tickets

_KEY_BYTES = 32


def read_key(home: Home) -> bytes:
    """Made at first use. Raises OSError."""
    path = make_directory(home) / "key"
    with suppress(FileNotFoundError):
        if len(key := path.read_bytes()) == _KEY_BYTES:
            return key
    return renew_key(home)


def renew_key(home: Home) -> bytes:
    """Whatever was signed before is worth nothing any more. Raises OSError."""
    key = secrets.token_bytes(_KEY_BYTES)
    write_private(make_directory(home) / "key", key)
    return key


def write_private(path: Path, content: bytes) -> None:
    """The whole file or none of it, for this user alone. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as writer:
        writer.write(content)
    fresh.replace(path)


def make_directory(home: Home) -> Path:
    path = home.root / "console"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@dataclass(frozen=True, slots=True)
class Link:
    """A link by which a person signs in."""

    address: str  # signs in, once and within five minutes
    host: str  # a name of the console's own, for who comes through a forwarded port


def make_link(home: Home, url: str, now: float, path: str = "/") -> Link:
    """Into the console at `url`; it goes on to `path`. Raises OSError."""
    key = read_key(home)
    return Link(url + tickets.make_link(key, now, path), tickets.name_host(key))


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Whether a browser that is started here is seen by who typed the command. Pure."""
    return platform == "darwin" or any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def forward(link: Link) -> tuple[str, str]:
    """(what `ssh -L` takes, the address to open then) for a console on the other end of an ssh connection. Pure."""
    parts = urlsplit(link.address)
    there = parts._replace(netloc=f"{link.host}:{parts.port}").geturl()
    return f"{parts.port}:{parts.hostname}:{parts.port}", there
