"""The end of a failed program's log -> its last line, where it had caught an error and gone on. Pure.

    try:
        load(path)
    except Exception:
        traceback.print_exc()                             <- the traceback of an error that did not end the program
    ...
    sys.exit("no shard is left: giving up")               <- what did

A traceback that ends a program looks almost the same, and libraries print more after it. So a text counts only where
the log shows that the program went on:

- The outermost frame is not that of a module: `print_exc` prints from the frame that caught, an interpreter from the
  frame that it began with.
- Training progress comes after it.
- The text repeats what the exception said: `cannot train: division by zero`.

It counts only as the last line, and not where a launcher speaks after the traceback: there another process may have
printed it. What libraries, loggers and shells print at an end is no such text.

A log does not tell `sys.exit("giving up")` from `print("Exiting.")` before `sys.exit(1)`. So the error is told first,
and the line after it. The line stands alone only after training progress, which follows no error that ends a program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paddock.logs.chatter import match_chatter
from paddock.logs.complaints import cut, read_complaint
from paddock.logs.levels import has_level
from paddock.logs.printed_lines import read_progress
from paddock.logs.torchrun import is_of_torchrun
from paddock.logs.tracebacks import CHAINED, begins_traceback


@dataclass(frozen=True, slots=True)
class ExitText:
    """The last line of a program that had caught an error."""

    text: str
    is_certain: bool
    """Whether the error cannot be what ended the program: training came between."""
    back: int
    """How many lines the traceback's error stands above it."""

    def tell(self, error: str) -> str:
        """`ValueError: bad; its last line: giving up`; the error alone where both do not fit."""
        if self.is_certain:
            return self.text
        both = f"{error}; its last line: {self.text}"
        return both if cut(both) == both else error


FRAME = re.compile(r'\s+File "(?P<file>.+)", line \d+(?:, in (?P<function>.+))?')
OUTERMOST = ("<module>", "_run_module_as_main")
"""Where an interpreter begins. A thread begins elsewhere, and its error ends no program."""
_LAUNCHER = ("LAUNCH ", "launch proc_id:")
_NO_TEXT = re.compile(
    r"\s.*|[\W\d_]*|.*Warning:.*|wandb:.*|Aborted.*|terminate called .*|Exception ignored .*|.*: line \d+: .*|"
    r"\[?[IWEF]\d{4} .*|\[rank\d+\]:.*|Sentry is attempting .*|Press Ctrl-C .*|Fatal Python error: .*"
)
"""What C++, Python, a shell or a library prints when a program ends."""
_LEAST_MESSAGE = 8
"""Characters from which a message that is said again is no accident."""


class ExitTexts:
    """Reads the lines of one program in order, without colours and ranks; then `find`."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._in_frames = self._is_first = self._was_caught = self._trained = self._is_foreign = self._said_more = False
        self._error = self._last = ""
        self._back = 0

    def add(self, line: str) -> None:
        if begins_traceback(line):
            self._forget()
            self._in_frames = self._is_first = True
        elif self._in_frames:
            self._add_frame(line)
        elif self._error:
            self._add_after(line)

    def _add_frame(self, line: str) -> None:
        if self._is_first and (frame := FRAME.fullmatch(line)):
            self._is_first, self._was_caught = False, frame["function"] not in OUTERMOST
        elif line[:1].strip():
            self._in_frames, self._error = False, line

    def _add_after(self, line: str) -> None:
        self._back += 1
        if not line.strip():
            return
        complaint = read_complaint(line)
        if complaint is not None and complaint.kind == "crash":
            self._is_foreign = True  # a signal's handler speaks
        elif complaint is not None or line.startswith(CHAINED):
            self._forget()
            return
        self._last = line
        self._is_foreign = self._is_foreign or line.startswith(_LAUNCHER) or is_of_torchrun(line)
        self._trained = self._trained or read_progress(line) is not None
        if self._was_caught and not (self._said_more or self._is_foreign):
            self._said_more = may_be_text(line)

    @property
    def goes_on(self) -> bool:
        """Whether the program has gone on after its last traceback, for all that was read."""
        return bool(self._error) and (self._was_caught or self._trained)

    @property
    def is_after_traceback(self) -> bool:
        return bool(self._error)

    @property
    def went_on(self) -> bool:
        """Whether the program printed something of its own after its last traceback: a signal that ended it later had
        another reason."""
        return bool(self._error) and (self._trained or self._said_more)

    def find(self) -> ExitText | None:
        """The text; None where the last traceback, or another error, ended the program, or may have."""
        text, error = self._last.strip(), self._error
        if not text or self._is_foreign or not may_be_text(self._last):
            return None
        message = error.partition(": ")[2].strip()
        says_it = len(message) >= _LEAST_MESSAGE and message in text and not text.startswith(error)
        if not (self._was_caught or self._trained or says_it):
            return None
        return ExitText(text, self._trained, self._back)


def may_be_text(line: str) -> bool:
    """Whether a program may have said it, and no library, launcher or shell at its end."""
    if _NO_TEXT.fullmatch(line) or has_level(line):
        return False
    return match_chatter(line) is None and read_progress(line) is None
