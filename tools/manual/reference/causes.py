"""The page of every cause with its cure. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from manual.reference.cure import Cure
from manual.reference.cures import AGAIN, ENDS, WAITING
from manual.reference.examples import find_example
from manual.reference.exit_codes import EXIT_CODES
from manual.reference.markdown import code, join, prose, table
from manual.reference.reader import Reader
from paddock.jobs.causes import CAUSES
from paddock.jobs.sentences.explain import explain

_COMMAND = re.compile(r"\bkubectl(?: [\w./=-]+)+")

GROUPS: tuple[tuple[str, str, Mapping[str, Cure]], ...] = (
    (
        "The job waits",
        (
            "Nothing is wrong with the program yet. The step of the start that comes first is told first: when it is"
            " done, the next one is told, if there is one."
        ),
        WAITING,
    ),
    (
        "All ranks start again",
        (
            "A new attempt: the pods of the job are made anew, and the program goes on from its checkpoint if it loads"
            " one. `status.restarts` counts only what the program itself ended."
        ),
        AGAIN,
    ),
    ("The job has ended, is suspended or goes", "Its last cause stays in its status.", ENDS),
)


def build_causes(reader: Reader) -> str:
    say = reader.say
    head = [
        f"# {say('Every cause, and its cure')}",
        say(
            "A job that waits, restarts or has ended says why, in one sentence: in `paddock get`, `paddock explain"
            " JOB`, the console and the job's events. The sentence belongs to a reason, one word, which is"
            " `status.cause.reason` of the job. Find the reason here:"
        ),
        "```sh\npaddock explain JOB\npaddock get jobs JOB -o json\n```",
        say(
            "The sentences below are examples. JOB, POD, NODE and NAME are yours. On a cluster, `paddock` takes "
            "`--context NAME` and `-n NAMESPACE`, and `kubectl` is the cluster's; on a laptop `kubectl` needs "
            "`export KUBECONFIG=$(paddock kubeconfig)`."
        ),
        *_build_list(reader),
    ]
    parts = [part for title, text, cures in GROUPS for part in _build_group(title, text, cures, reader)]
    return join([*head, *parts, *_build_codes(reader)])


def list_reasons(cures: Mapping[str, Cure]) -> list[str]:
    """The reasons of a group, in the order of `jobs.causes`."""
    return [reason for reason in CAUSES if reason in cures]


def _build_list(reader: Reader) -> Iterator[str]:
    """All reasons, so that a reader finds one at a glance."""
    for title, _, cures in GROUPS:
        links = " · ".join(f"[{reason}](#{reason.lower()})" for reason in list_reasons(cures))
        yield f"**{reader.say(title)}:** {links}"


def _build_group(title: str, text: str, cures: Mapping[str, Cure], reader: Reader) -> Iterator[str]:
    yield f"## {reader.say(title)}"
    yield reader.say(text)
    for reason in list_reasons(cures):
        yield from _build_cause(reason, cures[reason], reader)


def _build_cause(reason: str, cure: Cure, reader: Reader) -> Iterator[str]:
    yield f"### {reason}"
    yield f"> {_quote(explain(find_example(reason), reader.language))}"
    # the space also in Chinese: CommonMark ends no emphasis between a full stop and a letter
    yield f"**{reader.say(str(cure.move))}** {reader.say(cure.text)}"
    if cure.commands:
        yield "```sh\n" + "\n".join(cure.commands) + "\n```"


def _quote(sentence: str) -> str:
    """The sentence as Markdown; a command in it is code as a whole."""
    return prose(_COMMAND.sub(lambda found: code(found[0]), sentence))


def _build_codes(reader: Reader) -> Iterator[str]:
    say = reader.say
    yield f"## {say('Exit codes of a rank')}"
    yield say("Many sentences end with the exit code of the program. These are not the exit codes of `paddock` itself.")
    rows = ((code(each.code), say(each.means), say(each.do)) for each in EXIT_CODES)
    yield table((say("Code"), say("As a rule"), say("What to do")), rows)
