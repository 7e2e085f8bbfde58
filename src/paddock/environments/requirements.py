"""One requirement of pip as text: its package, its compact form, its form in messages. Pure."""

from __future__ import annotations

import re


def normalise_requirement(text: str) -> str:
    """`Protobuf < 7` -> `protobuf<7`: the name as in PEP 503, without spaces outside the marker."""
    requirement, semicolon, marker = text.partition(";")
    compact = re.sub(r"\s+", "", requirement)
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", compact)
    if match is not None and "@" not in compact:
        compact = re.sub(r"[-_.]+", "-", match[0]).lower() + compact[match.end() :]
    return compact + (";" + " ".join(marker.split()) if semicolon else "")


def requirement_name(text: str) -> str:
    """The package of a requirement, in lower case with dashes: `opt_einsum==3.3.0` -> `opt-einsum`; of a URL and of a
    path, what the last part calls it: `git+https://github.com/openai/CLIP.git` -> `clip`."""
    text = text.strip()
    if "@ " not in text and (place := re.match(r"(?:-e )?((?:[a-z+]+:/)?/[^\s;[]+)", text)):
        named = re.search(r"[#&]egg=([\w.-]+)", place[1])
        text = named[1] if named else _name_last(place[1])
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", text)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else text


def _name_last(place: str) -> str:
    """`/w/my_lib-1.0-py3-none-any.whl`, `https://x.example/my_lib.git@v1` -> `my_lib`."""
    last = place.partition("#")[0].rstrip("/").rpartition("/")[2].partition("@")[0]
    return re.sub(r"(-\d.*)?\.(git|whl|zip|tgz|tar\.\w+)$", "", last)


def explain_requirement(text: str) -> str:
    """`paddlepaddle==3.0.0` -> `paddlepaddle 3.0.0`; the name alone if no version is pinned."""
    match = re.fullmatch(r"\s*([\w.-]+)(?:\[[^]]*])?\s*===?\s*([\w.+!-]+)\s*(?:;.*)?", text)
    return f"{match[1]} {match[2]}" if match else requirement_name(text)
