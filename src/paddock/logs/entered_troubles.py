"""Why a process of a pod that was entered by `exec` has no stack, and what its /proc tells all the same, as sentences.
Pure. On a laptop it is `logs.stack_troubles`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from paddock.kube.pod_stacks import PodStacks, ProcessStacks, Trouble
from paddock.logs.entered_pods import Guards, Look, SeenProcess
from paddock.logs.stack_troubles import tell_trouble
from paddock.words.phrases import Foreign, Phrase, phrase

_SETTING = "capabilities: {add: [SYS_PTRACE]}"
_TOLD = frozenset({Trouble.NOT_ALLOWED, Trouble.NO_TOOL, Trouble.NO_ANSWER, Trouble.FAILED})
"""Those of a process that is there, and of which it is worth saying in which state."""


class Lack(Enum):
    """Why a container without a py-spy got none."""

    NO_COPY = auto()
    """Who asked wants none to be written there."""
    NONE_HERE = auto()
    """There is none on this machine, or none that another system could start."""
    OTHER_MACHINE = auto()
    NOWHERE = auto()
    FULL = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Lacking:
    """A lack, and its facts."""

    lack: Lack
    text: str = ""
    """The machine for which the one here is; the directory that is full; what failed."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What is known of a pod that was entered."""

    stacks: PodStacks
    look: Look
    lacking: Lacking | None = None


def tell_entered(process: ProcessStacks, entered: Entered) -> Phrase:
    """Why a process has no stack."""
    seen = entered.look.find(process.pid)
    why = _tell_why(process, seen, entered)
    return phrase("{why}; {state}", why=why, state=tell_state(seen)) if process.trouble in _TOLD else why


def _tell_why(process: ProcessStacks, seen: SeenProcess, entered: Entered) -> Phrase:
    match process.trouble:
        case Trouble.NOT_ALLOWED:
            return _tell_refused(seen, entered.look.guards)
        case Trouble.NO_TOOL:
            return tell_lacking(entered.lacking, entered.look.guards)
        case Trouble.NO_ANSWER:
            return phrase("it has not answered in time")
        case Trouble.TOO_LONG:
            return phrase("its stacks are too long to be read here")
        case Trouble.STOPPED:
            return phrase("process {pid} is stopped, by a signal or a debugger: SIGCONT lets it go on", pid=process.pid)
        case Trouble.FAILED:
            return phrase("py-spy failed: {said}", said=Foreign(process.said))
    return tell_trouble(process)


def _tell_refused(seen: SeenProcess, guards: Guards) -> Phrase:
    """Which of the rules of ptrace(2), "Ptrace access mode checking", forbids it."""
    if guards.user not in (0, seen.user):
        return phrase(
            "it runs as user {other}, and what enters the container as user {own}, who may not look into it",
            other=seen.user, own=guards.user,
        )  # fmt: skip
    if guards.traces:
        return phrase("the node forbids it to look into the process, although the container has CAP_SYS_PTRACE (kernel."
                      "yama.ptrace_scope, or the container's seccomp or AppArmor profile)")  # fmt: skip
    if guards.ptrace_scope:
        return phrase(
            "the node lets nobody look into the process (kernel.yama.ptrace_scope is {scope}), unless the "
            "securityContext of its container has `{setting}`, from its next start on",
            scope=guards.ptrace_scope, setting=_SETTING,
        )  # fmt: skip
    return phrase(
        "nobody may look into the process (its container's seccomp or AppArmor profile, or more capabilities than what "
        "enters it has): `{setting}` in the securityContext of the container may allow it, from its next start on",
        setting=_SETTING,
    )  # fmt: skip


def tell_lacking(lacking: Lacking | None, guards: Guards) -> Phrase:
    """Why there is no py-spy in a container."""
    lacking = lacking or Lacking(Lack.NONE_HERE)
    match lacking.lack:
        case Lack.NO_COPY:
            return phrase("its image has no py-spy, and --no-copy brings none into it")
        case Lack.OTHER_MACHINE:
            return phrase("its image has no py-spy, and the one of this machine is for {ours}, not for {theirs}: add "
                          "py-spy to the image", ours=lacking.text, theirs=guards.machine)  # fmt: skip
        case Lack.NOWHERE:
            return phrase("its image has no py-spy, and its container no directory where one may be written and "
                          "started (/tmp, /var/tmp, /dev/shm, /run): add py-spy to the image")  # fmt: skip
        case Lack.FULL:
            return phrase("its image has no py-spy, and {directory} has no room for one: add py-spy to the image",
                          directory=lacking.text)  # fmt: skip
        case Lack.FAILED:
            return phrase("its image has no py-spy, and copying one failed: {why}", why=Foreign(lacking.text))
    return phrase("its image has no py-spy, and this machine none that could be copied (a Linux with py-spy has): add "
                  "py-spy to the image")  # fmt: skip


def tell_state(seen: SeenProcess) -> Phrase:
    """What /proc says of a process without any right. proc(5)."""
    who = phrase("process {pid}, {command}", pid=seen.pid, command=Foreign(seen.command or seen.program))
    if seen.state == "R":
        return phrase("{process}: it computes", process=who)
    if seen.state == "D":
        return phrase("{process}: it waits in the kernel for a disk, a device or a network directory ({where})",
                      process=who, where=seen.waits or "?")  # fmt: skip
    if seen.waits:
        return phrase("{process}: it waits, in {where} of the kernel", process=who, where=seen.waits)
    return phrase("{process}: it waits", process=who)


def tell_no_shell(said: str) -> Phrase:
    """The container's runtime, of a container in which no shell could be started."""
    return phrase(
        "its image has no shell (sh) and no py-spy, so nothing can be looked at in it: {why}", why=Foreign(said)
    )


def tell_silent(seconds: float, node: str) -> Phrase:
    """Of a pod that has not answered."""
    return phrase("its container has not answered within {seconds} s: node {node}, or the way to it, may be down",
                  seconds=round(seconds), node=node)  # fmt: skip


def tell_copying(size: int) -> Phrase:
    """Before the first copy. `size`: of py-spy, in bytes."""
    return phrase(
        "py-spy ({size} MiB) is copied into the containers that have none, to a directory for temporary files, and "
        "removed again; --no-copy leaves it out",
        size=round(size / 2**20),
    )  # fmt: skip
