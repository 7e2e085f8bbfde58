"""Bytes of a pod's log -> whole lines. Pure."""

from __future__ import annotations

_LONGEST = 1 << 16
"""Bytes after which an unfinished line is cut: a program that prints no line end must not fill the memory."""


class Lines:
    """Splits one pod's stream into lines; a carriage return replaces the line, as on a terminal."""

    def __init__(self) -> None:
        self._rest = b""
        self.seen = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that are complete now."""
        self.seen += len(chunk)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST:
            whole.append(self._rest)
            self._rest = b""
        return [_text(line) for line in whole]

    def end(self) -> list[str]:
        """The last line, if the stream ended without a line end."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")


def build_tail(text: str, lines: int) -> list[str]:
    """The last lines that are not blank."""
    said = [line.rstrip() for line in text.splitlines() if line.strip()]
    return said[-lines:]
