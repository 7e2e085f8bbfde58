"""The sentences of why a job waits: for room, objects, containers, nodes or Datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from paddock.jobs.sentences.cause_args import (
    Args,
    count_of,
    items_of,
    message_of,
    names_of,
    pods_of,
    text_of,
    value_of,
    with_message,
    words_of,
)
from paddock.kube.datasets import format_size
from paddock.kube.quantities import read_quantity
from paddock.kube.quotas import read_unspecified
from paddock.kube.times import format_time
from paddock.words.amounts import round_down, say_amount, say_of_quota, split_quota_name
from paddock.words.awaited import find_awaited
from paddock.words.phrases import Foreign, Names, Phrase, counted, phrase
from paddock.words.room import explain_gang, explain_room, explain_turn, read_shortage
from paddock.words.shortage import Shortage, explain_shortage

MACHINE_FAULT = "MachineFault"
"""The reason of Paddock's own kubelet for what is wrong with the machine, not with the manifest: a full disk
(`node.runtime.machine_faults`). What waits so is tried again."""


SHORTAGE = "shortage"
"""The argument with which a reader adds what nodes and pods show (`views.rooms`): a value, which no status can have."""


def explain_old_pods(args: Args) -> Phrase:
    """An older Paddock recorded no names."""
    count, names = value_of(args, "pods"), names_of(args, "names")
    if group := text_of(args, "group"):
        return _explain_old_group(args, group)
    if items_of(args, "finalizers"):
        return counted(
            "waiting for pod {names} of an earlier attempt, which its finalizer {finalizers} keeps: whoever set it is "
            "to remove it",
            "waiting for pods of an earlier attempt: finalizers ({finalizers}) keep {names}; whoever set them is to "
            "remove them",
            count=count_of(args, "names"), names=names, finalizers=names_of(args, "finalizers"),
        )  # fmt: skip
    if count == 1 and items_of(args, "names"):
        return phrase("waiting for pod {names} of an earlier attempt to end", names=names)
    return counted(
        "waiting for {count} pod of an earlier attempt to end", "waiting for {count} pods of an earlier attempt to end",
        count=count,
    )  # fmt: skip


_OF_COLLECTOR = ("foregroundDeletion", "orphan")
"""Finalizers that the cluster's garbage collector sets and removes."""
_OF_PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""Kubernetes 1.37 sets it where its gate GenericWorkload is on in kube-apiserver, and kube-controller-manager takes it
off where the gate is on there too."""


def _explain_old_group(args: Args, group: str) -> Phrase:
    others = tuple(each for each in items_of(args, "finalizers") if each not in _OF_COLLECTOR)
    if others == (_OF_PROTECTION,):
        return phrase(
            "waiting for PodGroup {group} of an earlier attempt, which kube-controller-manager keeps (finalizer "
            "{finalizer}) until its pods are gone: its feature gate {gate} must be on there too, or somebody takes the "
            "finalizer off",
            group=group, finalizer=_OF_PROTECTION, gate="GenericWorkload",
        )  # fmt: skip
    if others:
        return counted(
            "waiting for PodGroup {group} of an earlier attempt, which its finalizer {finalizers} keeps: whoever set "
            "it is to remove it",
            "waiting for PodGroup {group} of an earlier attempt, which its finalizers {finalizers} keep: whoever set "
            "them is to remove them",
            group=group, finalizers=Names(others), count=len(others),
        )  # fmt: skip
    return phrase(
        "waiting for PodGroup {group} of an earlier attempt to be gone: it is being deleted, and the cluster's garbage "
        "collector, a part of kube-controller-manager, or its own controller has not removed it yet",
        group=group,
    )


def explain_scheduler(args: Args) -> Phrase:
    """Names first the one object that pods wait for: the number of nodes does not matter then."""
    found = find_awaited(message_of(args))
    if found is not None:
        return _AWAITED[found.form](found.facts)
    if (shortage := shortage_of(args)) is not None:
        said = explain_shortage(shortage)
        return said if _waits_whole(args) else phrase("{said}: {why}", said=_room(args), why=said)
    if (turn := explain_turn(message_of(args))) is not None and _waits_whole(args):
        return turn
    if (why := explain_room(message_of(args))) is not None:
        return phrase("{said}: {why}", said=_room(args), why=why)
    return with_message(args, _room(args))


def shortage_of(args: Args) -> Shortage | None:
    """What the pods of the job lack, with numbers: as nodes and pods show it, else as the local scheduler says it."""
    found = args.get(SHORTAGE)
    return found if isinstance(found, Shortage) else read_shortage(message_of(args))


def _waits_whole(args: Args) -> bool:
    """Whether no pod of the job has room: its sentence needs no number of pods then."""
    return not args.get("placed") and "wanted" in args and args.get("pods") == args.get("wanted")


def _room(args: Args) -> Phrase:
    """A scheduler that places pods one by one gives room to a part of a gang, which then keeps it from others."""
    pods = pods_of(args, "pods")
    if not args.get("placed"):
        return phrase("waiting for room for {pods}", pods=pods)
    return counted(
        "waiting for room for {pods}, while {count} other holds room",
        "waiting for room for {pods}, while {count} others hold room",
        pods=pods,
        count=value_of(args, "placed"),
    )


def explain_pod_group(args: Args) -> Phrase:
    pods, name, phase = pods_of(args, "pods"), value_of(args, "name"), args.get("phase")
    if isinstance(shortage := args.get(SHORTAGE), Shortage):
        why = explain_shortage(shortage)
        return why if _waits_whole(args) else phrase("{said}: {why}", said=_room(args), why=why)
    if (gang := explain_gang(message_of(args))) is not None:
        said = phrase("waiting for room for {pods}", pods=pods)
        return phrase("{said}: {why}", said=said, why=gang)
    if not phase:
        return with_message(args, phrase("waiting for room for {pods}: PodGroup {name}", pods=pods, name=name))
    said = phrase(
        "waiting for room for {pods}: PodGroup {name} is {phase}", pods=pods, name=name, phase=Foreign(str(phase))
    )
    return with_message(args, said)


def _unbound(facts: Mapping[str, str]) -> Phrase:
    names = facts["name"].split(", ")
    if len(names) > 1:
        said = phrase("waiting for one of the claims {names} to be bound", names=Names(tuple(names)))
    elif facts["name"]:
        said = phrase("waiting for the claim {name} to be bound", name=facts["name"])
    else:
        said = phrase("waiting for a claim of its volumes to be bound")
    return phrase("{said}: {message}", said=said, message=Foreign(facts["why"])) if facts["why"] else said


def _missing_claim(facts: Mapping[str, str]) -> Phrase:
    name, namespace, there, where = (facts[each] for each in ("name", "namespace", "there", "where"))
    said = (
        phrase("waiting for the claim {name}, which namespace {namespace} lacks", name=name, namespace=namespace)
        if namespace
        else phrase("waiting for the claim {name}, which does not exist", name=name)
    )
    if there not in ("", "none"):
        said = phrase("{said}; it has {there}", said=said, there=there)
    return phrase("{said}; one of this name is in {where}", said=said, where=where) if where else said


_AWAITED: Mapping[str, Callable[[Mapping[str, str]], Phrase]] = {
    "missing": _missing_claim,
    "deleted": lambda facts: phrase("waiting for the claim {name}, which is being deleted", name=facts["name"]),
    "unbound": _unbound,
    "group": lambda facts: phrase("waiting for the PodGroup {name}, which does not exist yet", name=facts["name"]),
}


def explain_awaited_ends(args: Args) -> Phrase:
    names, count = items_of(args, "awaited"), args.get("count")
    if isinstance(count, int) and count > len(names):
        return phrase("the ends of {number} others", number=count)
    return counted("the end of {ranks}", "the ends of {ranks}", ranks=Names(names), count=len(names) or 1)


def explain_in_the_way(args: Args) -> Phrase:
    objects = names_of(args, "objects")
    if args.get("former"):
        return phrase("waiting for what is left of the former job of this name to go: {objects}", objects=objects)
    said = counted(
        "waiting: {objects} has a name that this job needs and belongs to somebody else; delete what is there or "
        "rename the job",
        "waiting: {objects} have names that this job needs and belong to somebody else; delete what is there or "
        "rename the job",
        objects=objects, count=count_of(args, "objects"),
    )  # fmt: skip
    if not args.get("command"):
        return said
    return phrase("{said}: {command}", said=said, command=value_of(args, "command"))


def explain_last_ranks(args: Args) -> Phrase:
    ranks, count = names_of(args, "ranks"), count_of(args, "ranks")
    if args.get("seconds") is None:
        return counted(
            "the other ranks have finished; {ranks} still runs, and the job waits for it",
            "the other ranks have finished; {ranks} still run, and the job waits for them",
            ranks=ranks, count=count,
        )  # fmt: skip
    return counted(
        "the other ranks have ended well; {ranks} still runs, and is ended {seconds} s after the first good end",
        "the other ranks have ended well; {ranks} still run, and are ended {seconds} s after the first good end",
        ranks=ranks, count=count, seconds=value_of(args, "seconds"),
    )  # fmt: skip


def explain_refused(args: Args) -> Phrase:
    said = with_message(args, phrase("waiting: the API server refuses {objects}", objects=names_of(args, "objects")))
    if missing := read_unspecified(message_of(args)):
        said = counted(
            "{said}; write {fields} at the container, which --cpus N and --memory SIZE do for a typed command, or "
            "make a LimitRange with defaults",
            "{said}; write {fields} at the containers, which --cpus N and --memory SIZE do for a typed command, or "
            "make a LimitRange with defaults",
            said=said, fields=Names(tuple(f"resources.{each}" for each in missing)),
            count=len({each for containers in missing.values() for each in containers}) or 1,
        )  # fmt: skip
    return phrase("{said}; it is asked again within a minute", said=said)


def explain_quota(args: Args) -> Phrase:
    """What is asked for and left, of each resource that is exceeded; what would fit."""
    columns = (items_of(args, column) for column in ("names", "used", "hard", "asked"))
    lacking = [_read_quota(*row) for row in zip(*columns, strict=False)]
    said = phrase(
        "waiting: the quota {quota} has no room for {pods}: {amounts}",
        quota=value_of(args, "quota"), pods=_name_crowded(args),
        amounts=_join([_say_lacking(each) for each in lacking]),
    )  # fmt: skip
    if args.get("never"):
        return phrase("{said}; it allows too little for this job alone: raise it, or ask for less", said=said)
    if isinstance(fits := args.get("fits"), int) and fits > 0:
        said = counted("{said}; {count} of them would fit", "{said}; {count} of them would fit", said=said, count=fits)
    if amounts := _fit_together(args, lacking):
        said = phrase("{said}; with {amounts} each all of them would fit", said=said, amounts=amounts)
    return phrase(
        "{said}; the job starts once others of the namespace have ended or the quota is raised: it is asked again "
        "within a minute",
        said=said,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lacking:
    """A resource that a quota has too little of. A status is anybody's: its amounts may be none."""

    name: str
    asked: str
    left: Fraction | None
    hard: Fraction


def _read_quota(name: str, used: str, hard: str, asked: str) -> _Lacking:
    try:
        allowed = read_quantity(hard)
        read_quantity(asked)
        return _Lacking(name, asked, max(allowed - read_quantity(used), Fraction(0)), allowed)
    except ValueError:
        return _Lacking(name, asked, None, Fraction(0))


def _say_lacking(lacking: _Lacking) -> Phrase | str:
    if lacking.left is None:
        return f"{lacking.asked} {lacking.name}"
    asked = say_amount(split_quota_name(lacking.name)[1], read_quantity(lacking.asked))
    return say_of_quota(lacking.name, asked, lacking.left, lacking.hard)


def _join(said: Sequence[Phrase | str]) -> Phrase | str:
    """Clause by clause, as a stored message is rendered (`words.messages`)."""
    joined = said[0] if said else "?"
    for each in said[1:]:
        joined = phrase("{first}; {second}", first=joined, second=each)
    return joined


def _fit_together(args: Args, lacking: Sequence[_Lacking]) -> Names | None:
    """What each pod of a gang may ask for so that all of them have room; None where less of another kind is left."""
    count = args.get("pods")
    if not isinstance(count, int) or count < 2:
        return None
    fitting = []
    for each in lacking:
        section, resource = split_quota_name(each.name)
        amount = round_down(resource, (each.left or Fraction(0)) / count)
        if section != "requests" or resource not in ("cpu", "memory") or not amount:
            return None
        fitting.append(say_amount(resource, read_quantity(amount)))
    return Names(tuple(fitting))


def _name_crowded(args: Args) -> Phrase | Names:
    """The pods that have no room: all of a gang by their number, one by its name."""
    count = args.get("pods")
    if isinstance(count, int) and count > 1:
        return counted("{count} pod together", "{count} pods together", count=count)
    return names_of(args, "objects")


def explain_not_created(args: Args) -> Phrase:
    said = phrase("waiting: the API server cannot create {objects}", objects=names_of(args, "objects"))
    return phrase(
        "{said}; tried {tries} times or more, and again within a minute",
        said=with_message(args, said),
        tries=value_of(args, "tries"),
    )


def explain_own_account(args: Args) -> Phrase:
    named = {each: value_of(args, each) for each in ("role", "field", "name", "namespace")}
    if args.get("account"):
        return phrase(
            "waiting, and no pod is created: {role}.{field} names the Secret {name}, a token of {account}, the service "
            "account of Paddock itself in namespace {namespace}; any other Secret is allowed. Take it out, or create "
            "the job in another namespace",
            **named, account=value_of(args, "account"),
        )  # fmt: skip
    return phrase(
        "waiting, and no pod is created: {role}.{field} is {name}, the service account of Paddock itself in namespace "
        "{namespace}; any other account is allowed, and none at all. Edit it, or create the job in another namespace",
        **named,
    )


def explain_container_waiting(args: Args) -> Phrase:
    rank, why, message = value_of(args, "rank"), value_of(args, "why"), message_of(args)
    if not message:
        return phrase("waiting for {rank}: {why}", rank=rank, why=why)
    if why == MACHINE_FAULT:
        return phrase("waiting for the machine of {rank}: {message}", rank=rank, message=Foreign(message))
    return phrase("waiting for {rank}: {why}, {message}", rank=rank, why=why, message=Foreign(message))


# Nodes that are lost, silent or not ready.


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


# Datasets that the job mounts.


def explain_waiting_for_dataset(args: Args) -> Phrase:
    """`waiting for dataset imagenet: 41 %, 3.2 of 7.8 GB`, with what of it is known."""
    said = _explain_progress(args)
    more = args.get("more")
    if not isinstance(more, int) or more < 1:
        return said
    return counted("{said}, and for {count} more dataset", "{said}, and for {count} more datasets", said=said,
                   count=more)  # fmt: skip


def _explain_progress(args: Args) -> Phrase:
    name, percent, done, total = (
        value_of(args, "dataset"),
        _number(args, "percent"),
        _number(args, "done"),
        _number(args, "total"),
    )
    if total or (done and percent):
        size = _explain_part(min(done, total or done), total)
        return phrase("waiting for dataset {name}: {percent} %, {size}", name=name, percent=percent, size=size)
    if done:
        return phrase("waiting for dataset {name}: {size} so far", name=name, size=format_size(done))
    if percent:
        return phrase("waiting for dataset {name}: {percent} %", name=name, percent=percent)
    return with_message(args, phrase("waiting for dataset {name}", name=name))


def explain_dataset_missing(args: Args) -> Phrase:
    name, namespace, near = value_of(args, "dataset"), value_of(args, "namespace"), text_of(args, "nearest")
    if args.get("deleting"):
        return phrase(
            "waiting for dataset {name}, which is being deleted; create it again, and the job goes on by itself",
            name=name,
        )
    said = phrase("waiting for dataset {name}, which namespace {namespace} lacks", name=name, namespace=namespace)
    if near:
        said = phrase("{said}; the nearest name that it has is {near}", said=said, near=near)
    elif items_of(args, "known"):
        said = phrase("{said}; it has {known}", said=said, known=names_of(args, "known"))
    return phrase("{said}; create it, and the job goes on by itself", said=said)


def explain_dataset_failed(args: Args) -> Phrase:
    name = value_of(args, "dataset")
    said = with_message(args, phrase("waiting: dataset {name} failed", name=name))
    if args.get("retries"):
        return phrase("{said}; it is tried again by itself", said=said)
    return phrase("{said}; it is not tried again until somebody changes it", said=said)


def explain_datasets_unserved(args: Args) -> Phrase:
    name = value_of(args, "dataset")
    if message_of(args):
        return with_message(args, phrase("waiting for dataset {name}: the operator cannot read Datasets", name=name))
    return phrase(
        "waiting for dataset {name}: this cluster has no Datasets; `paddock manifests --datasets --image IMAGE` prints "
        "what an administrator installs",
        name=name,
    )


def _explain_part(done: int, total: int) -> Phrase | str:
    """`3.2 of 7.8 GB`, as `paddock.kube.datasets.format_part`, in every language."""
    if not total:
        return format_size(done)
    part, whole = format_size(done), format_size(total)
    number, _, unit = part.partition(" ")
    return phrase("{part} of {whole}", part=number if whole.endswith(f" {unit}") else part, whole=whole)


def _number(args: Args, name: str) -> int:
    found = args.get(name)
    return found if isinstance(found, int) and found > 0 else 0
