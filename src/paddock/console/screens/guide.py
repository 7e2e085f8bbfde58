"""The keys of the console, and what its words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Screen
from paddock.words.phrases import Phrase, phrase

KEYS: Sequence[tuple[str, Phrase]] = (
    ("/", phrase("to the field that filters or finds")),
    ("j", phrase("the next row")),
    ("k", phrase("the row before")),
    ("Enter", phrase("open the chosen row")),
    ("l", phrase("the logs of the chosen row, or of this job")),
    ("y", phrase("the manifest of this job, as YAML")),
    ("p", phrase("the plan of this job")),
    ("e", phrase("the events of this job")),
    ("c", phrase("copy the command of the chosen row, or the first of the page")),
    ("g j", phrase("the list of jobs")),
    ("n", phrase("a new job")),
    ("?", phrase("this page")),
    ("Esc", phrase("leave a field, or a row")),
)
"""Of static/console.js: none of them works in a field, or with Ctrl, Alt or Meta."""

WORDS: Sequence[tuple[Phrase, Phrase]] = (
    (phrase("Job"), phrase("a PaddleJob, PyTorchJob or JAXJob: one training, with all its pods")),
    (phrase("Role"), phrase("ranks that do the same: worker, master, ps (a parameter server)")),
    (phrase("Rank"), phrase("one program of a job, in one pod: worker-0, worker-1")),
    (phrase("Attempt"), phrase("one start of all ranks together, from 0; a restart begins the next one")),
    (phrase("Restart"), phrase("an attempt that the program itself ended; the limit counts these alone")),
    (phrase("Ready"), phrase("ranks that run, of those that are wanted; of a completed job those that succeeded")),
    (phrase("Why"), phrase("the cause that the operator has recorded, in the words of `paddock explain`")),
    (phrase("Plan"), phrase("what the operator would record and do now; empty where the job is as it should be")),
)

STATES: Sequence[tuple[str, Phrase]] = (
    ("Pending", phrase("waits: for room, an image, an environment, or the operator")),
    ("Starting", phrase("its pods have places, and not all of their programs run yet")),
    ("Running", phrase("all of its pods run")),
    ("Restarting", phrase("an attempt has ended, and the next one begins")),
    ("Suspended", phrase("somebody has stopped it; it keeps its name and goes on when it is resumed")),
    ("Completed", phrase("it has done what it was to do")),
    ("Failed", phrase("it has ended without that, and is not started again")),
    ("Cancelled", phrase("somebody has ended it for good; it is not started again")),
    ("Invalid", phrase("its manifest is wrong; an edit ends that")),
    ("Terminating", phrase("it is being deleted, with its pods")),
)


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return []


async def build(page: PageContext) -> Mapping[str, Any]:
    return {
        "keys": [(key.split(), page.say(said)) for key, said in KEYS],
        "words": [(page.say(word), page.say(said)) for word, said in WORDS],
        "states": [(state, page.say(said)) for state, said in STATES],
    }


SCREEN = Screen("help", "/help", phrase("Help"), list_topics, build, live=False, in_menu=True)
