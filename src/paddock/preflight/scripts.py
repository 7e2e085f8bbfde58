"""The problems of a shell script: what its launchers would do with their options, and what was not read. Pure.

A script is not run. What is not followed is said once for each place, and judged nowhere.
"""

from __future__ import annotations

import codecs
import posixpath
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from paddock.launches.budget import LARGEST
from paddock.launches.launch import Launch
from paddock.launches.launchers import BY_PROGRAM, find_by_module
from paddock.launches.programs import Kind
from paddock.launches.reading import ReadFile, Reading, read_container, read_script
from paddock.manifests.parts import read_parts
from paddock.manifests.yaml_nodes import Document
from paddock.preflight.command_words import explain_ends, explain_launch_words, find_unseen
from paddock.preflight.continuations import Ending, find_endings
from paddock.preflight.paddle_options import explain_launch, is_paddle
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


@dataclass(frozen=True, slots=True)
class ScriptRead:
    """What was found in a shell script."""

    problems: tuple[Problem, ...]
    """With their lines."""
    launches: int
    """How many commands start a launcher of PaddlePaddle, PyTorch or another library."""


def check_encoding(data: bytes) -> tuple[Problem, ...]:
    """What a shell does with the beginning of a file that an editor or PowerShell has written."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return (_place(phrase("the file is written in UTF-16, which no shell reads: save it as UTF-8"), 1, "error"),)
    if data.startswith(codecs.BOM_UTF8):
        said = phrase(
            "the file begins with a mark of its byte order, which a shell takes for a part of the first word: save it "
            "as UTF-8 without it, or `sed -i '1s/^\\xEF\\xBB\\xBF//' FILE`"
        )
        return (_place(said, 1),)
    return ()


def check_lines(text: str) -> tuple[Problem, ...]:
    """What a shell does with the ends of lines of another system."""
    if "\r\n" not in text:
        return ()
    said = phrase(
        "lines end with CRLF, and a shell takes the carriage return for a part of the last word: "
        "`sed -i 's/\\r$//' FILE` takes them away"
    )
    return (_place(said, 1),)


def check_continuations(text: str) -> tuple[Problem, ...]:
    """Commands of several lines that end before their last one."""
    return tuple(map(_place_ending, find_endings(text)))


def _place_ending(ending: Ending) -> Problem:
    return _place(ending.said, ending.line)


def check_script(text: str, read_file: ReadFile | None = None, *, name: str = "", start: str = "") -> ScriptRead:
    """`read_file`: the text of another script that this one runs; `name`, `start`: its path, and the directory from
    which it is seen, as in `read_script`."""
    reading = read_script(text, read_file=read_file, name=name, start=start)
    endings = [] if reading.open_quote else list(find_endings(text))
    problems = [_place(said, line) for line, said in _explain_unread(reading, {each.following for each in endings})]
    for launch in reading.launches:
        is_cut = any(each.first == launch.line for each in endings)
        problems += [_place(said, launch.line) for said in explain_launch_words(launch, is_cut=is_cut)]
    for launch in filter(is_paddle, reading.launches):
        found = explain_launch(launch, has_master="PADDLE_MASTER" in launch.environment)
        problems += [_place(each.said, launch.line, each.severity) for each in found]
    if (unseen := find_unseen(reading)) is not None:
        problems += [_place(said, unseen.line) for said in explain_ends(reading)]
    statement = reading.open_statement
    if statement is not None and not reading.open_quote:
        said = phrase("`{word}` is not closed: a shell refuses the script; write `{end}` behind it",
                      word=statement.word, end=statement.end)  # fmt: skip
        problems.append(_place(said, statement.line))
    if reading.open_quote:
        said = phrase("a quote is not closed: the shell reads to the end of the file")
        problems.append(_place(said, reading.open_quote, "error"))
    problems += [*check_lines(text), *map(_place_ending, endings)]
    ordered = sorted(problems, key=lambda each: each.line or 0)
    return ScriptRead(tuple(ordered), len(reading.distributed))


def check_named_scripts(document: Document, read_file: ReadFile) -> Iterator[Problem]:
    """The scripts that the commands of pods name, and that do not end as the program that trains."""
    for part in read_parts(document.manifest):
        for container in part.containers():
            typed, read = read_container(container.value), read_container(container.value, read_file)
            if find_unseen(typed) is not None or not typed.launches:
                continue  # a text in the command, which is told with the command
            for said in explain_ends(read):
                path = f"{container.path}.{'command' if container.value.get('command') else 'args'}"
                found = phrase("{script}: {said}", script=typed.launches[0].program.script, said=said)
                place = document.position_of(path)
                yield replace(told(path, found, severity="warning"), line=place.line, column=place.column)


def _place(said: Phrase, line: int, severity: str = "warning") -> Problem:
    return replace(told("", said, severity=severity), line=line, column=1)


def _explain_unread(reading: Reading, behind: Container[int]) -> Iterator[tuple[int, Phrase]]:
    """Lines, and what is there that may start a launcher and was not followed. `behind`: lines behind a command that
    ends too early, of which `continuations` tells."""
    for launch in reading.launches:
        if launch.starts:
            yield launch.line, phrase(
                "{program} may start {launcher}: it is not read",
                program=launch.program.word.typed, launcher=launch.starts,
            )  # fmt: skip
        elif not reading.distributed and (named := _name_unread(launch)):
            yield launch.line, phrase("{program} is named here, and not read", program=named)
        begins_with_option = launch.program.word.beginning.startswith("-") and launch.program.kind is Kind.PROGRAM
        if begins_with_option and launch.line not in behind:
            yield launch.line, phrase(
                "`{word}` begins a command of its own: at the end of the line before, no backslash stands, or a blank "
                "behind it",
                word=launch.program.word.typed,
            )  # fmt: skip
    for each in reading.unread if not reading.open_quote else ():
        if launcher := _find_launcher(each.text):
            yield each.line, phrase("{launcher} is named here, and not read", launcher=launcher)
    if not reading.whole:
        yield 1, phrase("not all of it is read: it is longer than {most} KiB, or has more commands and calls than are "
                        "read", most=LARGEST // 1024)  # fmt: skip


def _name_unread(launch: Launch) -> str:
    """A script, or a word of which nothing is known, that may start a launcher."""
    program = launch.program
    is_script = bool(program.shell_name) or program.script.endswith(".sh")
    if program.kind is Kind.UNKNOWN or (is_script and program.kind in (Kind.SCRIPT, Kind.PROGRAM)):
        return program.word.typed
    return ""


def _find_launcher(text: str) -> str:
    """A launcher among the words of a text that could not be read."""
    words = [word.strip("'\"();&|`") for word in text.split()]
    named = (word for word in words if posixpath.basename(word) in BY_PROGRAM or find_by_module(word) is not None)
    return next(named, "")
