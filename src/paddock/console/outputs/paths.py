"""Paths of outputs, in addresses and on pages. Pure.

A name is any bytes but `/` and NUL. The system's text of it (`os.fsdecode`) has half of a surrogate for each byte that
is no UTF-8, which no address takes: there it is `~` and two digits, and `~` itself is `~7E`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from paddock.kube.printable import show_line

LONGEST = 4096
"""Characters, as of a path of Linux."""


@dataclass(frozen=True, slots=True)
class Step:
    """A directory on the way to what is shown."""

    name: str
    """For the page."""
    written: str
    """The path to it, for an address."""


def write_path(path: str) -> str:
    """For the query of an address."""
    return re.sub("[~\udc80-\udcff]", lambda found: f"~{ord(found[0]) & 0xFF:02X}", path)


def read_path(text: str) -> str | None:
    """The path that an address names, without empty parts; None for one that leads out, or that no file can have."""
    path = re.sub("~([0-9A-F]{2})", lambda found: os.fsdecode(bytes([int(found[1], 16)])), text)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in path or len(path) > LONGEST or re.search("[\ud800-\udc7f\udd00-\udfff]", path):
        return None
    return "/".join(parts)


def show_name(name: str) -> str:
    """For people: what is no text is written as `\\xff`, and no character acts on the page."""
    return show_line(os.fsencode(name).decode("utf-8", "backslashreplace"))


def list_steps(path: str) -> list[Step]:
    """Each directory of a path and its last part, without the root."""
    parts = path.split("/") if path else []
    return [Step(show_name(part), write_path("/".join(parts[: index + 1]))) for index, part in enumerate(parts)]


def join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
