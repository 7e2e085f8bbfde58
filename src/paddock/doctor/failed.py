"""Why did it fail, where no other check knows: the first error of the rank that failed first, or its last line. Pure.

It is the last resort: what a program says of itself, found behind what launchers print around it. Some of those texts
have a cure of their own: shared memory, an option that a launcher hands over, a signal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from signal import SIGINT, SIGKILL, SIGTERM, Signals

from paddock.doctor import signs
from paddock.doctor.case import Case, place
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import LaunchLog
from paddock.jobs.model import Exit
from paddock.jobs.sentences.cause_args import items_of
from paddock.logs.complaints import is_echo
from paddock.words.phrases import Foreign, Phrase, phrase

_TOLD = (SIGINT, SIGTERM)
"""By which a program is asked to end."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """A rank that failed, or a log that ends in a failure."""

    name: str
    log: LaunchLog
    code: int | None
    """None where nobody says it."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it: as Python tells it (-9), or as a shell does (137)."""
        return None if self.code is None else -self.code if self.code < 0 else Exit(self.code).signal

    @property
    def where(self) -> Phrase | str:
        said = self.log.error or self.log.last_own
        return place(self.name, said.line if said else self.log.last_line)


def check_failed(case: Case) -> Iterator[Finding]:
    failed = _list_failed(case)
    if not failed:
        return
    for check in (_check_shared_memory, _check_local_rank, _check_timed_out):
        found = next(filter(None, map(check, failed)), None)
        if found is not None:
            yield found
            return
    first = _choose_first(case, failed)
    yield _check_killed(first) or _tell(case, first)


def _list_failed(case: Case) -> list[_Failed]:
    """By the codes of the pods; of pods that are gone by the cause of the job, and by their logs."""
    codes = {name: seen.code for name, seen in case.ranks.items() if seen.code not in (None, 0)}
    if codes or any(seen.running for seen in case.ranks.values()):
        return [_Failed(name, case.logs.get(name, LaunchLog()), code) for name, code in codes.items()]
    if case.ranks and not case.has_failed:  # a job whose program has caught what it printed
        return []
    named = items_of(case.cause.args, "ranks") if case.has_failed and case.cause is not None else ()
    if named:
        code = case.cause.args.get("code") if case.cause is not None else None
        own = code if isinstance(code, int) else None
        return [_Failed(name, case.logs.get(name, LaunchLog()), own) for name in named]
    failed = [_Failed(name, log, log.exit_code) for name, log in case.logs.items() if log.failed and not _is_bare(log)]
    if failed or not case.has_failed:
        return failed
    return [_Failed(name, log, log.exit_code) for name, log in case.logs.items() if log.error is not None]


def _is_bare(log: LaunchLog) -> bool:
    """Whether the launcher ended before it started anything: `doctor.started` tells it."""
    return bool(log.block_line) and not log.may_have_started and log.error is None and log.last_own is None


def _choose_first(case: Case, failed: list[_Failed]) -> _Failed:
    """The one that the job's cause names; else one whose error does not follow from a peer's end, then one that was not
    told to end, in their order."""
    named = set(items_of(case.cause.args, "ranks")) if case.cause is not None else set[str]()

    def order(each: _Failed) -> tuple[bool, bool, bool]:
        is_peers = each.log.error is None or is_echo(each.log.error.text)
        return each.name not in named, is_peers, each.signal in _TOLD

    return min(failed, key=order)


def _tell(case: Case, failed: _Failed) -> Finding:
    log = failed.log
    if log.error is not None:
        what = phrase("it failed: {error}", error=Foreign(log.error.text))
        why = phrase("this is the first error in its log that does not follow from the end of another rank")
        if case.nodes == 1:
            why = phrase("this is the first error in its log")
        if is_echo(log.error.text):
            why = phrase("this error mostly follows from the end of another rank, and no log has an earlier one")
    else:
        what = _tell_last(log, failed.code)
        why = phrase("a program that ends by an exit code alone says why in its last lines, if at all; one that prints "
                     "nothing may write into a file")  # fmt: skip
    role, _, index = failed.name.rpartition("-")
    command = f"paddock logs {case.asked.job}{case.asked.options} --role {role} --rank {index} --first-error"
    mend = phrase("read the lines around it, and mend what they say")
    return Finding("program-failed", Severity.WRONG, failed.where, what, why, mend, command if case.asked.job else "")


def _tell_last(log: LaunchLog, code: int | None) -> Phrase:
    """Of a rank that printed no error."""
    last = log.last_own and Foreign(log.last_own.text)
    if last and code is not None:
        return phrase("it failed (exit code {code}), and printed no error; its last line: {line}", code=code, line=last)
    if last:
        return phrase("it failed, and printed no error; its last line: {line}", line=last)
    if code is not None:
        return phrase("it failed (exit code {code}), and printed nothing of its own", code=code)
    return phrase("it failed, and printed nothing of its own")


def _check_shared_memory(failed: _Failed) -> Finding | None:
    sign = failed.log.sign(signs.SHARED_MEMORY)
    if sign is None:
        return None
    return Finding(
        "shared-memory-is-full",
        Severity.WRONG,
        place(failed.name, sign.line),
        phrase("a process of a DataLoader ended by a bus error: /dev/shm is full"),
        phrase("workers of a DataLoader hand their batches over in shared memory, and a container has 64 MiB of it"),
        phrase(
            "mount an emptyDir with `medium: Memory` at /dev/shm (docker: `--shm-size 8g`), or use fewer workers of "
            "the DataLoader: num_workers=0 needs none"
        ),
        "df -h /dev/shm",
    )


_LOCAL_RANK = re.compile(r"error: unrecognized arguments: .*--local[-_]rank\b")


def _check_local_rank(failed: _Failed) -> Finding | None:
    error = failed.log.error
    if error is None or not _LOCAL_RANK.search(error.text):
        return None
    return Finding(
        "local-rank-is-no-option",
        Severity.WRONG,
        failed.where,
        phrase("the launcher hands over --local-rank, and the program does not know it: {error}",
               error=Foreign(error.text)),
        phrase("python -m torch.distributed.launch gives each process --local-rank (--local_rank before torch 2.0)"),
        phrase("start it by torchrun, and read the variable LOCAL_RANK in the program; or let its parser know "
               "--local-rank"),
    )  # fmt: skip


_OPERATION = re.compile(r"OpType=(\w+)")
_SEQUENCE = re.compile(r"SeqNum=(\d+)")


def _check_timed_out(failed: _Failed) -> Finding | None:
    sign = failed.log.sign(signs.COLLECTIVE_TIMEOUT)
    if sign is None:
        return None
    operation, number = _OPERATION.search(sign.text), _SEQUENCE.search(sign.text)
    return Finding(
        "collective-timed-out",
        Severity.WRONG,
        place(failed.name, sign.line),
        phrase("a collective did not come to its end: {operation}, number {number} of its group",
               operation=operation[1].lower() if operation else "?", number=number[1] if number else "?"),
        phrase("a rank waited in it for another that never came: one that hangs, has ended, or calls another collective"
               " or none; who timed out first is not the one to blame"),
        phrase("see where the other ranks were at that time: the last line that each has printed; "
               "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 lets torch write what each rank was in"),
    )  # fmt: skip


def _check_killed(failed: _Failed) -> Finding | None:
    number = failed.signal
    if number is None or failed.log.error is not None:
        return None
    name = Signals(number).name if number in set(Signals) else str(number)
    last = failed.log.last_own
    what = phrase("it was ended by signal {number} ({name})", number=number, name=name)
    if last is not None:
        what = phrase("it was ended by signal {number} ({name}); its last line: {line}",
                      number=number, name=name, line=Foreign(last.text))  # fmt: skip
    if number in _TOLD:
        why = phrase("who ends a job, a pod or a launcher sends it, also a launcher whose other process has failed")
        mend = phrase("look who ended it: the events of the job, and the logs of the other ranks")
        command = ""
    elif number == SIGKILL:
        why = phrase("mostly the kernel sends SIGKILL, where the memory is used up; else a launcher, a container "
                     "engine or the program itself has sent it")  # fmt: skip
        mend = phrase(
            "see how much memory it takes, and give it more, a smaller batch, or fewer workers of a DataLoader"
        )
        command = "journalctl -k -g 'out of memory'"
    else:
        why = phrase("a fault in native code ends a program so, mostly in a library that does not fit another one")
        mend = phrase("run it with PYTHONFAULTHANDLER=1: Python then prints where it was")
        command = ""
    return Finding("program-was-killed", Severity.WRONG, failed.where, what, why, mend, command)
