"""A requirements.txt as pip reads it -> what an Environment can hold. Pure but for the files that `-r` names.

An environment is shared by all who ask for the same content, so what is not content has no place in it: directories on
this machine, editable installations. What is refused is refused with its line and with what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

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
    "-c": "constraints are not read: write the versions into the requirements",
    "-e": "a directory of this machine is no content that others can share: build a wheel of it (pip wheel DIR) and "
    "write NAME @ file:///…/NAME-VERSION.whl",
    "--hash": "hashes are not kept: pin the version, NAME==VERSION",
}
_LONG = {
    "--requirement": "-r", "--index-url": "-i", "--pypi-url": "-i", "--constraint": "-c", "--editable": "-e",
}  # fmt: skip


@dataclass(slots=True)
class Requirements:
    """`index_url` may hold a password: it is never printed. `problems`: `requirements.txt:3: sentence`."""

    packages: list[str] = field(default_factory=list)
    index_url: str = field(default="", repr=False)
    extra_index_urls: list[str] = field(default_factory=list, repr=False)
    problems: list[str] = field(default_factory=list)


def read_requirements(file: str, read: Read) -> Requirements:
    """Of a file and of those that it names. Never raises: what cannot be read is a problem."""
    result = Requirements()
    _read(file, read, result, ())
    if not result.packages and not result.problems:
        result.problems.append(f"{file}: no package is named in it; one for each line is wanted, as in numpy==1.26.4")
    return result


def _read(file: str, read: Read, result: Requirements, above: tuple[str, ...]) -> None:
    try:
        text = read(file)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        result.problems.append(f"{file}: {why}; a requirements.txt is wanted, as pip reads it")
        return
    for number, line in _lines(text):
        option = _OPTION.fullmatch(line) if line.startswith("-") else None
        if option is None:
            problem = _add_package(line, result)
        elif _short(option[1]) == "-r":
            problem = _add_file(file, option[2].strip(), read, result, above)
        else:
            problem = _add_option(option[1], option[2].strip(), result)
        if problem:
            result.problems.append(f"{file}:{number}: {problem}")


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


def _add_package(line: str, result: Requirements) -> str:
    if " --hash" in line:
        return f"found --hash; {_EXPLAINED['--hash']}"
    if not _REQUIREMENT.fullmatch(line):
        return f"found {line!r}; {_explain(line)}"
    result.packages.append(line)
    return ""


def _explain(line: str) -> str:
    if single := re.fullmatch(rf"({_NAME})\s*=\s*([\w.]+)", line):
        return f"one = is none: did you mean {single[1]}=={single[2]}?"
    wheel = re.fullmatch(r"(?:\S*/)?([A-Za-z0-9.]+(?:_[A-Za-z0-9.]+)*)-\d\S*\.whl", line)
    if wheel:
        place = line if "://" in line else Path(line).absolute().as_uri()
        return f"write {wheel[1]} @ {place}"
    if line.startswith((".", "/", "~")) or "/" in line:
        return _EXPLAINED["-e"]
    return "a package is wanted, and which versions of it, as in numpy>=1.24,<2"


def _add_file(file: str, name: str, read: Read, result: Requirements, above: tuple[str, ...]) -> str:
    path = name if "://" in name else str(PurePath(file).parent / name)
    if path in (file, *above):
        return f"-r {name} leads back to this file"
    _read(path, read, result, (file, *above))
    return ""


def _add_option(option: str, value: str, result: Requirements) -> str:
    short = _short(option)
    if short in ("-i", "--extra-index-url"):
        if problem := explain_url(value):
            return f"{option}: {problem}"
        if short == "-i":
            result.index_url = value
        else:
            result.extra_index_urls.append(value)
        return ""
    said = _EXPLAINED.get(short, "an environment has packages, --index-url and --extra-index-url, and no other option")
    return f"found {option}; {said}"


def _short(option: str) -> str:
    return _LONG.get(option, option)


def explain_url(text: str) -> str:
    """Why it is no address of a package index, or ''. The address itself, which may hold a password, is not told."""
    return (
        ""
        if re.fullmatch(r"(https?|file)://\S+", text)
        else "an address that begins with https://, http:// or file:// is wanted"
    )
