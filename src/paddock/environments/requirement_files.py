"""A requirements.txt -> what uv is told of it. Pure but for the files that it names, and whether paths are there.

uv reads the lines, as it does what pip does. Here they are put together, as an environment is keyed by its content: the
files that `-r` and `-c` include, paths from the file on, options of a line on lines of their own. Refused is what
uv does not take, with the line and what to write.
"""

from __future__ import annotations

import codecs
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from urllib.parse import unquote

from paddock.environments.project_files import read_project_file
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

Read = Callable[[str], str]
"""The text of a file by its path; raises OSError."""

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+"
_REQUIREMENT = re.compile(
    rf"{_NAME}(?:\s*\[[^\]]*\])?\s*(?:@\s*\S+|\(?{_VERSION}(?:\s*,\s*{_VERSION})*,?\)?)?\s*(?:;.*)?"
)
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_BEHIND = re.compile(r"\s(?=--?[A-Za-z])")
"""Where the options of a requirement begin."""
_URL = re.compile(r"(?!file:)[a-z][a-z+]*://")
_PATH = re.compile(r"(?P<path>.+?)(?P<more>(?:\[[^\]]*\])?(?:\s*;.*?)?(?:\s--hash.*)?)")
_AT_PATH = re.compile(rf"{_NAME}(?:\s*\[[^\]]*\])?\s*@\s*(?P<path>(?:file:|\.\.?/)[^\s;#]+)")
_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2")
_LONG = {
    "--requirement": "-r", "--index-url": "-i", "--pypi-url": "-i", "--constraint": "-c", "--editable": "-e",
    "--find-links": "-f",
}  # fmt: skip
_WITH_VALUE = frozenset({"-r", "-c", "-e", "-i", "-f", "--extra-index-url", "--no-binary", "--only-binary",
                         "--trusted-host", "--use-feature"})  # fmt: skip
_ALONE = frozenset({"--no-index", "--prefer-binary", "--require-hashes", "--pre"})
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
"""That of UTF-16 begins that of UTF-32, which is asked for before it."""


@dataclass(slots=True)
class Requirements:
    """The content of requirements files."""

    packages: list[str] = field(default_factory=list)
    """Each as uv reads it on a line: `numpy<2`, `-e /home/me/mine`, `six==1.16.0 --hash=sha256:…`."""
    index_url: str = field(default="", repr=False)  # may hold a password: it is never printed
    extra_index_urls: list[str] = field(default_factory=list, repr=False)
    options: list[str] = field(default_factory=list, repr=False)
    """Further lines: `-f https://…`, `-c numpy<2`, and as a comment when a local archive has changed."""
    problems: list[Phrase] = field(default_factory=list)  # `requirements.txt:3: sentence`
    places: list[str] = field(default_factory=list)  # of each package, `requirements.txt:3`
    unshared: list[Phrase] = field(default_factory=list)
    """As `problems`: what this machine alone has, for whom sends them to another."""
    is_empty: bool = False
    """Nothing is named, and nothing is wrong but that."""


def read_text(file: str) -> str:
    """A file as pip decodes it: by its byte order mark, else UTF-8. Raises OSError, UnicodeDecodeError."""
    return decode(Path(file).read_bytes())


def decode(content: bytes) -> str:
    mark, encoding = next((each for each in _BOMS if content.startswith(each[0])), (b"", "utf-8"))
    return content[len(mark) :].decode(encoding)


def read_requirements(file: str, read: Read = read_text) -> Requirements:
    """The content of a file and of the files that it includes. Never raises: an unreadable file is a problem."""
    result = Requirements()
    _Reader(read, result).read_file(file, ())
    result.is_empty = not (result.packages or result.problems or any(each.startswith("-r ") for each in result.options))
    if result.is_empty:
        result.problems.append(
            phrase("{file}: no package is named in it; one for each line is wanted, as in numpy==1.26.4", file=file)
        )
    return result


@dataclass(slots=True)
class _Reader:
    read: Read
    result: Requirements

    def read_file(self, file: str, above: tuple[str, ...], *, constrains: bool = False) -> None:
        try:
            text = self.read(file)
        except (OSError, UnicodeDecodeError) as error:
            why = explain_unreadable(error) if isinstance(error, OSError) else phrase("not a text in UTF-8")
            self.result.problems.append(
                phrase("{file}: {why}; a requirements.txt is wanted, as pip reads it", file=file, why=why)
            )
            return
        found = read_project_file(file, text)
        if isinstance(found, Phrase):
            self.result.problems.append(phrase("{option}: {problem}", option=file, problem=found))
            return
        for number, line in _lines(text) if found is None else ((0, each) for each in found):
            line_reader = _Line(self, file, f"{file}:{number}" if number else file, above, constrains)
            if problem := line_reader.add(line):
                self.result.problems.append(line_reader.say(problem))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, of which `place` is `requirements.txt:3`."""

    reader: _Reader
    file: str
    place: str
    above: tuple[str, ...]
    constrains: bool

    @property
    def result(self) -> Requirements:
        return self.reader.result

    def say(self, problem: Phrase) -> Phrase:
        return phrase("{option}: {problem}", option=self.place, problem=problem)

    def add(self, line: str) -> Phrase | None:
        """What is wrong with it."""
        if line.startswith("-"):
            return self._add_options(line)
        requirement, *rest = _BEHIND.split(line, maxsplit=1)
        words = _split(rest[0]) if rest else []
        hashes = [each.replace(" ", "=") for each in _read_hashes(words)]
        if problem := self._add_package(" ".join((requirement.strip(), *hashes))):
            return problem
        others = [word for place, word in enumerate(words) if not _is_of_hash(words, place)]
        return self._add_options(shlex.join(others)) if others else None

    def _add_package(self, line: str) -> Phrase | None:
        if self.constrains:
            self.result.options.append(f"-c {line}")
            return None
        bare = line.partition(" --hash")[0]
        if at := _AT_PATH.match(bare):
            path = self._find(at["path"])
            if not os.path.exists(path):  # noqa: PTH110 - which raises no error
                return _found(bare, _explain_gone(path))
            self._note_archive(path)
            line = line.replace(at["path"], Path(path).as_uri(), 1)
        elif _is_path(bare):
            return self._add_path(line)
        elif not _URL.match(bare) and not bare.startswith("git+") and not _REQUIREMENT.fullmatch(bare):
            return _found(bare, _explain(bare))
        self._append(line)
        return None

    def _append(self, line: str) -> None:
        self.result.packages.append(line)
        self.result.places.append(self.place)

    def _add_path(self, text: str, option: str = "") -> Phrase | None:
        """A directory is installed as `-e` does it: a change of its files needs no new environment."""
        found = _PATH.fullmatch(text)
        path, more = (self._find(found["path"]), found["more"]) if found else (text, "")
        if not os.path.exists(path):  # noqa: PTH110 - which raises no error
            return _found(option + text, _explain_gone(path))
        if os.path.isdir(path):  # noqa: PTH112
            if not any(os.path.exists(f"{path}/{each}") for each in ("pyproject.toml", "setup.py", "setup.cfg")):  # noqa: PTH110
                return _found(
                    option + text, phrase("that directory is no package: it has no pyproject.toml and no setup.py")
                )
            self.result.unshared.append(self.say(_found(option + text, _ONLY_HERE)))
            self._append(f"-e {path}{more}")
            return None
        self._note_archive(path)
        self._append(f"{path}{more}")
        return None

    def _find(self, path: str) -> str:
        """An absolute path. Those of a file count from where it lies, so that they do not change with who asks."""
        path = unquote(path.removeprefix("file:").removeprefix("//")) if path.startswith("file:") else path
        return os.path.abspath(os.path.join(os.path.dirname(self.file), path))  # noqa: PTH100,PTH118,PTH120 - as text

    def _note_archive(self, path: str) -> None:
        try:
            state = os.stat(path)  # noqa: PTH116
        except OSError:
            return
        self.result.options.append(f"# {path} {state.st_size} {state.st_mtime_ns}")

    def _add_options(self, line: str) -> Phrase | None:
        words = _split(line)
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if not equals and re.match(r"-[a-z]\S", word):
                name, value, equals = word[:2], word[2:], "="
            option = _LONG.get(name, name)
            if option in _WITH_VALUE and not equals:
                if not words:
                    return _found(name, phrase("a value is wanted behind it"))
                value = words.pop(0)
            if problem := self._add_option(option, name, value):
                return problem
        return None

    def _add_option(self, option: str, name: str, value: str) -> Phrase | None:
        if option in ("-r", "-c"):
            return self._add_file(option, value)
        if option == "-e":
            url = bool(_URL.match(value) or value.startswith("git+"))  # an editable clone trains as a plain one
            return self._add_package(value) if url else self._add_path(value, "-e ")
        if option in ("-i", "--extra-index-url"):
            return self._add_index(option, name, value)
        if option == "-f" and "://" not in value and os.path.exists(place := self._find(value)):  # noqa: PTH110
            value = place
        if option in _WITH_VALUE or option in _ALONE:
            self.result.options.append(f"{option} {value}".strip())
            return None
        return _found(name, phrase("uv, which installs, takes no such option in a requirements file: leave it out"))

    def _add_index(self, option: str, name: str, value: str) -> Phrase | None:
        if problem := explain_url(value):
            return phrase("{option}: {problem}", option=name, problem=problem)
        if option == "-i":
            self.result.index_url = value
        else:
            self.result.extra_index_urls.append(value)
        return None

    def _add_file(self, option: str, name: str) -> Phrase | None:
        if "://" in name:
            self.result.options.append(f"{option} {name}")
            return None
        path = str(PurePath(self.file).parent / name)
        if path in (self.file, *self.above):
            return phrase("-r {name} leads back to this file", name=name)
        self.reader.read_file(path, (self.file, *self.above), constrains=self.constrains or option == "-c")
        return None


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


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quotation mark
        return text.split()


def _is_of_hash(words: list[str], place: int) -> bool:
    return words[place].startswith("--hash") or (place > 0 and words[place - 1] == "--hash")


def _read_hashes(words: list[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        if word == "--hash":
            yield f"--hash={''.join(words[place + 1 : place + 2])}"
        elif word.startswith("--hash="):
            yield word


def _is_path(text: str) -> bool:
    if _URL.match(text) or text.startswith("git+") or "@ " in text:
        return False
    bare = text.partition(";")[0].strip()
    return text.startswith((".", "/", "file:")) or "/" in bare.partition("[")[0] or bare.endswith(_ARCHIVES)


def _found(found: str, why: Phrase) -> Phrase:
    return phrase("found {found}; {why}", found=repr(found), why=why)


_ONLY_HERE = phrase(
    "a directory of this machine is no content that others can share: build a wheel of it (pip wheel DIR) and "
    "write NAME @ file:///…/NAME-VERSION.whl"
)


def _explain_gone(path: str) -> Phrase:
    if "/feedstock_root/" in path or "/croot/" in path:
        return phrase("conda built it there, on another machine: write the version, NAME==VERSION; "
                      "`pip list --format=freeze` writes all of them so")  # fmt: skip
    return phrase("{path} is not there", path=path)


def _explain(line: str) -> Phrase:
    if "${" in line:
        return phrase("uv, which installs, takes no variable there: write its value")
    if single := re.fullmatch(rf"({_NAME})\s*=\s*([\w.]+)(=\S+)?", line):
        return phrase("one = is none: did you mean {package}?", package=f"{single[1]}=={single[2]}")
    return phrase("a package is wanted, and which versions of it, as in numpy>=1.24,<2")


def explain_url(text: str) -> Phrase | None:
    """Why it is no URL of a package index. The URL, which may hold a password, is not printed."""
    if re.fullmatch(r"(https?|file)://\S+", text):
        return None
    return phrase("an address that begins with https://, http:// or file:// is wanted")
