"""The sentences of nodes that are lost, silent or not ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.jobs.sentences.cause_args import Args, count_of, names_of, value_of, words_of
from paddock.kube.times import format_time
from paddock.words.phrases import Names, Phrase, counted, phrase


def _nodes(args: Args) -> Phrase:
    """`its node n1 is`, `their nodes n1 and n2 are`."""
    nodes, count = names_of(args, "nodes"), count_of(args, "nodes")
    if count_of(args, "ranks") > 1:
        return counted("their node {nodes} is", "their nodes {nodes} are", nodes=nodes, count=count)
    return counted("its node {nodes} is", "its nodes {nodes} are", nodes=nodes, count=count)


def explain_waiting_for_node(args: Args) -> Phrase:
    return counted(
        "waiting for {ranks} to go: {nodes} lost; {seconds} s after that, and after its grace, it is deleted by force",
        "waiting for {ranks} to go: {nodes} lost; {seconds} s after that, and after their grace, they are deleted by "
        "force",
        ranks=names_of(args, "ranks"), nodes=_nodes(args), seconds=value_of(args, "seconds"),
        count=count_of(args, "ranks"),
    )  # fmt: skip


def _by_force(args: Args) -> str:
    return f"kubectl -n {value_of(args, 'namespace')} delete pod --force --grace-period=0 {words_of(args, 'pods')}"


def explain_node_not_ready(args: Args) -> Phrase:
    ranks, nodes, count, command = names_of(args, "ranks"), _nodes(args), count_of(args, "nodes"), _by_force(args)
    if count_of(args, "ranks") > 1:
        return counted(
            "waiting for {ranks} to go: {nodes} not ready, but not lost, and has to end them by itself; if it never "
            "does: {command}",
            "waiting for {ranks} to go: {nodes} not ready, but not lost, and have to end them by themselves; if they "
            "never do: {command}",
            ranks=ranks, nodes=nodes, count=count, command=command,
        )  # fmt: skip
    return counted(
        "waiting for {ranks} to go: {nodes} not ready, but not lost, and has to end it by itself; if it never does: "
        "{command}",
        "waiting for {ranks} to go: {nodes} not ready, but not lost, and have to end it by themselves; if they never "
        "do: {command}",
        ranks=ranks, nodes=nodes, count=count, command=command,
    )  # fmt: skip


def explain_node_unknown(args: Args) -> Phrase:
    return counted(
        "waiting for {ranks} to go, long overdue; this operator may not ask whether {nodes} ready, so if it is lost: "
        "{command}",
        "waiting for {ranks} to go, long overdue; this operator may not ask whether {nodes} ready, so if they are "
        "lost: {command}",
        ranks=names_of(args, "ranks"), nodes=_nodes(args), count=count_of(args, "nodes"), command=_by_force(args),
    )  # fmt: skip


def explain_node_silent(args: Args) -> Phrase:
    ranks, nodes, moment = names_of(args, "ranks"), names_of(args, "nodes"), args.get("moment")
    said = _SILENT.get(str(args.get("state")), _SILENT["not ready"])(ranks, nodes, count_of(args, "nodes"))
    if isinstance(moment, int):
        said = phrase("{said} since {time}", said=said, time=format_time(moment))
    return phrase("{said}; if that lasts, Kubernetes deletes the pod, and all ranks start again", said=said)


_SILENT: Mapping[str, Callable[[Names, Names, int], Phrase]] = {
    "silent": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} has not reported",
        "waiting for {ranks}: nodes {nodes} have not reported",
        ranks=ranks, nodes=nodes, count=count,
    ),
    "not ready": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} has not been ready",
        "waiting for {ranks}: nodes {nodes} have not been ready",
        ranks=ranks, nodes=nodes, count=count,
    ),
    "gone": lambda ranks, nodes, count: counted(
        "waiting for {ranks}: node {nodes} is gone",
        "waiting for {ranks}: nodes {nodes} are gone",
        ranks=ranks, nodes=nodes, count=count,
    ),
}  # fmt: skip
