"""What people give in place of a manifest, called by its name, with what to do.

`recognise` is asked only about a text that is no manifest: one that YAML cannot read, or that has no apiVersion. So a
form below may be loose. What a manifest itself may hold by a slip, full-width quotes for example, is in
`jobs.preflight`.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from paddock.jobs.phrases import Phrase, phrase
from paddock.jobs.problems import Problem
from paddock.jobs.text import told


class _Paste(NamedTuple):
    form: re.Pattern[str]
    said: Phrase


def _paste(form: str, text: str) -> _Paste:
    return _Paste(re.compile(form, re.MULTILINE), phrase(text))


_PASTES = (
    _paste(
        r"\A\s*\$ \w",
        "this line is a command of a terminal: remove it, and leave the manifest alone",
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
    ),
    _paste(
        r"\{\{.*?\}\}",
        "this is a template of Helm, whose braces are not filled in yet: `helm template CHART | paddock validate -` "
        "fills them in",
    ),
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
_MANIFEST = re.compile(r"^\s*(apiVersion|kind): ", re.MULTILINE)
_LOOKED_AT = 20_000
"""Characters from the beginning: who pastes something else shows it early, and a search must end."""


def recognise(text: str) -> Problem | None:
    """What this is, if it is something well known, at the line that shows it."""
    text = text[:_LOOKED_AT]
    for paste in _PASTES:
        if match := paste.form.search(text):
            return _tell(paste.said, text, match.start() + len(match[0]) - len(match[0].lstrip()))
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(("#", "---", "%")):
            foreign = not _FIRST.match(line) and _MANIFEST.search(text, start + len(line))
            return _tell(_BEFORE, text, start) if foreign else None
        start += len(line)
    return None


def _tell(said: Phrase, text: str, start: int) -> Problem:
    return told("", said, line=text.count("\n", 0, start) + 1, column=start - text.rfind("\n", 0, start))


_MARKS = ((codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))


def recognise_bytes(data: bytes) -> Problem | None:
    """Why these bytes are no text in UTF-8; None if they are."""
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
