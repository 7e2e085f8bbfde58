"""Why a process or a pod has no stack, and what to do, as sentences. Pure."""

from __future__ import annotations

from shlex import quote

from paddock.kube.pod_stacks import PodStacks, ProcessStacks, Trouble
from paddock.words.phrases import Names, Phrase, phrase


def tell_no_python(pod: PodStacks) -> Phrase:
    """Why a pod has no process with a stack."""
    if not pod.others:
        return phrase("it has no process that runs")
    return phrase("it runs no Python, but {programs}", programs=Names(pod.others))


def tell_trouble(process: ProcessStacks, tool: str = "") -> Phrase:
    """Why a process has no stack, and what to do. `tool`: the path of py-spy, as PATH may not have it."""
    show = f"{quote(tool) if tool else 'py-spy'} dump --pid {process.pid}"
    command = f"sudo {show}"
    match process.trouble:
        case Trouble.NOT_ALLOWED:
            return phrase(
                "the system lets nobody look into process {pid} (kernel.yama.ptrace_scope, or a container's limits), "
                "and its Python does not tell its stack itself, as those of environments that Paddock builds do: "
                "`{command}` shows it",
                pid=process.pid, command=command,
            )  # fmt: skip
        case Trouble.NO_TOOL:
            return phrase(
                "py-spy is not installed with this Paddock, and the Python of process {pid} does not tell its stack "
                "itself, as those of environments that Paddock builds do: after `pip install py-spy`, `{command}` "
                "shows it",
                pid=process.pid, command=command,
            )  # fmt: skip
        case Trouble.ENDED:
            return phrase("process {pid} has ended meanwhile", pid=process.pid)
        case Trouble.STOPPED:
            return phrase(
                "process {pid} is stopped, by a signal or a debugger: `kill -CONT {pid}` lets it go on",
                pid=process.pid,
            )  # fmt: skip
        case Trouble.NO_ANSWER:
            return phrase(
                "process {pid} has not answered in time; it may wait in the kernel: `cat /proc/{pid}/wchan` says for "
                "what",
                pid=process.pid,
            )  # fmt: skip
        case Trouble.TOO_LONG:
            return phrase(
                "the stacks of process {pid} are too long to be read here: `{command}` shows them",
                pid=process.pid, command=show,
            )  # fmt: skip
        case Trouble.NO_PYTHON | "":
            return phrase("process {pid} runs no line of Python: {program}", pid=process.pid, program=process.command)
    return phrase(
        "py-spy failed for process {pid}: {said}; `{command}` tries again as root",
        pid=process.pid, said=process.said, command=command,
    )  # fmt: skip
