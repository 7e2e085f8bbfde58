"""What is said of a job whose ranks print nothing, from the recorded arguments of its cause (`causes.JobSilent`)."""

from __future__ import annotations

from functools import reduce

from paddock.jobs.sentences.cause_args import Args, items_of, time_of, value_of
from paddock.words.phrases import Phrase, counted, phrase


def explain_silence(args: Args) -> Phrase:
    """`no rank has printed for over 30 min: worker-0 in all_reduce, train.py:88`."""
    time, places = time_of(args, "seconds"), _tell_places(args)
    if args.get("stackless"):
        return phrase(
            "no rank has printed for over {time}; no stacks were taken: while it hangs, `paddock stacks {job}` shows "
            "where each rank is",
            time=time, job=value_of(args, "stackless"),
        )  # fmt: skip
    if places is None:
        return phrase("no rank has printed for over {time}", time=time)
    return phrase("no rank has printed for over {time}: {places}", time=time, places=places)


def explain_silent_restart(args: Args) -> Phrase:
    restart, failure = value_of(args, "restart"), explain_silence(args)
    if "limit" in args:
        return phrase(
            "restart {restart} of {limit} in {delay} s: {failure}",
            restart=restart, limit=value_of(args, "limit"), delay=value_of(args, "delay"), failure=failure,
        )  # fmt: skip
    return phrase(
        "restart {restart} in {delay} s: {failure}", restart=restart, delay=value_of(args, "delay"), failure=failure
    )


def explain_silent_end(args: Args) -> Phrase:
    if args.get("limit"):
        return counted(
            "failed after {count} restart, as many as runPolicy.backoffLimit allows: {failure}",
            "failed after {count} restarts, as many as runPolicy.backoffLimit allows: {failure}",
            count=value_of(args, "limit"), failure=explain_silence(args),
        )  # fmt: skip
    said = _explain_failure(args)
    if args.get("limit") == 0:
        return phrase("{said}; not restarted, because runPolicy.backoffLimit is 0", said=said)
    return said


def _explain_failure(args: Args) -> Phrase:
    time, places = time_of(args, "seconds"), _tell_places(args)
    if args.get("stackless"):
        return phrase("failed: {failure}", failure=explain_silence(args))
    if places is None:
        return phrase("failed: no rank has printed for over {time}", time=time)
    return phrase("failed: no rank has printed for over {time}: {places}", time=time, places=places)


def _tell_places(args: Args) -> Phrase | None:
    found = zip(items_of(args, "who"), items_of(args, "places"), strict=False)
    said = [phrase("{who} in {place}", who=who, place=place) for who, place in found]
    return reduce(lambda first, second: phrase("{first}; {second}", first=first, second=second), said) if said else None
