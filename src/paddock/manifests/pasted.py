"""Recognises texts that users give in place of a manifest (a web page, a script), and advises what to do.

`recognise` is called only with a text that is no manifest: not valid YAML, or without apiVersion. So its patterns may
be loose. Mistakes within a manifest, for example full-width quotes, are in `preflight`.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from paddock.manifests.inside import find_in_text
from paddock.manifests.placeholders import explain_placeholders, find_template
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


class Recognised(NamedTuple):
    """What a pasted text is, where it is no manifest alone."""

    problem: Problem  # what the text is
    rest: str = ""  # the part that is a manifest, with the other lines empty; "" without one


class _Paste(NamedTuple):
    form: re.Pattern[str]
    said: Phrase
    is_around: bool


def _paste(form: str, text: str, *, is_around: bool = False) -> _Paste:
    """`is_around`: the pattern precedes a manifest, which is parsed too."""
    return _Paste(re.compile(form, re.MULTILINE), phrase(text), is_around)


_PASTES = (
    _paste(
        r"\A\s*\$ \w",
        "this line is a command of a terminal: remove it, and leave the manifest alone",
        is_around=True,
    ),
    _paste(
        r"\A\s*(?i:<!doctype html|<html)",
        "this is a web page: where it shows the manifest, take the link called Raw",
    ),
    _paste(
        r"\A\s*404: Not Found\s*\Z",
        "this is a server's answer that it has no such file: the address it was fetched from is wrong",
    ),
    _paste(
        r"\A#!.*\b(ba|z|da)?sh\b",
        'this is a shell script: a manifest names it in command of a container, like ["bash", "train.sh"]',
    ),
    _paste(
        r"^(import \w[\w., ]*|from [\w.]+ import .+|def \w+\(.*\).*:|if __name__ ==.*)$",
        "this is a Python program: a manifest names it in command of a container, like "
        '["python", "-m", "paddle.distributed.launch", "train.py"]',
    ),
    _paste(
        r"\A\s*Name: +\S.*\n(.*\n)*?(Namespace|Labels|API Version|Status): ",
        "this is what `kubectl describe` prints, for people to read: `kubectl get paddlejob NAME -o yaml` prints the "
        "manifest",
    ),
    _paste(
        r"\A\s*NAME +(READY|STATUS|AGE)\b",
        "this is what `kubectl get` prints, for people to read: `kubectl get paddlejob NAME -o yaml` prints the "
        "manifest",
    ),
    _paste(
        r"^services:\s*$",
        "this is a file of docker-compose: in a PaddleJob each service that trains is a role (worker, ps), with its "
        "image and command in spec.worker.template.spec.containers",
    ),
    _paste(
        r"^ *(```|~~~)",
        "this line belongs to Markdown, not to the manifest: remove it, and the one that closes it",
        is_around=True,
    ),
)
_LOOSE = (
    _paste(
        r"^(diff --git |@@ -\d)",
        "this is a difference between two files, with + and - before its lines: give the file itself",
    ),
    _paste(
        r"^ *1[ |:\t]+(apiVersion|kind|---)",
        "numbers of lines stand before the lines: copy the text without them",
    ),
    _paste(
        r"(?<=[\w.\]-])：",
        "a full-width colon (：) stands here: YAML wants a colon and a space (: )",
    ),
)
_BEFORE = phrase("this line stands before the manifest and is no part of it: remove all that comes before apiVersion")
_FIRST = re.compile(r"\s*[\"'{\[]*(apiVersion|kind|metadata|spec|items|status)\b")
_MANIFEST = re.compile(r"^(apiVersion|kind):\s", re.MULTILINE)
_FENCE = re.compile(r"^ *(```|~~~)", re.MULTILINE)
_DICT = re.compile(r"^[ \t]*(\w+)[ \t]*(:[^=\n]*)?=[ \t]*(?:dict\()?\{", re.MULTILINE)
_LOOKED_AT = 20_000
"""Characters from the beginning of a text, which show its type: a limit for the time of the search."""


def recognise(whole: str) -> Recognised | None:
    """The type of a text, at the line that shows it; None if unknown."""
    text = whole[:_LOOKED_AT]
    if problem := _find_dict(text):
        return Recognised(problem)
    if found := _find_paste(_PASTES, whole):
        return found
    if template := find_template(text):
        return Recognised(_tell(explain_placeholders(template), text, template.start))
    if found := _find_paste(_LOOSE, whole):
        return found
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(("#", "---", "%")):
            foreign = not _FIRST.match(line) and _MANIFEST.search(text, start + len(line))
            return Recognised(_tell(_BEFORE, text, start), _behind(whole, start)) if foreign else None
        start += len(line)
    return None


def _find_paste(pastes: tuple[_Paste, ...], whole: str) -> Recognised | None:
    text = whole[:_LOOKED_AT]
    for paste in pastes:
        if match := paste.form.search(text):
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            return Recognised(_tell(paste.said, text, start), _behind(whole, start) if paste.is_around else "")
    return None


def _behind(text: str, start: int) -> str:
    """The manifest after `start`, at its line numbers; "" without one."""
    match = _MANIFEST.search(text, start)
    if match is None:
        return ""
    end = _FENCE.search(text, match.start())
    return "\n" * text.count("\n", 0, match.start()) + text[match.start() : end.start() if end else None]


def _find_dict(text: str) -> Problem | None:
    """The problem of a job that is a dict in a Python program."""
    matches = list(_DICT.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    for match, end in zip(matches, ends, strict=False):  # no match: no dict
        for _, kind, position in find_in_text(text[match.start() : end]):
            line = text.count("\n", 0, match.start() + position) + 1
            said = phrase(
                "a {kind} lies at line {line}, in {name}, a dict of a Python program: let the program "
                "print it in place of sending it, with `import json; print(json.dumps({name}))`, then "
                "`python FILE | paddock run -`",
                kind=kind, line=line, name=match[1],
            )  # fmt: skip
            return told("", said, line=line, column=1)
    return None


def _tell(said: Phrase, text: str, start: int) -> Problem:
    return told("", said, line=text.count("\n", 0, start) + 1, column=start - text.rfind("\n", 0, start))


_MARKS = ((codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))


def recognise_bytes(data: bytes) -> Problem | None:
    """Why these bytes are not a UTF-8 text; None if they are."""
    name = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if name:
        said = phrase("the file is written in {name}, as PowerShell's > writes it: save it as UTF-8", name=name)
        return told("", said, line=1, column=1)
    place = data.find(b"\0")
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if place < 0 or error.start < place:
            place = error.start
    if place < 0:
        return None
    line, column = data.count(b"\n", 0, place) + 1, place - data.rfind(b"\n", 0, place)
    return told("", _not_text(data, place), line=line, column=column)


def _not_text(data: bytes, place: int) -> Phrase:
    if data[place] == 0:
        return phrase("a zero byte stands here: this is no text file, or a damaged one")
    if _is_gbk(data):
        return phrase("the file is written in GBK (GB2312), not in UTF-8: save it as UTF-8")
    byte = f"0x{data[place]:02x}"
    return phrase("the byte {byte} stands here, which is not UTF-8: save the file as UTF-8", byte=byte)


def _is_gbk(data: bytes) -> bool:
    try:
        return any("\u4e00" <= character <= "\u9fff" for character in data.decode("gbk"))
    except UnicodeDecodeError:
        return False
