"""Bytes of a pod's log -> whole lines. Pure."""

from __future__ import annotations

import codecs
import re

from paddock.logs.folding import Folding

_LONGEST = 1 << 16
"""Bytes after which an unfinished line is cut: a program that prints no line end must not fill the memory."""

_CODES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


class Unended(str):
    """A line without a line end: the last of a log, or the first part of one that is too long to be held."""

    __slots__ = ()


class Lines:
    """Splits one pod's stream into lines; a carriage return replaces the line, as on a terminal. `raw`: it does not."""

    def __init__(self, *, raw: bool = False) -> None:
        self._rest = b""
        self._raw = raw
        self._is_drawn = False
        self.seen = 0

    @property
    def live(self) -> str:
        """The state of a progress bar that is being drawn; empty without one."""
        return _text(self._rest).strip() if self._is_drawn else ""

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that are complete now."""
        self.seen += len(chunk)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        self._is_drawn = b"\r" in self._rest or (self._is_drawn and not whole)
        if not self._raw:
            self._rest = _newest(self._rest)
        lines = [self._read(line) for line in whole]
        if len(self._rest) > _LONGEST:
            _, end = codecs.utf_8_decode(self._rest, "replace", False)  # a character is not cut
            lines.append(Unended(self._read(self._rest[:end])))
            self._rest = self._rest[end:]
        return lines

    def end(self) -> list[str]:
        """The last line, if the stream ended without a line end."""
        rest, self._rest = self._rest, b""
        return [Unended(self._read(rest))] if rest else []

    def _read(self, line: bytes) -> str:
        return line.rstrip(b"\r").decode("utf-8", "replace") if self._raw else _text(line)


def _newest(line: bytes) -> bytes:
    """What is left of a line that is being written: a bar of hours has no line end."""
    last = line.rfind(b"\r", 0, len(line.rstrip(b"\r")))
    return line if last < 0 else line[last + 1 :]


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")


def build_tail(log: bytes, lines: int) -> list[str]:
    """The last lines that are not blank, without what launchers and libraries print of themselves; with it if there is
    nothing else. Without colours, as what is quoted is cleaned."""
    cutter, folding = Lines(), Folding()
    whole = [_CODES.sub("", line).rstrip() for line in (*cutter.feed(log), *cutter.end())]
    shown = [*folding.feed(whole), *folding.end()]
    said = [line for line in shown if line.strip()] or [line for line in whole if line.strip()]
    return said[-lines:]
