"""Standard streams that nobody reads any more, or that take no more. Imports little: every command comes by here."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO


def print_answer(text: str) -> None:
    """Prints to stdout. What nobody reads is dropped, as the exit code of the command is an answer too."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output(sys.stdout)


def drop_output(stream: IO[str]) -> None:
    """What is printed to this stream from now on is lost: nobody reads it, or it cannot be written."""
    with suppress(OSError, ValueError):  # a stream of a Python program, which is no file
        place = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, place)
        os.close(nowhere)
