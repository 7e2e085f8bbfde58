"""Who has suspended, resumed or cancelled a job, in a sentence. `jobs.people` reads the names."""

from __future__ import annotations

from paddock.jobs.people import read_name, show_person
from paddock.jobs.sentences.cause_args import Args, text_of
from paddock.words.phrases import Phrase, phrase


def explain_suspended(args: Args) -> Phrase:
    if who := text_of(args, "who"):
        return phrase(
            "suspended by {who}, holds no pods; set runPolicy.suspend to false to go on", who=show_person(who)
        )
    return phrase("suspended, holds no pods; set runPolicy.suspend to false to go on")


def explain_resumed(args: Args) -> Phrase:
    if who := text_of(args, "who"):
        return phrase("resumed by {who}: starting all ranks again", who=show_person(who))
    return phrase("resumed: starting all ranks again")


def explain_cancelled(args: Args) -> Phrase:
    who = name_canceller(args)
    return phrase("cancelled by {who}", who=who) if who else phrase("cancelled")


def name_canceller(args: Args) -> Phrase | str:
    """Who has cancelled the job, by the arguments of `causes.Cancelled`; empty where nobody is named."""
    if who := text_of(args, "who"):
        return show_person(who)
    claimed = read_name(text_of(args, "claimed"))
    return phrase("somebody (the annotation says {said})", said=claimed) if claimed else ""
