"""What the exit codes of a rank mean, as a rule. Values alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExitCode:
    """What an exit code of a rank means, as a rule, and what to do."""

    code: str
    means: str
    do: str


EXIT_CODES: tuple[ExitCode, ...] = (
    ExitCode("1", "The program raised an error.", "Read the first error: `paddock logs JOB --first-error`."),
    ExitCode(
        "2",
        "The program refused its arguments, or a shell its script.",
        "Compare the arguments with `paddock describe JOB`.",
    ),
    ExitCode(
        "126",
        "The command is there and cannot be executed.",
        "Give the file the right `x`, or start it by `python` or `bash`.",
    ),
    ExitCode(
        "127",
        "The command does not exist in the image or environment.",
        "Compare `command` with what the image has; `paddock get env` shows what is used on a laptop.",
    ),
    ExitCode(
        "134",
        "The program aborted itself (SIGABRT): a check of a C++ library failed.",
        "The lines before the abort say which; of gloo or NCCL it is mostly a peer that ended first.",
    ),
    ExitCode(
        "137",
        "SIGKILL: the memory limit, the machine's memory, or an end by force.",
        "Raise the memory limit or lower the batch size; `paddock describe JOB` says whether it was memory.",
    ),
    ExitCode(
        "139",
        "SIGSEGV: a fault in compiled code.",
        "Compare the versions of driver, CUDA and package; run it once with `PYTHONFAULTHANDLER=1`.",
    ),
    ExitCode(
        "143",
        "SIGTERM: somebody asked the program to end.",
        "It is mostly the consequence of another rank's end; look at that one.",
    ),
    ExitCode("247", "PaddlePaddle's launcher saw its training process killed (SIGKILL).", "As 137."),
    ExitCode(
        "250",
        "PaddlePaddle's launcher saw its training process abort (SIGABRT).",
        "As 134: mostly a consequence of another rank's end.",
    ),
)
