"""The stacks of a job, as text (`logs.stack_lines`) and as a document. Pure but for `print_stacks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from paddock.cli.output.streams import print_line, print_notice
from paddock.kube.pod_stacks import Frame
from paddock.logs.stack_lines import build_lines
from paddock.logs.stacks import Folded, Group, merge_places
from paddock.words.phrases import Names, Phrase, phrase, render


def print_stacks(folded: Folded, language: str, *, whole: bool) -> None:
    """To standard output; what has no stack, to standard error. `whole`: with launchers, data loaders, all threads."""
    for line in build_lines(folded, language, whole=whole):
        print_line(line)
    for why, labels in merge_reasons(folded.without).items():
        said = (
            phrase("no stack of {rank}: {why}", rank=labels[0], why=why)
            if len(labels) == 1
            else phrase("no stack of {ranks}, of each because: {why}", ranks=Names(tuple(labels)), why=why)
        )
        print_notice(render(said, language))


def merge_reasons(without: Iterable[tuple[str, Phrase]]) -> dict[Phrase, list[str]]:
    """The labels of each reason: on a cluster a hundred ranks may have the same."""
    found: dict[Phrase, list[str]] = {}
    for label, why in without:
        found.setdefault(why, []).append(label)
    return found


def build_document(namespace: str, job: str, folded: Folded, *, whole: bool) -> dict[str, Any]:
    """For programs. `without` has English sentences, all else no sentences."""
    groups = (*folded.groups, *(folded.helpers if whole or not folded.groups else folded.loaders))
    return {
        "namespace": namespace,
        "job": job,
        "places": [
            {
                "function": place.function, "file": place.file, "line": place.line, "collective": place.collective,
                "ranks": list(labels),
            }
            for place, labels in merge_places(folded.groups)
        ],
        "stacks": [_build_group(group, whole=whole) for group in groups],
        "without": [{"rank": label, "why": render(why)} for label, why in folded.without],
    }  # fmt: skip


def _build_group(group: Group, *, whole: bool) -> dict[str, Any]:
    return {
        "ranks": list(group.labels),
        "work": str(group.members[0].work),
        "frames": _build_frames(group.frames),
        "processes": [
            {"rank": each.label, "pid": each.process.pid, "command": each.process.command, "by": each.process.by}
            | ({"threads": [{"name": thread.name, "main": thread.main, "frames": _build_frames(thread.frames)}
                            for thread in each.process.threads]} if whole else {})
            for each in group.members
        ],
    }  # fmt: skip


def _build_frames(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    return [{"file": each.file, "line": each.line, "function": each.function} for each in frames]
