"""uv's error -> the interpreters and platforms that a package has wheels for. Pure."""

from __future__ import annotations

import re

from paddock.words.phrases import Phrase, phrase


def join_lines(output: str) -> str:
    """The output in one line, as uv breaks its sentences by the width of a terminal."""
    return re.sub(r"\s*\n\s*", " ", output)


def read_allowed_pythons(output: str) -> str:
    """The specifier of the interpreters that uv's error names as allowed: `>=3.8,<3.14`; empty if it names none.

    From the tags of the existing wheels (versions between them without a wheel are excluded), or from Requires-Python.
    """
    output = join_lines(output)
    minors = read_minors(output)
    if not minors:
        required = re.search(
            r"current Python version \([\d.]+\) does not satisfy Python([<>=!~]=?\d+(?:\.\d+)*(?:\.\*)?)[ ,]", output
        )
        return required[1] if required else ""
    gaps = (f"!=3.{minor}.*" for minor in range(minors[0], minors[-1]) if minor not in minors)
    return ",".join((f">=3.{minors[0]}", f"<3.{minors[-1] + 1}", *gaps))


def read_minors(output: str) -> list[int]:
    """12 and 13, of the tags `cp312` and `cp313` that uv lists. `output`: in one line."""
    tags = re.search(r"following Python (?:ABI|implementation|version) tags?: (.*)", output)
    return sorted({int(minor) for minor in re.findall(r"`cp3(\d+)", tags[1])}) if tags else []


def platform_name(tag: str) -> Phrase | str:
    """`manylinux2014_aarch64` -> `Linux aarch64`; `musllinux_1_2_x86_64` -> `Linux x86_64 with musl (Alpine)`."""
    machine = re.sub(r"^(manylinux|musllinux|macosx|linux|win)(\d+|(_\d+)+)?_", "", tag)
    if tag.startswith("win"):
        return "Windows"
    system = "macOS" if tag.startswith("macosx") else "Linux"
    named = f"{system} {machine}"
    return phrase("{machine} with musl (Alpine)", machine=named) if tag.startswith("musl") else named
