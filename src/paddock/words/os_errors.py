"""Errors of the operating system for an unreadable file, as phrases."""

from __future__ import annotations

import errno

from paddock.words.phrases import Phrase, phrase

_KNOWN = {
    errno.ENOENT: phrase("No such file or directory"),
    errno.EISDIR: phrase("Is a directory"),
    errno.ENOTDIR: phrase("Not a directory"),
    errno.EACCES: phrase("Permission denied"),
    errno.ENOSPC: phrase("No space left on device"),
    errno.EDQUOT: phrase("Disk quota exceeded"),
}


def is_of_output(error: OSError) -> bool:
    """Whether it says that no more can be written: the reader of a pipe has gone, or a disk is full."""
    return error.errno in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)


def explain_unreadable(error: OSError) -> Phrase | str:
    """A translated phrase for usual errors, else the C library's text."""
    return _KNOWN.get(error.errno or 0) or error.strerror or type(error).__name__
