"""The log of one rank -> the lines that a person reads: the program's own, in order and unchanged, as they come. Pure.

Folded and counted are: what launchers and libraries print of themselves (`chatter`), states of a progress bar but its
last (`bars`), and a traceback that was printed before (`tracebacks`), also where a launcher prints the end of a log
again. A line with an error (`complaints`) is always shown, and so is the third line by which a library says that it
waits for the same (`waiting`). Every line is decided when it comes; held back are only
states of bars, lines that repeat a traceback so far, and of a parameter server what it prints of its end by SIGTERM
(`asked_ends`). Log files keep all.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence

from paddock.logs.asked_ends import AskedEnd, is_server
from paddock.logs.bars import Bar, Redrawn, read_bar
from paddock.logs.chatter import LIBRARY, NCCL_INFO, STARTS, Form, match_chatter
from paddock.logs.complaints import read_complaint
from paddock.logs.tracebacks import Trace, Tracebacks, begins_traceback
from paddock.logs.waiting import OFTEN, Awaited, Waiting, read_waiting

BAR, REPEATED, SAME_ERROR = "bar", "repeated", "same error"
"""Beside the sources of `chatter`: an earlier state of a bar; a line that the launcher printed before; a line of a
traceback that was printed before (`Tracebacks.again`)."""

_LOOK_AT = STARTS | {"Tr", "[r", "+-", "**"}
"""Of chatter, of a traceback, of the borders of what nvidia-smi and torchrun print."""
_ANYWHERE = ("%|", "\x1b[", NCCL_INFO)
"""Of bars, and of lines that begin with the name of a host."""
_LAUNCH_INFO = "LAUNCH INFO "
_DETAIL = re.compile(r"LAUNCH INFO \S+ \S+ -+ ERROR LOG DETAIL -+\s*")
"""Where PaddlePaddle's launcher begins to print the last 3000 bytes of the failed rank's log again."""
_BORDER = re.compile(r"\+-{60,}\+\s*|\*{41}")
"""The first line of what nvidia-smi prints; of torchrun's box, where it is started as `python -m torch.distributed.run`
and has no prefix."""
_RECENT = 400
"""Lines of a rank that are remembered: more than 3000 bytes have but for blank ones."""
_MOST_BARS = 100
_MOST_WAITS = 100


class Folding:
    """The filter of one rank. Feed its lines in order, then `end`. `tracebacks`: shared by the ranks of a run, so that
    what all of them print is printed for the first. `folded`: how many lines were not returned, by their source."""

    def __init__(self, rank: str = "", tracebacks: Tracebacks | None = None) -> None:
        self.folded: Counter[str] = Counter()
        self._rank = rank
        self._asked_end = AskedEnd() if is_server(rank) else None
        self._tracebacks = Tracebacks() if tracebacks is None else tracebacks
        self._block: Form | None = None
        self._left = 0
        self._trace: Trace | None = None
        self._redrawn = Redrawn()
        self._bars: dict[str, Bar] = {}
        self._recent: deque[str] = deque(maxlen=_RECENT)
        self._detail: frozenset[str] | None = None
        self._is_cut = False
        self._border: str | None = None
        self._waits: Counter[Waiting] = Counter()
        self._is_inside = False
        self._before: Sequence[str] = ()
        """The lines of this call before the one that is looked at, where it is the launcher's."""

    def feed(self, lines: list[str]) -> list[str]:
        """The lines to show now."""
        if self._asked_end is not None:
            lines = self._asked_end.feed(lines)
            self.folded[LIBRARY] += self._asked_end.dropped
            self._asked_end.dropped = 0
        return self._fold(lines)

    def _fold(self, lines: list[str]) -> list[str]:
        if not self._is_inside and not _may_matter(lines):  # a script may print a gigabyte
            self._recent.extend(lines[-_RECENT:])
            return lines
        shown: list[str] = []
        for place, line in enumerate(lines):
            if self._is_inside or line[:2] in _LOOK_AT or any(each in line for each in _ANYWHERE):
                self._before = lines[max(0, place - _RECENT) : place] if line.startswith(_LAUNCH_INFO) else ()
                self._take(line, shown)
                self._is_inside = self._find_inside()
            else:
                shown.append(line)
        self._recent.extend(lines[-_RECENT:])
        if self._trace is not None:
            self._trace.record()
        return shown

    def end(self) -> list[str]:
        """The lines that were held back, at the end of the log: among them the last states of incomplete bars."""
        shown = self._fold(self._asked_end.end()) if self._asked_end is not None else []
        self._close(shown)
        shown += [bar.text for bar in self._bars.values()]
        self._bars = {}
        return shown

    def _find_inside(self) -> bool:
        return bool(self._block or self._trace or self._detail or self._border or self._redrawn.is_open)

    def _take(self, line: str, shown: list[str]) -> None:
        if self._is_printed_again(line):
            self.folded[REPEATED] += 1
            return
        if self._continues(line, shown):
            return
        self._close(shown)
        if "\x1b[" in line and self._redraws(line):
            return
        if begins_traceback(line):
            self._trace = Trace(line, self._tracebacks)
            shown += [] if self._trace.held else [line]
        elif _BORDER.fullmatch(line):
            self._border = line
        elif not self._is_bar(line, shown) and not self._is_chatter(line):
            shown.append(line)

    def _continues(self, line: str, shown: list[str]) -> bool:
        """Whether `line` belongs to what has begun, and is dealt with."""
        if self._block is not None:
            return self._continues_block(self._block, line)
        if self._trace is not None and self._trace.take(line):
            released = self._trace.release()
            shown += released if released or self._trace.held else [line]
            return True
        if self._redrawn.is_open and self._redraws(line):
            return True
        if self._border is not None and (form := match_chatter(line)) and form.inner and form.inner.match(self._border):
            self._border = None
            self.folded[form.source] += 1  # the border that was held
            return self._is_chatter(line)
        return False

    def _close(self, shown: list[str]) -> None:
        """Ends what has begun, and shows what it held."""
        self._block = None
        if self._trace is not None:
            held, again = self._trace.close(self._rank)
            shown += held
            self.folded[SAME_ERROR] += again
            self._trace = None
        shown += self._redrawn.close()
        if self._border is not None:
            shown.append(self._border)
            self._border = None

    def _continues_block(self, block: Form, line: str) -> bool:
        is_last = block.last is not None and block.last.fullmatch(line) is not None
        is_inner = block.inner is not None and block.inner.fullmatch(line) is not None
        if not (is_last or is_inner) or read_complaint(line):
            return False
        self._left -= 1
        if is_last or self._left <= 0:
            self._block = None
        self.folded[block.source] += 1
        return True

    def _is_chatter(self, line: str) -> bool:
        form = match_chatter(line)
        if form is None or read_complaint(line) or self._has_waited_long(line):
            return False
        self.folded[form.source] += 1
        if form.inner is not None:
            self._block, self._left = form, form.most
        if _DETAIL.fullmatch(line):
            self._detail, self._is_cut = frozenset((*self._recent, *self._before)), True
        return True

    def _has_waited_long(self, line: str) -> bool:
        """Whether the line is the one of its kind that is shown: where all goes well it is said once or twice."""
        waiting = read_waiting(line)
        # Launchers say it as they meet, also where all goes well: at each new size of an elastic job.
        if waiting is None or waiting.awaited is Awaited.LAUNCHERS:
            return False
        self._waits[waiting] += 1
        if len(self._waits) > _MOST_WAITS:
            self._waits.clear()
        return self._waits[waiting] == OFTEN

    def _is_printed_again(self, line: str) -> bool:
        """Whether the launcher prints a line of the log again: the last 3000 bytes, so its first line may be cut."""
        if self._detail is None:
            return False
        if line.startswith("LAUNCH "):
            self._detail = None
            return False
        if line in self._detail:
            self._is_cut = False
            return True
        is_first, self._is_cut = self._is_cut, False
        return is_first and any(known.endswith(line) for known in self._detail)

    def _redraws(self, line: str) -> bool:
        taken, replaced = self._redrawn.take(line)
        self.folded[BAR] += replaced
        return taken

    def _is_bar(self, line: str, shown: list[str]) -> bool:
        bar = read_bar(line)
        if bar is None:
            return False
        if bar.rest:
            shown.append(bar.rest)
            return True
        if self._bars.pop(bar.name, None) is not None:
            self.folded[BAR] += 1
        if bar.is_complete or len(self._bars) >= _MOST_BARS:
            shown.append(bar.text)
        else:
            self._bars[bar.name] = bar
        return True


def _may_matter(lines: list[str]) -> bool:
    """Whether a line may be anything but the program's own."""
    if not _LOOK_AT.isdisjoint([line[:2] for line in lines]):
        return True
    text = "\n".join(lines)
    return any(each in text for each in _ANYWHERE)


class Unfolded(Folding):
    """All lines, as `--raw` prints them."""

    def feed(self, lines: list[str]) -> list[str]:
        return lines
