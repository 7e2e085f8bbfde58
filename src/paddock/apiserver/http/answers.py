"""Answers in JSON, with warnings in their headers."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

_MOST_WARNINGS = 100
_MOST_WARNING_CHARACTERS = 4 * 1024
_CUT_WARNING_CHARACTERS = 256


def answer_json(body: bytes, status: int = 200, warnings: tuple[str, ...] = ()) -> web.Response:
    response = web.Response(
        body=body, status=status, content_type="application/json", headers={"Cache-Control": "no-cache, private"}
    )
    add_warnings(response, warnings)
    return response


def add_warnings(response: web.StreamResponse, warnings: Sequence[str]) -> None:
    """Writes each into a header of a response that is not sent yet."""
    for warning in cut_warnings(warnings):
        # A line break cannot stand in a header, and quotes end the text: the form is `299 - "text"`, as in Kubernetes.
        text = "".join(char for char in warning if char.isprintable()).replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')


def cut_warnings(warnings: Sequence[str]) -> list[str]:
    """The warnings that fit into the headers of an answer. Kubernetes' limits are the same (truncateAtTotalRunes)."""
    if len(warnings) <= _MOST_WARNINGS and sum(map(len, warnings)) <= _MOST_WARNING_CHARACTERS:
        return list(warnings)
    cut: list[str] = []
    for warning in warnings[:_MOST_WARNINGS]:
        cut.append(warning[:_CUT_WARNING_CHARACTERS])
        if sum(map(len, cut)) > _MOST_WARNING_CHARACTERS:
            cut.pop()
            break
    return cut
