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
    """The package of a requirement, in lower case with dashes: `opt_einsum==3.3.0` -> `opt-einsum`."""
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", text.strip())
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else text.strip()


def explain_requirement(text: str) -> str:
    """`paddlepaddle==3.0.0` -> `paddlepaddle 3.0.0`; the name alone if no version is pinned."""
    match = re.fullmatch(r"\s*([\w.-]+)(?:\[[^]]*])?\s*===?\s*([\w.+!-]+)\s*(?:;.*)?", text)
    return f"{match[1]} {match[2]}" if match else requirement_name(text)
