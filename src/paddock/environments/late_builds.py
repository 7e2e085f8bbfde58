"""Packages whose own build imports another package, as that of flash-attn imports torch: they are built last. Pure.

uv builds a package in an environment of its own, in which there is nothing but what the package says that it needs. So
those that say too little are left out at first, and then built beside the packages that are installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paddock.environments.requirements import requirement_name

TOOLS = ("setuptools", "wheel", "packaging", "psutil", "ninja")
"""What such builds import besides."""
NEEDS = r"likely\s+indicates\s+that\s+`([^`@]+)(?:@[^`]*)?`\s+depends\s+on\s+`([^`]+)`"
"""uv's error, whose lines it breaks."""


def find_late(output: str, requirements: Iterable[str]) -> str:
    """The requirement whose build lacks another one of them, by uv's error; empty without one."""
    found, named = re.search(NEEDS, output), {requirement_name(each): each for each in requirements}
    if found is None or requirement_name(found[2]) not in named:
        return ""
    return named.get(requirement_name(found[1]), "")


def build_flags(late: Sequence[str]) -> list[str]:
    """Flags of the run of uv that installs them. A build that uv has kept may be one beside another torch."""
    names = [requirement_name(each) for each in late]
    return [word for name in names for word in ("--no-build-isolation-package", name, "--refresh-package", name)]
