"""Which names of a source become files, and which are refused. Pure.

A name is a path below the dataset, with "/" between its parts: what is left of an object's key behind the prefix, the
path of a file in a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetching import STATE_DIRECTORY
from paddock.words.phrases import Phrase, phrase

LONGEST_PART = 255
"""Bytes of one part of a path: Linux' NAME_MAX."""

LONGEST = 3000
"""Bytes of a name: below Linux' PATH_MAX of 4096, with room for the directory of the dataset."""


def check_name(name: str) -> None:
    """Raises `FetchError` for a name that cannot be a file within the dataset; it tells the name and why."""
    if problem := find_problem(name):
        raise FetchError(problem)


def find_problem(name: str) -> Phrase | None:
    """Why a name is refused, with what to do; None if it is not."""
    file, parts = show(name), name.split("/")
    if not name:
        return phrase(
            "the source has a file {file}, which has no name: rename it there, or leave it out (spec.source.exclude)",
            file=file,
        )
    if name.startswith("/"):
        return phrase(
            'the source has a file {file}, whose name begins with "/": rename it there, or leave it out '
            "(spec.source.exclude)",
            file=file,
        )
    if (part := next((part for part in parts if part in ("", ".", "..")), None)) is not None:
        return _explain_part(file, part)
    if any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in name):
        return phrase(
            "the source has a file {file}, whose name has a control character: rename it there, or leave it out "
            "(spec.source.exclude)",
            file=file,
        )
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return phrase(
            "the source has a file {file}, whose name is no text in UTF-8: rename it there, or leave it out "
            "(spec.source.exclude)",
            file=file,
        )
    if f"{parts[0]}.".startswith(f"{STATE_DIRECTORY}.") and not _is_long(lengths):
        return phrase(
            'the source has a file {file}, and "{found}" is the name of Paddock\'s own directory in a dataset: rename '
            "it there, or leave it out (spec.source.exclude)",
            file=file, found=parts[0],
        )  # fmt: skip
    return _explain_length(file, lengths) if _is_long(lengths) else None


def _explain_part(file: str, part: str) -> Phrase:
    if not part:
        return phrase(
            'the source has a file {file}, whose name has a part "": rename it there, or leave it out '
            "(spec.source.exclude)",
            file=file,
        )
    return phrase(
        'the source has a file {file}, whose name has a part "{found}": rename it there, or leave it out '
        "(spec.source.exclude)",
        file=file, found=part,
    )  # fmt: skip


def _is_long(lengths: Sequence[int]) -> bool:
    """`lengths`: bytes of the parts of a name."""
    return max(lengths) > LONGEST_PART or sum(lengths) + len(lengths) > LONGEST


def _explain_length(file: str, lengths: Sequence[int]) -> Phrase:
    if max(lengths) > LONGEST_PART:
        return phrase(
            "the source has a file {file}, whose name has a part of {number} bytes, and {most} are allowed: rename it "
            "there, or leave it out (spec.source.exclude)",
            file=file, number=max(lengths), most=LONGEST_PART,
        )  # fmt: skip
    return phrase(
        "the source has a file {file}, whose name has {number} bytes, and {most} are allowed: rename it there, or "
        "leave it out (spec.source.exclude)",
        file=file, number=sum(lengths) + len(lengths) - 1, most=LONGEST,
    )  # fmt: skip


def show(name: str) -> str:
    """A name in quotes, at most 200 characters, each of which can be shown."""
    return '"' + "".join(each if each.isprintable() else "?" for each in name[:200]) + '"'


class Order:
    """The names of a listing, one by one: finds a file that is also a directory of another, as "a" and "a/b" in s3.

    Memory is bounded, as long as names come in the order of their bytes, as S3 lists them: between "a" and "a/b" all
    begin with "a", so a stack of names, each the beginning of the next, has the one that matters. `ordered`: they do;
    where not, `find_clash` looks at all of them.
    """

    def __init__(self) -> None:
        self.ordered = True
        self._stack: list[str] = []
        self._last = b""

    def add(self, name: str) -> str:
        """The earlier name that is a directory of this one; empty if there is none."""
        encoded = name.encode()
        self.ordered = self.ordered and self._last <= encoded
        if not self.ordered:
            return ""
        self._last = encoded
        while self._stack and not name.startswith(self._stack[-1]):
            self._stack.pop()
        clash = next((each for each in self._stack if name.startswith(each + "/")), "")
        self._stack.append(name)
        return clash


def find_clash(names: Iterable[str]) -> tuple[str, str] | None:
    """A name that is a directory of another, and that other; in any order."""
    known = set(names)
    for name in known:
        parts = name.split("/")
        for count in range(1, len(parts)):
            if (above := "/".join(parts[:count])) in known:
                return above, name
    return None


class Patterns:
    """`spec.source.include` and `exclude`: shell patterns of whole names, in which `*` also matches "/", as hubs read
    them. `train/` is all below it; `**/x` is also `x`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = tuple(_spread(include))
        self._exclude = tuple(_spread(exclude))

    def wants(self, name: str) -> bool:
        if self._include and not any(fnmatchcase(name, each) for each in self._include):
            return False
        return not any(fnmatchcase(name, each) for each in self._exclude)


def _spread(patterns: Sequence[str]) -> list[str]:
    whole = [each + "*" if each.endswith("/") else each for each in patterns]
    return whole + [each.removeprefix("**/") for each in whole if each.startswith("**/")]
