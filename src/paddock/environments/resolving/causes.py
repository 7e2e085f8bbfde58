"""The cause in uv's error, whose form depends on uv's version. Pure."""

from __future__ import annotations

import re

from paddock.words.phrases import phrase

_CAUSE = re.compile(
    r"(?:cause:|Caused by:|╰─▶|├─▶)\s*(.+?)(?=\s*(?:\n\s*\n|\n\s*(?:cause|hint):|\n\s*\^|\Z))", re.DOTALL
)


def read_cause(output: str) -> str:
    """The first cause in uv's error: after `cause:` since uv 0.13, in a drawn tree before."""
    match = _CAUSE.search(output)
    if match is None:
        return error_line(output)
    return " ".join(re.sub(r"\n[ │╰├─▶]*", " ", match[1]).split()).rstrip(".")


def error_line(output: str) -> str:
    """The last line that is an error, else the last one; at most 300 characters."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(error|×|x )", line)]
    chosen = errors[-1] if errors else lines[-1] if lines else str(phrase("it ended without a word"))
    return re.sub(r"^(error:|×)\s*", "", chosen).rstrip(".")[:300]
