"""Warns of options that torchrun does not know, and of a launcher without a program: both end with exit code 2. Pure.

torchrun reads its options by argparse (torch/distributed/run.py, 2.13), and so do the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from paddock.kube.nearness import nearest
from paddock.launches.launch import Launch, Option
from paddock.launches.launchers import ACCELERATE, DEEPSPEED, FABRIC, PADDLE, TORCH_LAUNCH, TORCHRUN, Means
from paddock.launches.programs import Kind
from paddock.launches.words import show_words
from paddock.preflight.paddle_cures import name_options
from paddock.words.phrases import Phrase, phrase

_OTHERS = (PADDLE, ACCELERATE, DEEPSPEED, FABRIC)
"""Launchers whose options people type before torchrun's."""
_SAME = (Means.NODES, Means.PROCESSES, Means.NODE_RANK, Means.MASTER, Means.MASTER_ADDRESS, Means.MASTER_PORT,
         Means.RUN, Means.OWN_ADDRESS, Means.RESTARTS, Means.LOGS)  # fmt: skip
_NEAR = 0.8


def explain_unknown(launch: Launch) -> Iterator[Phrase]:
    """Of torchrun. Behind a word that may be options, or the program, nothing is known."""
    if launch.launcher not in (TORCHRUN, TORCH_LAUNCH):
        return
    given = takewhile(lambda option: option.name, launch.options)
    unknown = [each for each in given if each.spec is None and not _is_other(each)]
    renamed = [written for each in unknown if (written := _write(each))]
    behind = [each for each in unknown if not _write(each)]
    if renamed:
        yield phrase(
            "{launcher} does not know {options}, and ends with exit code 2: write {words}",
            launcher=launch.launcher.name, options=name_options([each for each in unknown if each not in behind]),
            words=" ".join(renamed),
        )  # fmt: skip
    if behind:
        yield phrase(
            "{launcher} does not know {options}, and ends with exit code 2: leave it out, or write an option of the "
            "program behind it",
            launcher=launch.launcher.name, options=name_options(behind),
        )  # fmt: skip


def _is_other(option: Option) -> bool:
    """A beginning of several options, which nobody can tell apart, or a word with blanks (`command_words`)."""
    return len(TORCHRUN.list_candidates(option.mark)) > 0 or " " in option.words[0].beginning.partition("=")[0]


def _write(option: Option) -> str:
    """torchrun's option in place of another launcher's, or of a misspelt one; empty without one."""
    plain = option.name.replace("-", "_")
    value = show_words([option.value]) if option.value is not None else "N"
    spec = next((spec for each in _OTHERS if (spec := each.find(f"--{plain}")) is not None), None)
    if spec is not None and spec.means is Means.DEVICES:
        count = str(len(value.split(","))) if "," in value else value
        return f"--nproc_per_node {count}" if count.isdecimal() and int(count[:9]) else ""
    if spec is not None:
        same = (each.name for each in TORCHRUN.options.values() if each.means is spec.means in _SAME)
        name = next(same, "")
    else:
        name = nearest(plain, TORCHRUN.options, _NEAR)
    return f"--{name} {value}" if name else ""


def explain_no_program(launch: Launch) -> Phrase | None:
    """Of a launcher behind which no program stands; None where one does, or where that is not known."""
    launcher = launch.launcher
    if launcher is None or launcher.takes_command or launch.program.kind is not Kind.NONE or launch.is_open:
        return None
    words = [word for option in launch.options for word in option.words]
    if any(option.name in ("help", "version") for option in launch.options) or any(word.splits for word in words):
        return None
    last = launch.options[-1] if launch.options else None
    if last is not None and last.value is not None and last.value.beginning.endswith(".py"):
        return phrase(
            "no program stands behind {launcher}, as {value} is the value of {option}: it ends with exit code 2; write "
            "a value between them",
            launcher=launcher.name, value=show_words([last.value]), option=last.mark,
        )  # fmt: skip
    return phrase("no program stands behind {launcher}: it ends with exit code 2; write the program, as in train.py",
                  launcher=launcher.name)  # fmt: skip
