"""The parser of tree-sitter for its grammar of bash: the one module that imports them."""

from __future__ import annotations

import re

from tree_sitter import Language, Node, Parser, Point
from tree_sitter_bash import language

_LANGUAGE = Language(language())
_PART = 1024
"""Bytes that the parser is given at a time."""
_MOST_READ = 2**24
"""Bytes that it is given for one text, those that it asks for again too: 0.2 s. At some brackets (`$[`, `A=(`, `${a%`)
its scanner looks for the end of a pattern, to the end of the text: 64 KiB of them took it 40 s. Of 64 KiB of a script
it asks for 100 KB, of a here-document with a backslash in each word for 10 MB."""

_MOST_PIPED = 300
"""Programs of one pipe. Where the grammar finds an error behind them, it looks for a way on for a time that grows with
their square, and cannot be ended there: 8,000 took 5 s."""
_BETWEEN = re.compile(rb"\|\||(\|)|[;\n]|&&")


def parse(data: bytes) -> Node | None:
    """The root of the tree of a text in UTF-8; None for one that takes too long."""
    if _has_long_pipe(data):
        return None
    left = _MOST_READ

    def read(place: int, _point: Point) -> bytes:
        nonlocal left
        part = data[place : place + _PART] if left > 0 else b""
        left -= len(part)
        return part

    try:
        # one for each text: a thread that waits in `read` lets another one parse
        tree = Parser(_LANGUAGE).parse(read, progress_callback=lambda *_: left <= 0)
    except ValueError:  # it was ended
        return None
    return tree.root_node if left > 0 else None


def _has_long_pipe(data: bytes) -> bool:
    count, end = 0, 0
    for found in _BETWEEN.finditer(data):
        if found[1]:
            count += 1
        elif found[0] != b"\n" or data[end : found.start()].strip(b" \t\n&"):  # a pipe goes on in the next line
            count = 0
        if count > _MOST_PIPED:
            return True
        end = found.end()
    return False
