"""Reads what tools say of the stacks of a process: py-spy's JSON and faulthandler's text. Pure.

Both tell the most recent call first; a `Thread` has it last, as a traceback has.

Sources: py-spy 0.4 (`py-spy dump --json`: a list of threads with `frames`), CPython 3.11 to 3.14
(`Python/traceback.c`, `_Py_DumpTracebackThreads`: the newest thread comes first, so the main one comes last; from 3.14
on a thread may have its name in brackets, and lines of C follow).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paddock.kube.pod_stacks import Frame, Thread, Trouble

_THREAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-f]+(?: \[(?P<name>.*)\])? \(most recent call first\):")
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)')
_MAIN = "MainThread"
_TOP = ("<module>", "_run_module_as_main")
"""How the stack of a main thread begins."""
_REFUSED = ("permission denied", "operation not permitted", "elevated permissions", "os error 1)", "os error 13)")
_GONE = ("no such process", "no such file or directory", "os error 3)", "os error 2)", "failed to get process")
_NO_PYTHON = ("failed to find python version", "failed to find a python interpreter", "isn't a python process")
_LONGEST_SAYING = 300


@dataclass(frozen=True, slots=True)
class Dump:
    """What one way has found."""

    threads: tuple[Thread, ...] = ()
    trouble: Trouble | None = None
    said: str = ""


class UnreadableDump(ValueError):
    """The text is of another form."""


def read_py_spy(text: str) -> tuple[Thread, ...]:
    """The threads of `py-spy dump --json`. Raises `UnreadableDump`."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableDump(str(error)) from None
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise UnreadableDump("no list of threads")
    return _mark_main(tuple(_read_thread(each) for each in entries))


def _read_thread(entry: Mapping[str, object]) -> Thread:
    name, frames = entry.get("thread_name"), entry.get("frames")
    is_main = name == _MAIN or (name is None and entry.get("os_thread_id") == entry.get("pid"))
    found = [_read_call(each) for each in frames if isinstance(each, dict)] if isinstance(frames, list) else []
    return Thread(name if isinstance(name, str) else "", is_main, tuple(reversed(found)))


def _read_call(entry: Mapping[str, object]) -> Frame:
    line = entry.get("line")
    file = entry.get("filename") or entry.get("short_filename") or ""
    # py-spy names a method with its class (`Thread.run`), which faulthandler does not: equal stacks are to be equal.
    name = str(entry.get("name") or "").rpartition(".")[2]
    return Frame(name, str(file), line if isinstance(line, int) and line > 0 else 0)


def read_faulthandler(text: str) -> tuple[Thread, ...]:
    """The threads of a text of `faulthandler`. Raises `UnreadableDump` where it has none."""
    threads = tuple(_read_threads(text))
    if not threads:
        raise UnreadableDump("no thread")
    return _mark_main(threads)


def _read_threads(text: str) -> Iterator[Thread]:
    name, frames, is_open = "", list[Frame](), False
    for line in text.splitlines():
        if (head := _THREAD.fullmatch(line)) is not None:
            if is_open:
                yield Thread(name, False, tuple(reversed(frames)))
            name, frames, is_open = head["name"] or "", [], True
        elif is_open and (call := _FRAME.fullmatch(line)) is not None:
            number = call["line"]
            frames.append(Frame(call["function"], call["file"], int(number) if number.isdecimal() else 0))
    if is_open:
        yield Thread(name, False, tuple(reversed(frames)))


def _mark_main(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """With one main thread: the one that says so, else the last that begins as a program does, else the last."""
    if sum(each.main for each in threads) == 1 or not threads:
        return threads
    begins = [at for at, each in enumerate(threads) if each.frames and each.frames[0].function in _TOP]
    chosen = begins[-1] if begins else len(threads) - 1
    return tuple(Thread(each.name, at == chosen, each.frames) for at, each in enumerate(threads))


def read_refusal(said: str) -> Trouble:
    """What py-spy's words on standard error mean."""
    lower = said.lower()
    if any(each in lower for each in _REFUSED):
        return Trouble.NOT_ALLOWED
    if any(each in lower for each in _NO_PYTHON):
        return Trouble.NO_PYTHON
    return Trouble.ENDED if any(each in lower for each in _GONE) else Trouble.FAILED


def judge_py_spy(code: int, out: str, said: str) -> Dump:
    """What an end of py-spy means."""
    first = said.strip().partition("\n")[0][:_LONGEST_SAYING]
    if code != 0:
        return Dump((), read_refusal(said), first)
    try:
        threads = read_py_spy(out)
    except UnreadableDump as error:
        return Dump((), Trouble.FAILED, str(error))
    return Dump(threads) if any(each.frames for each in threads) else Dump((), Trouble.NO_PYTHON)
