"""Why did it fail, where no other check knows: the first error of the rank that failed first, or its last line. Pure.

It is the last resort: what a program says of itself, found behind what launchers print around it. Some of those texts
have a cure of their own: memory of the machine, of a device and shared memory, an option that a launcher hands over, a
signal.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from signal import SIGINT, SIGKILL, SIGTERM, Signals

from paddock.doctor import signs
from paddock.doctor.case import Case, list_places, place
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import LaunchLog
from paddock.jobs.labels import SILENT_ANNOTATION
from paddock.jobs.model import Exit
from paddock.jobs.sentences.cause_args import Args, items_of, text_of
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS
from paddock.logs.complaints import is_echo
from paddock.logs.hidden_modules import read_hidden
from paddock.logs.modules import find_package, read_missing_module
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
    is_read: bool = True
    """Whether there is a log of it: that of a pod that is gone, or of a node that does not answer, is not known."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it: as Python tells it (-9), or as a shell does (137)."""
        return None if self.code is None else -self.code if self.code < 0 else Exit(self.code).signal

    @property
    def where(self) -> Phrase | str:
        said = self.log.exit_text or self.log.error or self.log.logged or self.log.last_own
        return place(self.name, said.line if said else self.log.last_line)


def check_failed(case: Case) -> Iterator[Finding]:
    if (silent := _check_silent(case)) is not None:
        yield silent
        return
    failed = _list_failed(case)
    if not failed:
        return
    for check in (_check_shared_memory, _check_local_rank, _check_timed_out):
        found = next(filter(None, map(check, failed)), None)
        if found is not None:
            yield found
            return
    first = _choose_first(case, failed)
    yield (
        _check_limit(case, first)
        or _check_killed(first)
        or _check_device_memory(first)
        or _check_memory(case, first)
        or _check_hidden(first)
        or _check_module(case, first)
        or _tell(case, first)
    )


def _check_silent(case: Case) -> Finding | None:
    """A job that was ended as no rank printed (`jobs.policies.silent_job`): no rank failed by itself."""
    if case.cause is None or case.cause.reason != "SilentFailed":
        return None
    return Finding(
        "ended-for-silence",
        Severity.WRONG,
        list_places([place(name, log.last_line) for name, log in list(case.logs.items())[:4]] or [place("")]),
        CAUSE_ROWS[case.cause.reason].sentence(case.cause.args),
        phrase("the annotation {name} says after how long a silent job is ended; all else ran", name=SILENT_ANNOTATION),
        _explain_silent_cure(case.cause.args),
        f"paddock logs {case.asked.job}{case.asked.options}" if case.asked.job else "",
    )


def _explain_silent_cure(args: Args) -> Phrase:
    if args.get("stackless"):
        return phrase(
            "look where the logs end, and take the stacks of the next one while it hangs: `paddock stacks {job}`; a "
            "phase that prints nothing wants a longer time",
            job=text_of(args, "stackless"),
        )
    return phrase(
        "look in the logs at the stacks, which stand at their ends: which rank is elsewhere than the others; a "
        "phase that prints nothing wants a longer time"
    )


def _list_failed(case: Case) -> list[_Failed]:
    """By the codes of the pods; of pods that are gone by the cause of the job, and by their logs."""
    codes = {name: seen.code for name, seen in case.ranks.items() if seen.code not in (None, 0)}
    if codes or any(seen.running for seen in case.ranks.values()):
        return [_read(case, name, code) for name, code in codes.items()]
    if case.ranks and not case.has_failed:  # a job whose program has caught what it printed
        return []
    named = items_of(case.cause.args, "ranks") if case.has_failed and case.cause is not None else ()
    if named:
        code = case.cause.args.get("code") if case.cause is not None else None
        own = code if isinstance(code, int) else None
        return [_read(case, name, own) for name in named]
    failed = [_Failed(name, log, log.exit_code) for name, log in case.logs.items() if log.failed and not _is_bare(log)]
    if failed or not case.has_failed:
        return failed
    return [_Failed(name, log, log.exit_code) for name, log in case.logs.items() if log.error is not None]


def _read(case: Case, name: str, code: int | None) -> _Failed:
    return _Failed(name, case.logs.get(name, LaunchLog()), code, name in case.logs)


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
    if not failed.is_read:
        return _tell_unread(case, failed)
    if log.exit_text is not None:
        what = phrase("it failed: {error}", error=log.exit_text.text)
        why = phrase("the program had caught an error and gone on, and this is what it printed last")
    elif log.error is not None:
        what = phrase("it failed: {error}", error=log.error_and_last or log.error.text)
        why = phrase("this is the first error in its log that does not follow from the end of another rank")
        if case.nodes == 1:
            why = phrase("this is the first error in its log")
        if is_echo(log.error.text):
            why = phrase("this error mostly follows from the end of another rank, and no log has an earlier one")
    elif log.logged is not None:
        what = phrase("it failed: {error}", error=log.logged.text)
        why = phrase("no line has the form of an error, and this is what the program has logged as one")
    else:
        what = _tell_last(log, failed.code)
        why = phrase("a program that ends by an exit code alone says why in its last lines, if at all; one that prints "
                     "nothing may write into a file")  # fmt: skip
    role, _, index = failed.name.rpartition("-")
    command = f"paddock logs {case.asked.job}{case.asked.options} --role {role} --rank {index} --first-error"
    mend = phrase("read the lines around it, and mend what they say")
    if log.error is None and log.last_own is None:  # no command shows what is not there
        mend = phrase("let the program print why it ends, on standard output or standard error, and run it again")
        command = ""
    return Finding("program-failed", Severity.WRONG, failed.where, what, why, mend, command if case.asked.job else "")


def _tell_unread(case: Case, failed: _Failed) -> Finding:
    """Of a rank of which no log was read: it was not started, as the cause of the job says; or nobody knows why."""
    cause, code, asked = case.cause, failed.code, case.asked
    said = text_of(cause.args, "message") if cause is not None and failed.name in items_of(cause.args, "ranks") else ""
    role, _, index = failed.name.rpartition("-")
    what = phrase("it failed, and its log could not be read here")
    if code is not None:
        what = phrase("it failed (exit code {code}), and its log could not be read here", code=code)
    why = phrase("it is gone with its pod, or its node does not answer")
    mend = phrase("see why, and read the log where it is kept")
    command = f"paddock logs {asked.job}{asked.options} --role {role} --rank {index}"
    if said:
        what = phrase("it was not started: {said}", said=Foreign(said))
        why = phrase("a program that was not started prints nothing")
        mend, command = phrase("mend what it says, and run the job again"), ""
    return Finding("program-failed", Severity.WRONG, failed.where, what, why, mend, command if asked.job else "")


def _tell_last(log: LaunchLog, code: int | None) -> Phrase:
    """Of a rank that printed no error."""
    last = log.last_own and log.last_own.text
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


_MEMORY = re.compile(
    r"\bkilled by signal: Killed\b|\bMemoryError\b|\bstd::bad_alloc\b|Cannot allocate memory|Unable to allocate \d|"
    r"DefaultCPUAllocator: (?:can't|not enough) |: line \d+: +\d+ Killed\b|^Killed\b"
)
"""What PyTorch, PaddlePaddle, numpy, Python, C++ and a shell say of the machine's memory."""
_KILLED = re.compile(r"\bKilled\b")


def _check_limit(case: Case, failed: _Failed) -> Finding | None:
    """What the node tells of a rank that the kernel has ended (OOMKilled), by the cause of the job."""
    args = case.cause.args if case.cause is not None else {}
    if not args.get("memory") or failed.name not in (*items_of(args, "ranks"), *items_of(args, "failed")):
        return None
    used, limit = text_of(args, "memory_used"), text_of(args, "memory_limit")
    what = phrase("it was ended as its memory was used up (OOMKilled)")
    if used:
        what = phrase("it was ended at its limit of memory (OOMKilled): it used {used} of {limit}",
                      used=used, limit=limit)  # fmt: skip
    why = phrase("where the memory of a container or of the machine is used up, the kernel ends the largest process, "
                 "also one of a DataLoader")  # fmt: skip
    return Finding("memory-was-used-up", Severity.WRONG, failed.where, what, why, _MORE_MEMORY, case.asked.edit)


_MORE_MEMORY = phrase(
    "give it more memory (`resources.limits.memory` of its container), or let it take less: a smaller batch, fewer "
    "workers of the DataLoader (num_workers), no data set held whole; what lies in /dev/shm counts as well"
)


def _check_memory(case: Case, failed: _Failed) -> Finding | None:
    error = failed.log.error
    if error is None or failed.log.exit_text is not None or not _MEMORY.search(error.text):
        return None
    why = phrase("a program was refused memory: its container's limit, or the machine's memory, was reached")
    if _KILLED.search(error.text):
        why = phrase("mostly the kernel sends SIGKILL, where the memory of the container or of the machine is used up; "
                     "it chooses the largest process, also one of a DataLoader")  # fmt: skip
    command = case.asked.edit or ("journalctl -k -g 'out of memory'" if _KILLED.search(error.text) else "free -h")
    what = phrase("the memory was used up: {error}", error=error.text)
    if _KILLED.search(error.text):
        what = phrase("the memory was used up, as it seems: {error}", error=error.text)
    return Finding("memory-was-used-up", Severity.WRONG, failed.where, what, why, _MORE_MEMORY, command)


_DEVICE_MEMORY = re.compile(
    r"\b(?:CUDA|XPU|NPU|HIP|MPS) out of memory|Out of memory error on \w+ \d|CUDA error\(2\)|CUDA error: out of memory|"
    r"\bcudaErrorMemoryAllocation\b"
)


def _check_device_memory(failed: _Failed) -> Finding | None:
    error = failed.log.error
    if error is None or failed.log.exit_text is not None or not _DEVICE_MEMORY.search(error.text):
        return None
    return Finding(
        "device-memory-was-used-up",
        Severity.WRONG,
        failed.where,
        phrase("the memory of a device was used up: {error}", error=error.text),
        phrase("parameters, gradients, the optimizer's state and activations lie there together, and those of other "
               "processes on the same device"),
        phrase("let it take less: a smaller batch with gradient accumulation, mixed precision, recomputation of "
               "activations; and see who else is on the device"),
        "nvidia-smi",
    )  # fmt: skip


def _check_hidden(failed: _Failed) -> Finding | None:
    error = failed.log.error
    hidden = read_hidden(error.text) if error is not None and failed.log.exit_text is None else None
    if error is None or hidden is None:
        return None
    return Finding(
        "standard-module-is-hidden",
        Severity.WRONG,
        failed.where,
        phrase("it failed: {error}", error=error.text),
        phrase("a file beside the program has the name of Python's module {module}, and whoever asks for that module, "
               "also a library, gets the file", module=hidden.module),
        phrase("rename {file}", file=hidden.file),
    )  # fmt: skip


def _check_module(case: Case, failed: _Failed) -> Finding | None:
    """A package that the environment lacks. Whether the module is a file of the user's own is not known here."""
    error, asked = failed.log.error, case.asked
    package = find_package(read_missing_module(error.text)) if error is not None else ""
    if error is None or failed.log.exit_text is not None or not package:
        return None
    mend = phrase("add the package {package} to its image, and run the job again", package=package)
    command = f"paddock env update {asked.environment} --add {shlex.quote(package)}" if asked.is_built else ""
    if asked.file and asked.is_built:
        mend = phrase("write {package} into {file}, and run the job again with it (-r {file})", package=package,
                      file=asked.file)  # fmt: skip
        command = "" if asked.file.endswith(".toml") else f"echo {shlex.quote(package)} >> {shlex.quote(asked.file)}"
    elif asked.is_built:
        mend = phrase("add the package {package} to environment {environment}, and run the job again",
                      package=package, environment=asked.environment)  # fmt: skip
    elif case.machine.is_shared:
        mend = phrase("write {package} into a requirements.txt, and run the job with it "
                      "(-r requirements.txt)", package=package)  # fmt: skip
    return Finding(
        "module-is-missing",
        Severity.WRONG,
        failed.where,
        phrase("it failed: {error}", error=error.text),
        phrase("no package of its environment brings that module, and no file in its working directory or in PYTHONPATH"
               " has that name"),
        mend,
        command,
    )  # fmt: skip


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
               error=error.text),
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
    if number is None or (failed.log.error is not None and not failed.log.went_on):
        return None
    name = Signals(number).name if number in set(Signals) else str(number)
    last = failed.log.last_own
    what = phrase("it was ended by signal {number} ({name})", number=number, name=name)
    if last is not None:
        what = phrase("it was ended by signal {number} ({name}); its last line: {line}",
                      number=number, name=name, line=last.text)  # fmt: skip
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
    where = failed.where if last is None else place(failed.name, last.line)
    return Finding("program-was-killed", Severity.WRONG, where, what, why, mend, command)
