"""A requirements.txt by pip's rules -> the content of an Environment. Pure except for the files that `-r` names.

An environment is keyed by its content and shared, so directories of this machine and editable installations are
refused, with the line and an alternative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

Read = Callable[[str], str]
"""The text of a file by its path; raises OSError."""

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_REQUIREMENT = re.compile(
    rf"{_NAME}(?:\s*\[[^\]]*\])?\s*(?:@\s*\S+|\(?{_VERSION}(?:\s*,\s*{_VERSION})*\)?)?\s*(?:;.*)?"
)
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)(?:\s*=\s*|\s+|$)(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_EXPLAINED = {
    "-c": phrase("constraints are not read: write the versions into the requirements"),
    "-e": phrase(
        "a directory of this machine is no content that others can share: build a wheel of it (pip wheel DIR) and "
        "write NAME @ file:///…/NAME-VERSION.whl"
    ),
    "--hash": phrase("hashes are not kept: pin the version, NAME==VERSION"),
}
_NO_OPTION = phrase("an environment has packages, --index-url and --extra-index-url, and no other option")
_LONG = {
    "--requirement": "-r", "--index-url": "-i", "--pypi-url": "-i", "--constraint": "-c", "--editable": "-e",
}  # fmt: skip


@dataclass(slots=True)
class Requirements:
    """The content of requirements files."""

    packages: list[str] = field(default_factory=list)
    index_url: str = field(default="", repr=False)  # may hold a password: it is never printed
    extra_index_urls: list[str] = field(default_factory=list, repr=False)
    problems: list[Phrase] = field(default_factory=list)  # `requirements.txt:3: sentence`
    places: list[str] = field(default_factory=list)  # of each package, `requirements.txt:3`


def read_requirements(file: str, read: Read) -> Requirements:
    """The content of a file and of the files that it includes. Never raises: an unreadable file is a problem."""
    result = Requirements()
    _read(file, read, result, ())
    if not result.packages and not result.problems:
        result.problems.append(
            phrase("{file}: no package is named in it; one for each line is wanted, as in numpy==1.26.4", file=file)
        )
    return result


def _read(file: str, read: Read, result: Requirements, above: tuple[str, ...]) -> None:
    try:
        text = read(file)
    except (OSError, UnicodeDecodeError) as error:
        why = explain_unreadable(error) if isinstance(error, OSError) else phrase("not a text in UTF-8")
        result.problems.append(
            phrase("{file}: {why}; a requirements.txt is wanted, as pip reads it", file=file, why=why)
        )
        return
    for number, line in _lines(text):
        option = _OPTION.fullmatch(line) if line.startswith("-") else None
        if option is None:
            problem = _add_package(line, f"{file}:{number}", result)
        elif _short(option[1]) == "-r":
            problem = _add_file(file, option[2].strip(), read, result, above)
        else:
            problem = _add_option(option[1], option[2].strip(), result)
        if problem:
            result.problems.append(phrase("{file}:{line}: {problem}", file=file, line=number, problem=problem))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered; a backslash at its end joins a line with the next, and ` #` begins a comment."""
    joined, first = "", 0
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        first = first if joined else number
        joined += line
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        if said := _COMMENT.sub("", joined).strip():
            yield first, said
        joined = ""
    if said := _COMMENT.sub("", joined).strip():
        yield first, said


def _add_package(line: str, place: str, result: Requirements) -> Phrase | None:
    if " --hash" in line:
        return _found("--hash", _EXPLAINED["--hash"])
    if not _REQUIREMENT.fullmatch(line):
        return _found(repr(line), _explain(line))
    result.packages.append(line)
    result.places.append(place)
    return None


def _found(found: str, why: Phrase) -> Phrase:
    return phrase("found {found}; {why}", found=found, why=why)


def _explain(line: str) -> Phrase:
    if single := re.fullmatch(rf"({_NAME})\s*=\s*([\w.]+)", line):
        return phrase("one = is none: did you mean {package}?", package=f"{single[1]}=={single[2]}")
    wheel = re.fullmatch(r"(?:\S*/)?([A-Za-z0-9.]+(?:_[A-Za-z0-9.]+)*)-\d\S*\.whl", line)
    if wheel:
        place = line if "://" in line else Path(line).absolute().as_uri()
        return phrase("write {package}", package=f"{wheel[1]} @ {place}")
    if line.startswith((".", "/", "~")) or "/" in line:
        return _EXPLAINED["-e"]
    return phrase("a package is wanted, and which versions of it, as in numpy>=1.24,<2")


def _add_file(file: str, name: str, read: Read, result: Requirements, above: tuple[str, ...]) -> Phrase | None:
    path = name if "://" in name else str(PurePath(file).parent / name)
    if path in (file, *above):
        return phrase("-r {name} leads back to this file", name=name)
    _read(path, read, result, (file, *above))
    return None


def _add_option(option: str, value: str, result: Requirements) -> Phrase | None:
    short = _short(option)
    if short in ("-i", "--extra-index-url"):
        if problem := explain_url(value):
            return phrase("{option}: {problem}", option=option, problem=problem)
        if short == "-i":
            result.index_url = value
        else:
            result.extra_index_urls.append(value)
        return None
    return _found(option, _EXPLAINED.get(short, _NO_OPTION))


def _short(option: str) -> str:
    return _LONG.get(option, option)


def explain_url(text: str) -> Phrase | None:
    """Why it is no URL of a package index. The URL, which may hold a password, is not printed."""
    if re.fullmatch(r"(https?|file)://\S+", text):
        return None
    return phrase("an address that begins with https://, http:// or file:// is wanted")
