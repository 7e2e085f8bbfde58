"""The stacks of a job as lines of text. Pure.

    3 ranks in all_reduce, train.py:88; worker-2 in read_batch, data.py:41
    the collective of 3 ranks lacks worker-2

    worker-0, worker-1, worker-3
      File "/home/me/train.py", line 120, in <module>
      File "/home/me/train.py", line 88, in step
      File "…/torch/distributed/distributed_c10d.py", line 2806, in all_reduce

A frame is written as in a traceback, so editors know its form.
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.kube.pod_stacks import Frame
from paddock.logs.stack_places import Work
from paddock.logs.stack_sentences import tell_places, tell_waiting
from paddock.logs.stacks import Folded, Group
from paddock.words.phrases import phrase, render

_WORKS = {
    Work.LAUNCHES: phrase("launcher"),
    Work.LOADS: phrase("reads data"),
    Work.HELPS: phrase("helper"),
}


def build_lines(folded: Folded, language: str, *, whole: bool) -> Iterator[str]:
    shown = folded.groups or folded.helpers
    if shown:
        yield render(tell_places(shown), language)
    if (waiting := tell_waiting(folded.groups)) is not None:
        yield render(waiting, language)
    if folded.loaders:
        yield render(phrase("data loaders: {places}", places=tell_places(folded.loaders)), language)
    helpers = folded.helpers if whole or not folded.groups else folded.loaders
    for group in (*folded.groups, *helpers):
        work = group.members[0].work
        kind = f" ({render(_WORKS[work], language)})" if work in _WORKS else ""
        yield from ("", f"{', '.join(group.labels)}{kind}", *map(show_frame, group.frames))
        if whole:
            yield from _list_threads(group, language)


def _list_threads(group: Group, language: str) -> Iterator[str]:
    """The other threads of each process, which differ even where the main ones are equal."""
    for member in group.members:
        for thread in member.process.threads:
            if thread.frames and thread.frames != member.frames:
                name = thread.name or "?"
                yield "  " + render(phrase("thread {name} of {rank}", name=name, rank=member.label), language)
                yield from ("  " + show_frame(frame) for frame in thread.frames)


def show_frame(frame: Frame) -> str:
    return f'  File "{frame.file}", line {frame.line or "?"}, in {frame.function}'
