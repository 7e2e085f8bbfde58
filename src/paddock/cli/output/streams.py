"""Standard streams: what is printed to them without a console, and what becomes of it when nobody reads it any more or
they take no more. Imports little: every command comes by here.

Text of other people's programs and servers is cleaned here and in `cli.output.terminal`, and nowhere before: everything
that the command line prints passes one of the two (ruff forbids `print` elsewhere). Lines of a log are printed as they
are.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from paddock.kube.printable import escape_json, show

GAP = "   "
"""Between two columns of a table."""


def print_line(text: str = "", *, end: str = "\n", to: IO[str] | None = None, flush: bool = False) -> None:
    """Prints to stdout, or `to` another stream, what a terminal acts on made visible. JSON of `write_json` and YAML of
    `manifests.yaml_texts` have escapes for it already. Raises OSError."""
    print(show(text), end=end, file=to, flush=flush)


def print_notice(text: str) -> None:
    """The same to stderr. One that cannot be written ends no command."""
    with suppress(OSError):
        print_line(text, to=sys.stderr, flush=True)


def print_answer(text: str) -> None:
    """The same, at once, to stdout. What nobody reads is dropped, as the exit code of the command is an answer too."""
    try:
        print_line(text, flush=True)
    except BrokenPipeError:
        drop_output(sys.stdout)


def write_json(document: object, *, indent: int | None = 4, default: Callable[[Any], Any] | None = None) -> str:
    """The document as JSON, what a terminal acts on escaped: every value is the same. `default`: as of `json.dumps`."""
    return escape_json(json.dumps(document, indent=indent, ensure_ascii=False, default=default))


def print_log(text: str, to: IO[str]) -> None:
    """Prints lines of a program's log as they are, at once: the one thing that is not cleaned. Raises OSError."""
    print(text, end="", file=to, flush=True)


def drop_output(stream: IO[str]) -> None:
    """What is printed to this stream from now on is lost: nobody reads it, or it cannot be written."""
    with suppress(OSError, ValueError):  # a stream of a Python program, which is no file
        place = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, place)
        os.close(nowhere)
