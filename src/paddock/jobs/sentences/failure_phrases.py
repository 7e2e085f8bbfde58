"""The sentences of what ended a gang or a job: how the program failed, what was lost, and what starts again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.sentences.cause_args import Args, count_of, items_of, names_of, text_of, value_of, with_message
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase


def _signal(args: Args) -> int:
    """The signal that ended the program; 0 for none. A shell and the kubelet report 128 + n, PaddlePaddle's launcher
    256 - n for its training process."""
    code = args.get("code")
    if not isinstance(code, int):
        return 0
    return code - 128 if 128 < code < 160 else 256 - code if code in (247, 250) else 0


def _end(args: Args) -> Phrase:
    """How the program ended, in a shell's terms."""
    code, ranks = args.get("code"), names_of(args, "ranks", "or")
    if args.get("evicted"):
        return with_message(args, phrase("{ranks} was evicted by its node", ranks=ranks))
    if args.get("message"):
        return with_message(args, phrase("{ranks} was not started", ranks=ranks))
    if (why := text_of(args, "kubelet")) and isinstance(code, int):
        return phrase("{ranks} was ended, as its {why} (exit code {code})", ranks=ranks, why=Foreign(why), code=code)
    if args.get("memory"):
        return _memory_end(args, ranks)
    if args.get("processes"):
        return phrase(
            "{ranks} had {count} processes, more than the {most} that a container may have here, and was ended "
            "(exit code 137)",
            ranks=ranks, count=value_of(args, "processes"), most=value_of(args, "most_processes"),
        )  # fmt: skip
    if not isinstance(code, int) or code < 0:
        return phrase("{ranks} failed without an exit code", ranks=ranks)
    if error := _error(args):
        return phrase("{ranks} failed: {error} (exit code {code})", ranks=ranks, error=error, code=code)
    if 128 < code < 160:
        return phrase(
            "{ranks} was killed by signal {signal} (exit code {code})", ranks=ranks, signal=_signal(args), code=code
        )
    if code in (247, 250):
        return phrase(
            "{ranks} saw its training process killed by signal {signal} (exit code {code})",
            ranks=ranks, signal=_signal(args), code=code,
        )  # fmt: skip
    if last := text_of(args, "last"):
        return phrase(
            "{ranks} ended with exit code {code}, its last line: {line}", ranks=ranks, code=code, line=Foreign(last)
        )
    return phrase("{ranks} ended with exit code {code}", ranks=ranks, code=code)


def _memory_end(args: Args, ranks: Names) -> Phrase:
    """A kernel may end a process of a program, which then ends by itself, with a code of its own."""
    code = args.get("code")
    used, limit = text_of(args, "memory_used"), text_of(args, "memory_limit")
    if isinstance(code, int) and code not in (137, -1):
        end = phrase("{ranks} ran out of memory, a process of it was killed, and it ended with exit code {code}",
                     ranks=ranks, code=code)  # fmt: skip
    else:
        end = phrase("{ranks} ran out of memory and was killed (exit code 137)", ranks=ranks)
    return phrase("{end}: it used {used} of its limit of {limit}", end=end, used=used, limit=limit) if used else end


def _error(args: Args) -> str:
    """The error in the log of a rank that ended by itself; what a signal ended has its own sentence."""
    return "" if _signal(args) or args.get("memory") or args.get("message") else text_of(args, "error")


def _failure(args: Args) -> Phrase:
    end = _end(args)
    if args.get("server") and not args.get("message"):
        return phrase("{failure} before the workers were done", failure=end)
    return end


def _with_remedy(args: Args, said: Phrase) -> Phrase:
    if _error(args) or (text_of(args, "last") and not _signal(args) and not args.get("memory")):
        return said
    if text_of(args, "kubelet"):
        return said
    if args.get("processes"):
        return phrase("{said}; let the program start fewer, as by fewer workers of a DataLoader", said=said)
    if args.get("evicted"):
        return phrase("{said}; use less of it, or request as much as is used", said=said)
    if args.get("memory"):
        return phrase("{said}; raise its memory limit or lower the batch size", said=said)
    if args.get("message") or _signal(args) not in (0, 9):
        return said
    if _signal(args):
        return phrase("{said}; signal 9 is often the machine's memory", said=said)
    return phrase("{said}; its log has the reason", said=said)


def explain_rank_failed(args: Args) -> Phrase:
    if _error(args):
        return _failure(args)
    return _with_remedy(args, phrase("failed: {failure}", failure=_failure(args)))


def explain_server_ended(args: Args) -> Phrase:
    said = _failure(args) if _error(args) else phrase("failed: {failure}", failure=_failure(args))
    if not args.get("message") and not args.get("untrained"):
        said = phrase("{said}, and what they learned since is lost", said=said)
    return _with_remedy(args, said)


def explain_failed_rank(args: Args) -> Phrase | None:
    """How a rank of a completed job failed, and how many others did, and which never began; None if none did."""
    failure, unstarted = _explain_failed(args), _explain_unstarted(args)
    if failure is not None and unstarted is not None:
        return phrase("{failure}; {others}", failure=failure, others=unstarted)
    return failure or unstarted


def _explain_unstarted(args: Args) -> Phrase | None:
    names, more, why = items_of(args, "unstarted"), args.get("unstarted_more"), text_of(args, "lacked")
    if not names:
        return None
    others = (counted("{count} other rank", "{count} other ranks", count=more),) if isinstance(more, int) else ()
    said = phrase("{ranks} never started", ranks=Names((*names, *others)))
    return phrase("{said}: {why}", said=said, why=Foreign(why)) if why else said


def _explain_failed(args: Args) -> Phrase | None:
    failed = items_of(args, "failed")
    if not failed:
        return None
    if "code" not in args and not text_of(args, "why"):  # an older record, of several codes
        return counted(
            "{ranks} failed; its log has the reason", "{ranks} failed; their logs have the reason",
            ranks=Names(failed), count=len(failed),
        )  # fmt: skip
    first, more = {**args, "ranks": failed[:1]}, args.get("more")
    said = _pods_lost(first) if text_of(args, "why") else _with_remedy(first, _end(first))
    if isinstance(more, int) and more:
        return phrase("{failure}; {count} other ranks failed too", failure=said, count=len(failed) - 1 + more)
    return phrase("{failure}; {ranks} failed too", failure=said, ranks=Names(failed[1:])) if failed[1:] else said


def explain_echoes(args: Args, said: Phrase) -> Phrase:
    """`said` with the ranks of a completed job whose end only follows from that of others, if there are any."""
    if not items_of(args, "echoes"):
        return said
    return phrase("{said}; {ranks} failed as others had ended", said=said, ranks=names_of(args, "echoes"))


def explain_restart(args: Args) -> Phrase:
    said = _counted_restart(args)
    if not items_of(args, "alone"):
        return said
    return phrase("{said}; started again alone: {ranks}", said=said, ranks=names_of(args, "alone"))


def _counted_restart(args: Args) -> Phrase:
    restart, failure = value_of(args, "restart"), _failure(args)
    if "limit" in args and args.get("delay"):
        return phrase(
            "restart {restart} of {limit} in {delay} s: {failure}",
            restart=restart, limit=value_of(args, "limit"), delay=value_of(args, "delay"), failure=failure,
        )  # fmt: skip
    if "limit" in args:
        return phrase(
            "restart {restart} of {limit}: {failure}", restart=restart, limit=value_of(args, "limit"), failure=failure
        )
    if args.get("delay"):
        return phrase(
            "restart {restart} in {delay} s: {failure}", restart=restart, delay=value_of(args, "delay"), failure=failure
        )
    return phrase("restart {restart}: {failure}", restart=restart, failure=failure)


def _pods_lost(args: Args) -> Phrase:
    why, ranks, count = str(value_of(args, "why")), names_of(args, "ranks"), count_of(args, "ranks")
    if why in _PREEMPTED:
        return counted(
            "{ranks} was preempted by another pod ({why})", "{ranks} were preempted by other pods ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    if why == "EvictionByEvictionAPI":
        return counted(
            "{ranks} was evicted on request, as by kubectl drain ({why})",
            "{ranks} were evicted on request, as by kubectl drain ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    if why in _REFUSED or why.startswith("OutOf"):
        return counted(
            "{ranks} was refused by its node ({why})", "{ranks} were refused by their nodes ({why})",
            ranks=ranks, count=count, why=why,
        )  # fmt: skip
    return phrase("{ranks} went with the node ({why})", ranks=ranks, why=why)


_PREEMPTED = ("Preempting", "Preempted", "PreemptionByScheduler")

_REFUSED = ("NodeAffinity", "UnexpectedAdmissionError", "TopologyAffinityError")


_LOSSES: Mapping[str, Callable[[Args], Phrase]] = {
    "PodsDeleted": lambda args: counted(
        "{ranks} was deleted", "{ranks} were deleted", ranks=names_of(args, "ranks"), count=count_of(args, "ranks")
    ),
    "PodsLost": _pods_lost,
    "AddressesChanged": lambda _: phrase("pods have other addresses than their peers were told"),
}  # fmt: skip


def explain_lost(reason: str, args: Args) -> Phrase:
    """What was lost. `reason`: of the cause, a `Loss`."""
    found = _LOSSES.get(reason)
    return phrase("{reason}", reason=reason) if found is None else found(args)


def explain_loss(reason: str, args: Args) -> Phrase:
    """What was lost, what starts again for it, and how it is counted."""
    said = explain_lost(reason, args)
    if items_of(args, "alone"):
        return _lost_alone(said, args)
    if "loss" in args:
        return phrase(
            "starting all ranks again: {loss}; not counted as a restart, and loss {number} of {limit} in a row",
            loss=said, number=value_of(args, "loss"), limit=value_of(args, "limit"),
        )  # fmt: skip
    return phrase("starting all ranks again: {loss}; not counted as a restart", loss=said)


def _lost_alone(loss: Phrase, args: Args) -> Phrase:
    ranks = names_of(args, "alone")
    if "loss" in args:
        return phrase(
            "starting {ranks} again alone: {loss}; not counted as a restart, and loss {number} of {limit} in a row",
            ranks=ranks, loss=loss, number=value_of(args, "loss"), limit=value_of(args, "limit"),
        )  # fmt: skip
    return phrase("starting {ranks} again alone: {loss}; not counted as a restart", ranks=ranks, loss=loss)


def names_limit(args: Args) -> bool:
    """Whether the sentence about a limit that is reached names the limit: the error of a job that was never to be
    restarted says enough."""
    return not (_error(args) and args.get("limit") == 0)


def explain_limit_exceeded(args: Args) -> Phrase:
    if not names_limit(args):
        return _failure(args)
    if _error(args):  # it stands first: a table shows the beginning
        return counted(
            "{failure}; after {count} restart, as many as runPolicy.backoffLimit allows",
            "{failure}; after {count} restarts, as many as runPolicy.backoffLimit allows",
            count=value_of(args, "limit"), failure=_failure(args),
        )  # fmt: skip
    said = counted(
        "failed after {count} restart, as many as runPolicy.backoffLimit allows: {failure}",
        "failed after {count} restarts, as many as runPolicy.backoffLimit allows: {failure}",
        count=value_of(args, "limit"), failure=_failure(args),
    )  # fmt: skip
    return _with_remedy(args, said)
