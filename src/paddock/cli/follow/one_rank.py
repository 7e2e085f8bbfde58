"""The pods of a job that a command goes into: one for `paddock exec`, `shell`, `forward`, all for `exec --all`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.complete import complete_ranks
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.lookup import NoJob, fetch_pods
from paddock.cli.cluster.options import Command
from paddock.cli.follow.gone_jobs import explain_gone
from paddock.cli.follow.named_pods import fetch_named, refuse_another
from paddock.cli.follow.ranks import Ranges, RanksType, choose_ranks
from paddock.cli.output.language import readers_language
from paddock.cli.output.local_times import format_clock
from paddock.jobs.model import Phase, Pod, PodPhase, Rank
from paddock.jobs.objects.observed import read_pod
from paddock.jobs.program_ranks import Numbering, number_ranks
from paddock.kube.held_pods import read_held
from paddock.kube.meta import Manifest, metadata, name_of
from paddock.kube.nearness import nearest
from paddock.kube.pod_logs import name_main_container
from paddock.kube.times import Moment, read_time
from paddock.views.commands import choose_word
from paddock.views.held import HeldRank, list_held, tell_held
from paddock.views.manager import explain_manager
from paddock.views.stored import StoredJob
from paddock.words.phrases import Names, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.cli.cluster.places import ClusterChoice
    from paddock.client.client import Client


@dataclass(frozen=True, slots=True)
class Asked:
    """Which pod the command line names."""

    word: str
    """The job, or one of its pods."""
    role: str = ""
    ranks: Ranges | None = None
    container: str = ""


def in_one_container(command: Command) -> Command:
    """The options by which `Asked` is filled: --role, --rank, --container."""
    role = click.option("--role", default="", metavar="ROLE", help="In a pod of this role: worker, ps.")
    rank = click.option(
        "--rank", "ranks", type=RanksType(), metavar="N", shell_complete=complete_ranks,
        help="In the pod of this rank, or of this name: 3, ps-0 (default: rank 0).",
    )  # fmt: skip
    container = click.option(
        "-c", "--container", default="", metavar="NAME", help="In this container (default: the one that trains)."
    )
    return role(rank(container(command)))


@dataclass(frozen=True, slots=True)
class OneRank:
    """A pod that runs, or is held, and the container of it that is meant."""

    stored: StoredJob
    rank: Rank
    pod: Manifest
    container: str
    held: HeldRank | None = None
    """It has failed, and is held for a shell."""
    note: Phrase | None = None
    """That it was chosen among several; None where the command line names it, or there is one alone."""

    @property
    def namespace(self) -> str:
        return self.stored.key.namespace

    @property
    def name(self) -> str:
        """The pod's."""
        return name_of(self.pod)


@dataclass(frozen=True, slots=True)
class _Found:
    """A job with its pods, as the command line names them."""

    stored: StoredJob
    asked: Asked
    word: str
    options: str
    pods: Mapping[Rank, tuple[Pod, Manifest]]
    chosen: tuple[Rank, ...]
    numbering: Numbering | None
    note: Phrase | None
    """Which pods numbers mean."""
    held: Mapping[Rank, HeldRank]
    holds: bool
    """Whether one could be held, where the command may go into it."""

    def find(self, rank: Rank) -> OneRank | None:
        """None where nothing of it runs. Raises as `choose_container`."""
        _, pod = self.pods.get(rank, (None, None))
        if pod is not None and rank in self.held:
            name = name_container(pod, str(rank), self.asked.container)
            return OneRank(self.stored, rank, pod, name, self.held[rank])
        if pod is None or not is_in(pod, self.asked.container):
            return None
        return OneRank(self.stored, rank, pod, choose_container(pod, str(rank), self.asked.container))

    def explain(self, rank: Rank) -> Phrase:
        """Why nothing of it runs."""
        read, pod = self.pods.get(rank, (None, None))
        if self.held and self.stored.status.phase.terminal:
            return explain_not_held(self.stored, rank, list(self.held.values()), self.word, self.options)
        over = read_held(pod) if pod is not None and self.holds else None
        runs = [str(each) for each, (other, _) in self.pods.items() if other.phase is PodPhase.RUNNING]
        return explain_not_running(self.stored, rank, read, runs, self.word, self.options, over=over, holds=self.holds)


async def find_one(
    client: Client, place: ClusterChoice, namespace: str, asked: Asked, *, holds: bool = False
) -> OneRank:
    """`holds`: whether one that has failed and is held will do.

    Raises `UserError` for a name that nothing has, `Failed` where it does not run."""
    found = await _find(client, place, namespace, asked, holds=holds)
    rank = choose_one(found.stored.key.name, found.chosen, found.asked, found.numbering)
    one = found.find(rank)
    if one is None:
        raise Failed(found.explain(rank))
    several = found.asked.ranks is None and len(found.chosen) > 1
    return replace(one, note=tell_chosen(str(rank), len(found.chosen)) if several else None)


@dataclass(frozen=True, slots=True)
class EveryRank:
    """The pods of a job that a command goes into."""

    ones: tuple[OneRank, ...]
    absent: tuple[Phrase, ...] = ()
    """Why nothing can be run in the others that were named."""
    note: Phrase | None = None


async def find_every(
    client: Client, place: ClusterChoice, namespace: str, asked: Asked, *, holds: bool = False
) -> EveryRank:
    """`holds`: as of `find_one`. Raises as `find_one`, where none runs."""
    found = await _find(client, place, namespace, asked, holds=holds, every=True)
    ones, absent = list[OneRank](), list[Phrase]()
    for rank in found.chosen:
        read, pod = found.pods.get(rank, (None, None))
        if rank in found.held and (one := found.find(rank)) is not None:
            ones.append(one)
            continue
        if pod is None or not is_in(pod, found.asked.container):
            absent.append(_tell_absent(str(rank), read))
            continue
        name = name_container(pod, str(rank), found.asked.container)
        if (why := tell_container(pod, str(rank), name)) is None:
            ones.append(OneRank(found.stored, rank, pod, name))
        else:
            absent.append(why)
    if not ones:
        raise Failed(found.explain(found.chosen[0]))
    return EveryRank(tuple(ones), tuple(absent), found.note)


async def _find(
    client: Client, place: ClusterChoice, namespace: str, asked: Asked, *, holds: bool, every: bool = False
) -> _Found:
    """`every`: those that are not held are meant too, where some are: what is left out is told."""
    stored, asked = await _find_job(client, place, namespace, asked)
    word, options = choose_word(stored, asked.word), place.flags.of(stored.key.namespace)
    listed = await fetch_pods(client, stored)
    pods = {read.rank: (read, pod) for pod in listed if (read := _read(stored, pod)) is not None}
    ranks = (
        stored.job.ranks() if stored.job is not None else tuple(sorted(pods, key=lambda each: (each.role, each.index)))
    )
    if not ranks:
        raise Failed(explain_no_pods(stored, word, options))
    numbering = number_ranks(stored.job) if stored.job is not None else None
    selection = choose_ranks(stored.key.name, ranks, asked.role, asked.ranks, None, numbering)
    held = {each.rank: each for each in list_held(stored, listed, time.time())} if holds else {}
    chosen = selection.ranks
    if asked.ranks is None and not every:
        chosen = tuple(each for each in chosen if each in held) or chosen
    could = holds and place.home is not None
    return _Found(stored, asked, word, options, pods, chosen, numbering, selection.note, held, could)


async def _find_job(client: Client, place: ClusterChoice, namespace: str, asked: Asked) -> tuple[StoredJob, Asked]:
    """The job that is named, or the one whose pod is."""
    try:
        stored, rank = await fetch_named(client, namespace, asked.word, place.flags)
    except NoJob as error:
        said = explain_gone(place, namespace, asked.word)
        raise (error if said is None else NoJob(said)) from None
    if rank is None:
        return stored, asked
    refuse_another(asked.word, stored.key.name, rank, others=bool(asked.role) or asked.ranks is not None)
    index = Ranges(str(rank.index), ((rank.index, rank.index),))
    return stored, Asked(stored.key.name, rank.role, index, asked.container)


def _read(stored: StoredJob, pod: Manifest) -> Pod | None:
    read = read_pod(pod)
    return read if read is not None and stored.status.holds(read) else None


def choose_one(job: str, chosen: Sequence[Rank], asked: Asked, numbering: Numbering | None) -> Rank:
    """The pod with the program's RANK 0, else the first. Raises `UserError` where --rank names several. Pure."""
    if asked.ranks is not None and len(chosen) > 1:
        raise UserError(
            phrase(
                "--rank {wanted} means {count} pods of {job}, {names}: name one of them",
                wanted=asked.ranks.text, count=len(chosen), job=job, names=Names(tuple(map(str, chosen))),
            )
        )  # fmt: skip
    firsts = [each for each in chosen if numbering is not None and 0 in numbering.of(each)]
    return (firsts or list(chosen))[0]


def tell_chosen(rank: str, count: int) -> Phrase:
    return phrase("in {rank}, one of {count} pods: --rank names another", rank=rank, count=count)


def choose_container(pod: Mapping[str, Any], rank: str, wanted: str) -> str:
    """As `name_container`. Raises `Failed` for a container that does not run. Pure."""
    name = name_container(pod, rank, wanted)
    if (why := tell_container(pod, rank, name)) is not None:
        raise Failed(why)
    return name


def name_container(pod: Mapping[str, Any], rank: str, wanted: str) -> str:
    """The one that is named, else the one that trains. Raises `UserError` for a name that the pod does not have.
    Pure."""
    name = wanted or name_main_container(dict(pod))
    spec = pod.get("spec") or {}
    names = [str(each.get("name")) for kind in ("containers", "initContainers") for each in spec.get(kind) or ()]
    if name not in names:
        near = nearest(name, names)
        problem = phrase("{rank} has no container {name}; it has {names}",
                         rank=rank, name=repr(name), names=Names(tuple(names)))  # fmt: skip
        raise UserError(phrase("{problem}; did you mean {near}?", problem=problem, near=near) if near else problem)
    return name


def tell_container(pod: Mapping[str, Any], rank: str, name: str) -> Phrase | None:
    """Why a container of the pod does not run; None where it does. Pure."""
    status = pod.get("status") or {}
    states = [each for kind in ("containerStatuses", "initContainerStatuses") for each in status.get(kind) or ()]
    state = next((each.get("state") or {} for each in states if each.get("name") == name), {})
    if ended := state.get("terminated"):
        return phrase("the container {name} of {rank} has ended, with exit code {code}",
                      name=name, rank=rank, code=int(ended.get("exitCode") or 0))  # fmt: skip
    if waiting := state.get("waiting"):
        why = str(waiting.get("message") or waiting.get("reason") or "")
        return phrase("the container {name} of {rank} does not run yet: {why}", name=name, rank=rank, why=why)
    return None


def is_in(pod: Mapping[str, Any], container: str = "") -> bool:
    """Whether something of the pod runs that may be meant: a container that is named may be an init container."""
    status = pod.get("status") or {}
    kinds = ("containerStatuses", "initContainerStatuses") if container else ("containerStatuses",)
    running = [each for kind in kinds for each in status.get(kind) or () if "running" in (each.get("state") or {})]
    return bool(running)


def explain_no_pods(stored: StoredJob, word: str, options: str) -> Phrase:
    """Of a job whose ranks are not known, as its manifest is wrong, or that is another's. Pure."""
    if manager := explain_manager(stored.manifest):
        return phrase("{job} has no pods here: it is {manager}", job=stored.key.name, manager=manager)
    return phrase("{job} has no pods: its manifest is wrong; `{command}` says where",
                  job=stored.key.name, command=f"paddock explain {word}{options}")  # fmt: skip


def explain_not_running(
    stored: StoredJob,
    rank: Rank,
    pod: Pod | None,
    running: Sequence[str],
    word: str,
    options: str,
    *,
    over: Moment | None = None,
    holds: bool = False,
) -> Phrase:
    """Why nothing can be run in the pod of `rank`: its job has ended, or waits, or this pod alone has. `running`: the
    ranks whose pods run; `over`: until when it was held; `holds`: whether it could have been. Pure but for the language
    and the clock of the reader."""
    job, status = stored.key.name, stored.shown_status
    why = f"paddock explain {word}{options}"
    if status.phase.terminal:
        logs = f"paddock logs {word}{options}"
        said = phrase("{job} has ended, so nothing runs in it: {end} `{logs}` has what it printed",
                      job=job, end=_tell_end(stored), logs=logs)  # fmt: skip
        if over is not None and pod is not None:
            return phrase("{said}; {rank} was held until {time}", said=said, rank=str(rank), time=format_clock(over))
        if holds and status.phase is Phase.FAILED and not _holds(stored):
            hint = phrase("`--hold 30m` of paddock run and submit keeps a rank that fails for a shell")
            return phrase("{said}; {hint}", said=said, hint=hint)
        return said
    if status.phase is Phase.SUSPENDED:
        return phrase("{job} is suspended, so it has no pods; `{why}` says why, `{resume}` lets it go on",
                      job=job, why=why, resume=f"paddock resume {word}{options}")  # fmt: skip
    if running:
        said = _tell_absent(str(rank), pod)
        return (
            phrase("{said}; {running} runs: --rank names it", said=said, running=running[0])
            if len(running) == 1
            else phrase("{said}; {running} run: --rank names one", said=said, running=Names(tuple(running)))
        )
    if manager := explain_manager(stored.manifest):
        return phrase("{job} has no pods here: it is {manager}", job=job, manager=manager)
    if status.cause is None:
        return phrase("{said}; `{why}` says more", said=_tell_absent(str(rank), pod), why=why)
    from paddock.jobs.sentences.explain import explain  # late: what runs needs no sentence

    return phrase("{job} does not run yet: {cause}; `{why}` says more",
                  job=job, cause=explain(status.cause, readers_language()), why=why)  # fmt: skip


def _holds(stored: StoredJob) -> bool:
    return stored.job is not None and stored.job.hold is not None


def explain_not_held(stored: StoredJob, rank: Rank, held: list[HeldRank], word: str, options: str) -> Phrase:
    said = phrase("{rank} is not held, as it did not fail or its pod is gone", rank=str(rank))
    others = tell_held(held, format_clock(held[0].until), word, options)
    return phrase("{said}; {others}", said=said, others=others) if others is not None else said


def tell_hold(one: OneRank) -> Phrase | None:
    """What is left of a rank that is held, and what is not; None of one that runs."""
    if one.held is None:
        return None
    rank, time = str(one.rank), format_clock(one.held.until)
    gone = phrase("its files are there as it left them, its processes, its memory and /dev/shm are gone")
    if one.held.code is None:
        return phrase("{rank} is held until {time}: {gone}", rank=rank, time=time, gone=gone)
    return phrase("{rank} ended with exit code {code} and is held until {time}: {gone}",
                  rank=rank, code=one.held.code, time=time, gone=gone)  # fmt: skip


def _tell_absent(rank: str, pod: Pod | None) -> Phrase:
    if pod is None:
        return phrase("{rank} has no pod", rank=rank)
    if pod.exit is not None:
        return phrase("{rank} has ended, with exit code {code}", rank=rank, code=pod.exit.code)
    return phrase("{rank} does not run yet", rank=rank)


def _tell_end(stored: StoredJob) -> str:
    """`Failed after 31 s: worker-0 ended with exit code 3.`"""
    if stored.job is None:
        return f"{stored.status.phase}."
    from paddock.cli.output.display import build_end  # late, as above
    from paddock.views.followed import FollowedJob

    created = read_time(metadata(stored.manifest).get("creationTimestamp")) or time.time()
    view = FollowedJob(stored.job, stored.status, created, stored.status.finished)
    said = build_end(view, readers_language())
    return said if said.endswith((".", "。")) else render(phrase("{said}.", said=said), readers_language())
