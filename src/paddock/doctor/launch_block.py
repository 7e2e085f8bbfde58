"""What launchers print when they start, and what stands in their logs later, as a value. Pure; streamed.

PaddlePaddle's launcher (2.3 to 3.3) prints its arguments, then what it made of them:

    LAUNCH INFO 2026-11-20 15:38:21,548 -----------  Configuration  ----------------------
    LAUNCH INFO 2026-11-20 15:38:21,548 nnodes: 2
    LAUNCH INFO 2026-11-20 15:38:21,548 Job: default, mode collective, replicas 2[2:2], elastic False
    LAUNCH INFO 2026-11-20 15:38:21,549 Run Pod: esvuqc, replicas 1, status ready
    LAUNCH INFO 2026-11-20 15:38:21,561 Watching Pod: esvuqc, replicas 1, status running

`Watching Pod` is the sign that it started; `elastic True` repeats `--nnodes 2:3` and says nothing. The launcher of
other years prints `Configuration Arguments` without `LAUNCH INFO`; torchrun prints of itself when something fails.

A log may be cut anywhere, have other lines between, colours, NULs, several hosts, and a million lines.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from paddock.doctor import signs
from paddock.doctor.prefixes import Line, Prefixes
from paddock.doctor.signs import Sign
from paddock.kube.times import Moment, read_time
from paddock.launches import launchers
from paddock.logs.chatter import match_chatter
from paddock.logs.complaints import find_complaint, is_echo, may_complain, read_complaint
from paddock.logs.exit_texts import ExitTexts
from paddock.logs.levels import LoggedErrors, may_log_errors
from paddock.logs.nearest_line import Nearest, find_nearest
from paddock.logs.printed_lines import find_latest, read_progress
from paddock.logs.progress import Progress
from paddock.logs.tracebacks import without_rank
from paddock.logs.waiting import WaitingLines, Waits, may_wait

PADDLE, OLD, TORCH = "paddle", "old paddle", "torchrun"
_ARGUMENTS = {*launchers.PADDLE.options, "training_script", "training_script_args"}
_OLD_ARGUMENT = re.compile(r"(?P<name>[a-z_]+):(?: (?P<value>.*))?")
_LAUNCH = re.compile(
    r"LAUNCH (?:INFO|WARNING|ERROR|DEBUG) (?:20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d+ |(?=args ))(?P<said>.*)"
)
_TIME = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_JOB = re.compile(
    r"Job: (?P<id>.*), mode (?P<mode>\w+), replicas (?P<count>\d{1,6})\[(?P<least>\d{1,6}):(?P<most>\d{1,6})\], "
    r"elastic (?P<elastic>\w+)"
)
_POD = re.compile(r"(?P<verb>Run|Watching) Pod: (?P<name>\w+), replicas (?P<count>\d{1,6}), status (?P<status>\w+)")
_OVERRIDDEN = re.compile(r"args (?P<name>\w+) will be overridden by env: (?P<variable>\w+) value: (?P<value>.*)")
_COPY = re.compile(r"\[[^\]]{1,40}\] \[ *(?:INFO|WARNING|ERROR|DEBUG)\] [\w.]+\.py:\d+ - (?P<said>.*)")
_CHILD = re.compile(r"failed \(exitcode: (-?\d{1,5})\)")
_AFTER = 100
"""Lines after an error in which the exception stands that was raised from it."""
_OF_LAUNCHERS = ("LAUNCH ", "Container rank ", "env {", "launch proc_id", "=====", "-----")
_EXIT = re.compile(r"Exit code (-?\d{1,5})$")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-_])")
_LONGEST = 4_000
_CHUNK = 1_000
_RECENT = 100
"""Lines at the end of a log in which progress is looked for, or the line that was nearest to it."""
_HELD = 2_000
"""Lines that are held until the form of the file's prefixes is known."""


@dataclass(frozen=True, slots=True)
class JobLine:
    """`replicas 3[2:4]`: nodes now, the least, the most. Before any peer is there, the first is the most."""

    id: str
    mode: str
    count: int
    least: int
    most: int
    elastic: bool
    line: int


@dataclass(frozen=True, slots=True)
class PodLine:
    """`count`: processes of the node."""

    name: str
    count: int
    status: str
    line: int


@dataclass(frozen=True, slots=True)
class Overridden:
    """An argument that a variable of the environment has replaced."""

    name: str
    variable: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class LaunchLog:
    """What one launcher printed."""

    source: str = ""
    """The host or rank before its lines; empty where there is none."""
    lines: int = 0
    first_line: int = 1
    launcher: str = ""
    """`PADDLE`, `OLD`, `TORCH`, or empty without lines of one."""
    block_line: int = 0
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Of the block; `"None"` stays as printed."""
    overridden: tuple[Overridden, ...] = ()
    job: JobLine | None = None
    run: PodLine | None = None
    """The last line of a start (`Run Pod`); None where there is none."""
    watching: PodLine | None = None
    """The last line of a pod that is watched, since the job formed; None where there is none."""
    starts: int = 0
    signs: Mapping[str, Sign] = field(default_factory=dict)
    waits_since: int = 0
    """The number of a line `Waiting peer start...` after which nothing has started."""
    waits: Waits | None = None
    """What its last lines wait for; None where it goes on."""
    exit_code: int | None = None
    error: Sign | None = None
    """The first error that does not follow from a peer's end, else the first one; None without one."""
    last_own: Sign | None = None
    """The last line that no launcher printed, before the first that tells of a failure; None without one."""
    logged: Sign | None = None
    """The first line since the last training that a logger wrote at the level ERROR; None without one."""
    exit_text: Sign | None = None
    """The text by which the program ended after an error that it had survived for certain; None without one."""
    error_and_last: str = ""
    """The error, and after one that was caught the last line, which may be the text of the exit."""
    went_on: bool = False
    """The program printed something of its own after its last traceback."""
    ends_in_error: bool = False
    """The error is near the end, and no metric was printed after it."""
    progress: Progress | None = None
    trained_before: bool = False
    """A metric stands before the first line of a parameter server that is not connected."""
    trained_after: bool = False
    """A metric stands after the last of these lines."""
    nearest: Nearest | None = None
    """Of a log without progress at its end the line that was nearest to it."""
    last_text: str = ""
    last_line: int = 0
    began: Moment | None = None
    """The first time in its lines."""
    ended: Moment | None = None
    """The last time in its lines."""
    gap: float = 0.0
    """The longest time in seconds between two lines that both have one, without a line between them."""
    gap_line: int = 0
    """The second of those two lines."""
    has_gap: bool = False
    """Lines in the middle were not read, so what is not seen may have been there."""

    @property
    def may_have_started(self) -> bool:
        return self.starts > 0 or self.has_gap

    def argument(self, name: str) -> str:
        """Empty for one that was not given."""
        value = self.arguments.get(name, "")
        return "" if value == "None" else value

    def find_overridden(self, name: str) -> Overridden | None:
        """What has replaced an argument; None where nothing did."""
        return next((each for each in self.overridden if each.name == name), None)

    def sign(self, name: str) -> Sign | None:
        return self.signs.get(name)

    @property
    def failed(self) -> bool:
        """Whether its end was no good one, as far as it says."""
        if self.exit_code is not None:
            return self.exit_code != 0
        return signs.FAILED in self.signs or (self.ends_in_error and signs.COMPLETED not in self.signs)

    @property
    def is_known(self) -> bool:
        """Whether it has a launcher's lines, or an error of a rank that was started without one."""
        errors = (each.text for each in self.signs.values())
        return bool(self.launcher or self.error) or any(each.startswith("E") for each in errors)


class _Reader:
    """One launcher's lines."""

    def __init__(self, source: str, first_line: int) -> None:
        self.source, self.first_line = source, first_line
        self.lines = self.block_line = self.waits_since = self.starts = self.last_line = 0
        self.launcher = self.last_text = ""
        self.arguments: dict[str, str] = {}
        self.overridden: list[Overridden] = []
        self.job: JobLine | None = None
        self.run: PodLine | None = None
        self.watching: PodLine | None = None
        self.signs: dict[str, Sign] = {}
        self.exit_code: int | None = None
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self.began: Moment | None = None
        self.ended: Moment | None = None
        self.gap, self.gap_line = 0.0, 0
        self.has_gap = False
        self._in_old_block = False
        self._timed = 0
        self._errors, self._logged = _Errors(), LoggedErrors()
        self._waiting = WaitingLines()
        self._is_told_to_end = False
        self.trained_before = False
        self._asked = 0
        self.last_own: Sign | None = None

    def feed(self, line: Line, number: int, *, may_tell: bool) -> None:
        """`may_tell`: False where no line of the chunk has a word of a sign."""
        text = line.text
        self.lines += 1
        if text.strip() and not text.startswith("## "):
            self.last_text, self.last_line = text, number
        self._take_time(line, number)
        if self._in_old_block:
            self._take_old_argument(text)
        if not self._is_told_to_end:
            self._errors.feed(text, number)
            self._logged.add(without_rank(text), number)
        self._waiting.feed(text, number)
        if may_tell and signs.may_tell(text):
            self._take(text, number)
        else:
            self._recent.append(text)
        self._take_own(text, number)

    def skip(self, lines: Sequence[str], number: int) -> None:
        """Lines in which nothing is told; the last of them has the number `number`."""
        self.lines += len(lines)
        for back, text in enumerate(reversed(lines)):
            if text.strip():
                self.last_text, self.last_line = text, number - back
                break
        for back, text in enumerate(reversed(lines)):
            if self._take_own(text, number - back):
                break
        self._errors.pass_by(lines)
        self._pass_logged(lines, number)
        self._waiting.pass_by(lines)
        self._recent.extend(lines[-_RECENT:])
        for text in reversed(lines[-20:]):
            if _TIME.search(text, 0, 60):
                self._take_time(Line(text))
                break

    def _pass_logged(self, lines: Sequence[str], number: int) -> None:
        if self._logged.found is not None:
            lines = lines[-_RECENT:]
        elif not may_log_errors("\n".join(lines)):
            return
        for back, text in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
            self._logged.add(text, number - back)

    def leave_out(self, lines: int) -> None:
        """Also the time that has passed in them is no pause. Who still waits says it again."""
        self.lines += lines
        self.has_gap, self.waits_since, self._in_old_block = True, 0, False
        self._recent.clear()

    def _take_time(self, line: Line, number: int = 0) -> None:
        moment = line.seconds
        if moment is None:
            stamp = line.stamp
            if not stamp and ":" in line.text[:60] and (found := _TIME.search(line.text, 0, 60)):
                stamp = found[0]
            moment = _read_stamp(stamp) if stamp else None
        if moment is not None:
            self.began = moment if self.began is None else self.began
            if self.ended is not None and self._timed == self.lines - 1 and moment - self.ended > self.gap:
                self.gap, self.gap_line = moment - self.ended, number
            self.ended, self._timed = moment, self.lines

    def _take_own(self, text: str, number: int) -> bool:
        """Keeps a line of the program's own, until the launcher has told of a failure."""
        if signs.FAILED in self.signs or not text.strip() or text[:1].isspace() or match_chatter(text) is not None:
            return False
        if text.startswith(_OF_LAUNCHERS) or signs.is_of_torch(text) or self._in_old_block:
            return False
        self.last_own = Sign(signs.cut_text(text), number, number)
        return True

    def _take(self, text: str, number: int) -> None:
        for name in signs.find_signs(text):
            before = self.signs.get(name)
            self.signs[name] = before.again(number) if before else Sign(signs.cut_text(text), number, number)
            if name == signs.SERVER_LOST:
                self.trained_before = self.trained_before or (before is None and _find_progress(self._recent))
                self._asked = self.lines
        if text.startswith("-----------  Configuration Arguments"):
            self.launcher, self.block_line, self._in_old_block = OLD, number, True
        elif found := _LAUNCH.search(text, 0, _LONGEST):
            self.launcher = self.launcher or PADDLE
            self._take_said(found["said"], number)
        elif signs.is_of_torch(text):
            self.launcher = self.launcher or TORCH
            if (ended := _CHILD.search(text, 0, _LONGEST)) and self.exit_code is None:
                self.exit_code = int(ended[1])

    def _take_said(self, said: str, number: int) -> None:
        name, colon, value = said.partition(":")
        if said.startswith("-----------  Configuration"):
            self.block_line = number
        elif colon and name in _ARGUMENTS and self.job is None:
            self.arguments[name] = value.strip()
            self.block_line = self.block_line or number
        elif found := _JOB.match(said):
            count, least, most = (int(found[each]) for each in ("count", "least", "most"))
            self.job = JobLine(found["id"], found["mode"], count, least, most, found["elastic"] == "True", number)
            self.watching = None  # an elastic job forms anew
        elif found := _POD.match(said):
            pod = PodLine(found["name"], int(found["count"]), found["status"], number)
            self.waits_since = 0
            if found["verb"] == "Run":
                self.run = pod
            else:
                self.watching, self.starts = pod, self.starts + 1
        elif said.startswith(("Waiting peer start", "Waiting peer ready")):
            self.waits_since = self.waits_since or number
        elif found := _OVERRIDDEN.match(said):
            self.overridden.append(Overridden(found["name"], found["variable"], found["value"].strip(), number))
        elif found := _EXIT.match(said.strip()):
            self.exit_code = int(found[1])
        elif said.startswith("Terminating with signal"):
            self._is_told_to_end = True

    def _take_old_argument(self, text: str) -> None:
        if text.startswith("-" * 20):
            self._in_old_block = False
        elif found := _OLD_ARGUMENT.fullmatch(text.strip()):
            self.arguments[found["name"]] = (found["value"] or "").strip()

    def build(self) -> LaunchLog:
        names = LaunchLog.__slots__
        built = (
            "overridden",
            "progress",
            "error",
            "logged",
            "exit_text",
            "error_and_last",
            "went_on",
            "ends_in_error",
            "waits",
            "trained_after",
            "nearest",
        )
        values = {name: getattr(self, name) for name in names if name not in built}
        progress = find_latest(list(self._recent))
        after = list(self._recent)[-max(0, self.lines - self._asked) :] if self.lines > self._asked else []
        error = self._errors.find()
        return LaunchLog(
            **values,
            overridden=tuple(self.overridden),
            progress=progress,
            nearest=None if progress else find_nearest(self._recent),
            trained_after=signs.SERVER_LOST in self.signs and _find_progress(after),
            waits=self._waiting.waits,
            error=error,
            logged=Sign(signs.cut_text(logged[1]), logged[0], logged[0]) if (logged := self._logged.found) else None,
            exit_text=self._errors.find_exit(self.last_line) if error is not None else None,
            error_and_last=self._errors.tell(error.text) if error is not None else "",
            went_on=self._errors.went_on,
            ends_in_error=error is not None and not self._errors.goes_on,
        )


def _find_progress(lines: Iterable[str]) -> bool:
    return any(read_progress(line) is not None for line in lines)


class _Errors:
    """The first error of a log with the lines after it, which may have the exception that was raised from it; and
    whether the program went on."""

    def __init__(self) -> None:
        self.goes_on = False
        self._texts = ExitTexts()
        self._own: list[str] = []
        self._own_line = 0
        self._echo: Sign | None = None

    def feed(self, text: str, number: int) -> None:
        self._texts.add(without_rank(text))
        if self._own:
            if len(self._own) < _AFTER:
                self._own.append(text)
            self._look_on(text)
            return
        found = read_complaint(without_rank(text)) if may_complain(text) else None
        if found is None:
            if self._echo is not None:
                self._look_on(text)
        elif is_echo(found.text):
            self._echo = self._echo or Sign(signs.cut_text(found.text), number, number)
        else:
            self._own, self._own_line, self.goes_on = [without_rank(text)], number, False

    def pass_by(self, lines: Sequence[str]) -> None:
        """Lines without an error."""
        if self._own or self._echo is not None:
            for text in lines[-_RECENT:]:
                self._look_on(text)
                self._texts.add(text)

    def _look_on(self, text: str) -> None:
        self.goes_on = self.goes_on or read_progress(text) is not None

    def find_exit(self, number: int) -> Sign | None:
        """The text of the program's exit, which stands in the last line, `number`."""
        said = self._texts.find()
        return Sign(said.text, number, number) if said and said.is_certain else None

    def tell(self, error: str) -> str:
        said = self._texts.find()
        return error if said is None else said.tell(error)

    @property
    def went_on(self) -> bool:
        return self._texts.went_on if self._texts.is_after_traceback else self.goes_on

    def find(self) -> Sign | None:
        found = find_complaint(self._own)
        return Sign(signs.cut_text(found.text), self._own_line, self._own_line) if found else self._echo


def _read_stamp(stamp: str) -> Moment | None:
    """A local time of a log is taken for UTC: only differences count."""
    text = stamp.replace(",", ".").replace(" ", "T")
    return read_time(text if text[-1] == "Z" or "+" in text else f"{text}+00:00")


class LogReader:
    """The launchers of one log. Feed its lines in order; `build` when it has ended. `number`: lines so far."""

    def __init__(self) -> None:
        self.number = 0
        self._prefixes = Prefixes()
        self._held: list[str] = []
        self._readers: dict[str, list[_Reader]] = {}
        self._said: dict[str, str] = {}
        """By host: what its launcher said in the line before."""

    def feed(self, lines: Iterable[str]) -> None:
        clean = [_clean(each) for each in lines]
        if not self._prefixes.is_known:
            self._held += clean
            if not any(map(self._prefixes.learn, clean)) and len(self._held) < _HELD:
                return
            clean, self._held = self._held, []
        for start in range(0, len(clean), _CHUNK):
            self._feed_chunk(clean[start : start + _CHUNK])

    def _feed_chunk(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines)
        may_tell = signs.may_tell(text) or may_complain(text) or may_wait(text)
        if self._prefixes.is_empty and not may_tell and "" in self._readers:
            self.number += len(lines)
            self._readers[""][-1].skip(lines, self.number)
            return
        for text in lines:
            self.number += 1
            if may_tell:
                self._prefixes.learn(text)
            line = self._prefixes.split(text)
            if may_tell and self._is_copy(line):
                self._find_last(line).lines += 1
                continue
            self._find(line).feed(line, self.number, may_tell=may_tell)

    def _is_copy(self, line: Line) -> bool:
        """Whether a second logger says again what the launcher's own has just said, as where `paddle.distributed.fleet`
        has set up one for all: it is no other launcher."""
        if (found := _LAUNCH.search(line.text, 0, _LONGEST)) is not None:
            self._said[line.host] = found["said"].strip()
            return False
        copy, said = _COPY.match(line.text, 0, _LONGEST), self._said.pop(line.host, None)
        return copy is not None and said is not None and copy["said"].strip() in ("", said, _without_name(said))

    def _find_last(self, line: Line) -> _Reader:
        return self._readers[line.host][-1] if line.host in self._readers else self._find(line)

    def _find(self, line: Line) -> _Reader:
        """A second block of one source is another launcher's, as where files are put together."""
        found = self._readers.setdefault(line.host, [])
        begins = "-----------  Configuration" in line.text
        if not found or (begins and found[-1].block_line):
            found.append(_Reader(line.host, self.number))
        return found[-1]

    def count(self) -> int:
        """Lines so far, with those that are held back."""
        return self.number + len(self._held)

    def leave_out(self, lines: int) -> None:
        """So many lines that nobody has read, about; those that follow are numbered after them."""
        self._release()
        self.number += lines
        for readers in self._readers.values():
            readers[-1].leave_out(lines)

    def _release(self) -> None:
        """What was held back until its prefixes are known."""
        if self._held:
            held, self._held, self._prefixes.is_known = self._held, [], True
            for start in range(0, len(held), _CHUNK):
                self._feed_chunk(held[start : start + _CHUNK])

    def build(self) -> tuple[LaunchLog, ...]:
        """The logs that have something of a launcher; all where none has."""
        self._release()
        found = [reader.build() for readers in self._readers.values() for reader in readers]
        return tuple([each for each in found if each.is_known] or found)


def read_launch_logs(lines: Iterable[str]) -> tuple[LaunchLog, ...]:
    reader = LogReader()
    for chunk in _chunks(lines):
        reader.feed(chunk)
    return reader.build()


def _without_name(said: str) -> str:
    """`args host will be overridden by …` without its first words, which a logger with other fields takes for a time
    and a date."""
    return " ".join(said.split(" ")[2:])


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _clean(line: str) -> str:
    """Without colours, NULs and the states that a bar was drawn over; no longer than anybody reads."""
    line = line.rstrip("\r\n")
    if "\r" in line:  # before it is cut: the last state counts, however many were drawn
        line = line.rpartition("\r")[2]
    line = line[:_LONGEST]
    if "\0" in line:
        line = line.replace("\0", "")
    return _ANSI.sub("", line) if "\x1b" in line else line
