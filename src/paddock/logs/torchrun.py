"""torchrun's report of a failed process -> which one it was, and how it ended. Pure.

torchrun ends with 1 whatever its processes end with, and prints this last (torch 2.13,
`torch/distributed/elastic/multiprocessing/errors`):

    torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
    ============================================================
    train.py FAILED
    ------------------------------------------------------------
    Failures:
      <NO_OTHER_FAILURES>
    ------------------------------------------------------------
    Root Cause (first observed failure):
    [0]:
      time      : 2026-11-22_14:13:03
      host      : localhost
      rank      : 1 (local_rank: 0)
      exitcode  : 3 (pid: 6269)
      error_file: <N/A>
      traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
    ============================================================

The traceback is there of a function with torch's `@record`, and in environments that Paddock has built, whose processes
tell torchrun their exceptions (`environments.pytorch.paddock_torchrun`). That the process got a signal is said in its
place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from signal import SIGABRT, SIGTERM

CHILD_FAILED = "ChildFailedError:"
ROOT = "Root Cause (first observed failure):"
_FIELD = re.compile(r"  (?P<name>\w+) *: (?P<value>.*)")
_RANK = re.compile(r"(?P<rank>\d{1,9}) \(local_rank: (?P<local>\d{1,9})\)")
_CODE = re.compile(r"(?P<code>-?\d{1,9}) +\(pid: \d+\)")
_RULE = re.compile(r"[=*]{10,}")
_PREFIX = re.compile(r"\[rank(?P<rank>\d{1,9})\]: ?")
_OWN = re.compile(r"[IWEF]\d{4} [\d:.]+ +\d+ torch/distributed/.*")
"""A line of torchrun's logger, such as `E1125 09:00:00.000 900 torch/distributed/elastic/…/api.py:870] failed …`."""
_EXCEPTION = 1
"""The exit code of Python after an exception, also that of a lost peer."""


@dataclass(frozen=True, slots=True)
class Report:
    """The process that failed first."""

    rank: int
    """In the job."""
    local: int
    """In its pod."""
    code: int
    """Negative for a signal."""
    lines: tuple[str, ...] = ()
    """What is said of its error, empty where torchrun was not told of it."""

    @property
    def chose_its_end(self) -> bool:
        """Whether no peer's end is the likely reason. Of a lost peer a program ends with an exception, or by the abort
        of a watchdog; and torchrun ends the processes that are left by SIGTERM."""
        return self.code not in (_EXCEPTION, -SIGABRT, -SIGTERM)

    def explain(self) -> str:
        """The end in torch's words: `Signal 9 (SIGKILL) received by PID 5`, or `exitcode: 3, rank: 1 (local_rank:
        0)`."""
        if self.code < 0 and self.lines:
            return self.lines[0]
        return f"exitcode: {self.code}, rank: {self.rank} (local_rank: {self.local})"


def read_report(lines: Sequence[str]) -> Report | None:
    """The last report in lines of a log; None without a whole one."""
    start = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].strip() == ROOT), None)
    if start is None:
        return None
    fields = dict(_read_fields(lines[start + 1 :]))
    rank = _RANK.match(_first(fields, "rank"))
    code = _CODE.match(_first(fields, "exitcode"))
    if rank is None or code is None:
        return None
    said = tuple(line for line in fields.get("traceback", ()) if not line.startswith("To enable traceback see"))
    return Report(int(rank["rank"]), int(rank["local"]), int(code["code"]), said)


def read_remains(lines: Sequence[str]) -> list[str]:
    """The traceback at the end of a report whose beginning was cut off; empty where the lines are no such end."""
    end = next((place for place in range(len(lines) - 1, -1, -1) if _RULE.fullmatch(lines[place].strip())), 0)
    start = end
    while start and (lines[start - 1].startswith("  ") or not lines[start - 1].strip()):
        start -= 1
    return [line.removeprefix("  ") for line in lines[start:end]]


def _read_fields(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name -> lines of its value; those of a traceback are indented by two."""
    name, value = "", list[str]()
    for line in lines:
        if _RULE.fullmatch(line.strip()):
            break
        found = _FIELD.fullmatch(line)
        if found is not None and name != "traceback":
            yield name, tuple(value)
            name, value = found["name"], [found["value"].strip()]
        else:
            value.append(line.removeprefix("  ").rstrip())
    yield name, tuple(value)


def _first(fields: dict[str, tuple[str, ...]], name: str) -> str:
    return (fields.get(name) or ("",))[0]


def is_of_torchrun(line: str) -> bool:
    """Whether torchrun's logger printed it: the first such line after a failure says which process failed."""
    return _OWN.match(line) is not None


def select_rank(lines: Sequence[str], rank: int) -> list[str]:
    """The lines without those that torch marks as of other ranks (`[rank2]: …`)."""
    return [line for line in lines if (found := _PREFIX.match(line)) is None or int(found["rank"]) == rank]
