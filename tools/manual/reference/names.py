"""The page of the labels and annotations under paddock.dev. Pure, but that it is given the texts of the modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from manual.reference.markdown import code, join, prose, table
from manual.reference.reader import Reader

_NAME = re.compile(r"paddock\.dev/[a-z][a-z-]+")


@dataclass(frozen=True, slots=True)
class Row:
    """`on`: the objects that have it. `values`: code, empty for any. `means`: what it does, or says."""

    on: str
    values: tuple[str, ...]
    means: str


YOURS: Mapping[str, Row] = {
    "paddock.dev/restart-scope": Row(
        "jobs",
        ("Gang", "Pod"),
        "What starts again when a rank fails: all ranks (the default), or the pod of that rank alone.",
    ),
    "paddock.dev/success": Row(
        "jobs",
        ("AllRanks", "AllRanks:600"),
        "Each rank that trains must end well, and none is ended for being the last; with a number, those that run this"
        " many seconds after the first has ended well are ended. Absent: the kind decides, of a PyTorchJob the Master."
        " `paddock run` and `paddock init` write it into the job of a typed command.",
    ),
    "paddock.dev/idle": Row(
        "jobs",
        ("1h=Tell", "1h=Suspend"),
        "What becomes of a job whose GPUs all do nothing for so long: an event says so, or it is suspended as well. It"
        " acts where that is known: on a laptop, and on a cluster whose operator has `--prometheus`.",
    ),
    "paddock.dev/elastic": Row(
        "jobs",
        (),
        "The least and the most workers with which the job may train, such as `1-4`.",
    ),
    "paddock.dev/kueue": Row(
        "jobs",
        ("Pods", "Suspend"),
        "How Kueue admits a job that names a queue: the pods of each attempt as a group of plain pods, or the job by"
        " `suspend`. Absent: a batch PaddleJob by its pods, other kinds by `suspend`.",
    ),
    "paddock.dev/cancel": Row(
        "jobs",
        (),
        "Ends the job for good; the text says who asked for it, and `true` names nobody. `paddock cancel` writes the"
        " name that the API has for its user.",
    ),
    "paddock.dev/avoid-nodes": Row(
        "jobs",
        ("false",),
        "On a cluster: attempts of the job are placed also on nodes on which earlier ones have failed.",
    ),
    "paddock.dev/substitute": Row(
        "jobs",
        ("true", "false"),
        "Whether a command that cannot work is replaced. Absent: on a laptop yes, on a cluster as the operator's"
        " `--substitute` says.",
    ),
    "paddock.dev/environment": Row(
        "jobs, pod templates",
        (),
        "On a laptop: the Environment in which the pods run, whatever their images. The one of a template wins for its"
        " role.",
    ),
    "paddock.dev/requirements": Row(
        "jobs", (), "On a laptop: the requirements file of the job's environment, relative to the manifest."
    ),
    "paddock.dev/framework": Row(
        "jobs",
        ("none",),
        "The program trains with no framework, so on a laptop none is added to the packages of its requirements file,"
        " and its default Environment is `host`. `paddock run` writes it where nothing names one.",
    ),
    "paddock.dev/rank-variables": Row(
        "jobs",
        ("false",),
        "The one pod of a PyTorchJob has none of `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and the others, as in a shell."
        " `paddock run` writes it for a program that asks for them, or joins no group.",
    ),
    "paddock.dev/servers-first": Row(
        "jobs",
        ("true",),
        "Workers and heter ranks start their program when each parameter server answers at its port, or after two"
        " minutes. `paddock run` and `submit` write it for a program that calls `init_worker()` at once.",
    ),
    "paddock.dev/working-directory": Row(
        "jobs", (), "On a laptop: the absolute path of the directory in which the programs start."
    ),
    "paddock.dev/resume": Row(
        "jobs",
        ("true", "3"),
        "The job begins with the checkpoints of the last run of its name, or of run 3: on a laptop, and on a cluster of"
        " the runs in the claim of `paddock.dev/outputs`.",
    ),
    "paddock.dev/outputs": Row(
        "jobs",
        ("results",),
        "On a cluster: the claim (PersistentVolumeClaim) in which each run has a directory of its own, the value of"
        " `PADDOCK_OUTPUT_DIR`, with its checkpoints. On a laptop each run has one anyway. `--outputs` writes it.",
    ),
    "paddock.dev/note": Row(
        "jobs",
        (),
        "What a person wrote about the job, at most 4,000 characters. The console writes it on a cluster; on a laptop"
        " it keeps notes with each run, and this one is shown until another is written.",
    ),
    "paddock.dev/tags": Row(
        "jobs",
        ("baseline, lr-sweep",),
        "Words by which the console and `paddock history --tag` find runs, separated by commas: at most 16, of 1 to 40"
        " characters. As the note.",
    ),
    "paddock.dev/owner": Row(
        "jobs", (), "Whose job it is, as who created it says; the console shows it. It gives nobody a right."
    ),
    "paddock.dev/hold": Row(
        "jobs",
        ("30m",),
        "On a laptop: when the job has failed, its failed ranks are held so long, at most 24 h, for `paddock shell` and"
        " `exec`. `--hold` writes it.",
    ),
    "paddock.dev/share-gpu": Row(
        "jobs, pod templates",
        ("4",),
        "On a laptop: up to so many ranks, 2 to 64, may share the one `nvidia.com/gpu` that each asks for. The one of a"
        " template wins for its role. `--share-gpu` writes it.",
    ),
    "paddock.dev/build-requested": Row(
        "Environments", (), "A time: the Environment is built again when it changes. `paddock env build` writes it."
    ),
    "paddock.dev/directory": Row(
        "PersistentVolumeClaims, PersistentVolumes",
        (),
        "On a laptop: the directory of the data on this machine. It is written when the claim is bound.",
    ),
}
"""What a user may write."""

OURS: Mapping[str, Row] = {
    "paddock.dev/job": Row("pods", (), "The name of the job."),
    "paddock.dev/role": Row("pods", (), "The role: `worker`, `ps`, `master`."),
    "paddock.dev/index": Row("pods", (), "The number of the rank within its role, from 0."),
    "paddock.dev/attempt": Row("pods", (), "Which gang the pod belongs to, from 0."),
    "paddock.dev/renewal": Row(
        "pods", (), "The number of the pod of its rank within the attempt, where it was replaced alone; from 1."
    ),
    "paddock.dev/kind": Row("Secrets", (), "The kind of the job that the Secret of `--env-file` and `--secret` is of."),
    "paddock.dev/spare": Row(
        "pods", (), "`true`: the pod runs nothing, and asks whether there is room for a larger gang."
    ),
    "paddock.dev/gpus": Row(
        "pods, nodes",
        (),
        "On a laptop: the indices of the pod's GPUs, as nvidia-smi has them: `0,1`; of a node all that it has.",
    ),
    "paddock.dev/size": Row("pods", (), "How many ranks the gang of the pod has, by role: `ps=1,worker=2`."),
    "paddock.dev/default-environment": Row(
        "pods",
        (),
        "On a laptop: `CONTAINER=ENVIRONMENT`, in which the container's command runs where its image has no"
        " Environment.",
    ),
    "paddock.dev/port": Row("pods", (), "The first of the 20 ports that the operator chose for the job."),
    "paddock.dev/woken": Row("pods", (), "The ConfigMap for which a kubelet has to look again."),
    "paddock.dev/addresses": Row("ConfigMaps", (), "A hash of the addresses in its endpoints."),
    "paddock.dev/autoscaler": Row("HorizontalPodAutoscalers", (), "A hash of the spec that was asked for."),
    "paddock.dev/pod-group": Row("PodGroups", (), "A hash of the spec that was asked for."),
    "paddock.dev/idle-suspended": Row(
        "jobs", (), "Which attempt was suspended as its GPUs did nothing, and for how many seconds, JSON."
    ),
    "paddock.dev/created-by": Row(
        "jobs",
        (),
        "Who submitted the job: the user as the API names it; on a laptop the login. It gives nobody a right.",
    ),
    "paddock.dev/changed-by": Row(
        "jobs",
        (),
        "Who changed the job last by `paddock` or the console, what they did (`suspended`, `resumed`, `edited`,"
        " `cancelled`) and the generation that the job has since, JSON.",
    ),
    "paddock.dev/halted": Row(
        "jobs",
        (),
        "Why the operator does nothing for this job: the API server drops its status. The text says what to install.",
    ),
    "paddock.dev/path": Row(
        "jobs",
        (),
        "On a laptop: `PATH` of the shell that submitted the job, where its pods look for programs, behind those of"
        " their environment.",
    ),
    "paddock.dev/requirements-digest": Row(
        "jobs", (), "What the requirements files of the job said when it was submitted, JSON."
    ),
    "paddock.dev/requirements-source": Row(
        "Environments", (), "Which requirements file the Environment was made from."
    ),
    "paddock.dev/timed-out": Row(
        "jobs", (), "Why `paddock run` suspended the job: empty for `--timeout`, else a cause as JSON."
    ),
    "paddock.dev/without": Row("jobs", (), "What `--without` took out of the job, JSON."),
    "paddock.dev/substituted": Row("pods", (), "The command and arguments before they were replaced, JSON."),
    "paddock.dev/seed": Row(
        "Environments",
        (),
        "The hash of a default Environment as Paddock wrote it. While it fits, a newer Paddock may replace it.",
    ),
    "paddock.dev/version": Row("the operator's Lease", (), "The version of the operator that leads."),
    "paddock.dev/settings": Row("the operator's Lease", (), "The settings of the operator that leads, JSON."),
}
"""What Paddock writes; a selector may rely on the labels."""

NO_NAMES = frozenset({"paddock.dev/v"})
"""The beginning of an API version, not a name."""


def find_names(sources: Iterable[str]) -> Mapping[str, str]:
    """Every name under paddock.dev in the texts of modules, with what stands below its constant: a docstring, or
    nothing."""
    found: dict[str, str] = {}
    for source in sources:
        for name in _NAME.findall(source):
            found.setdefault(name, "")
        found.update(dict(_read_documented(source)))
    return {name: text for name, text in sorted(found.items()) if name not in NO_NAMES}


def _read_documented(source: str) -> Iterator[tuple[str, str]]:
    if "paddock.dev/" not in source:
        return
    body = ast.parse(source).body
    for constant, below in pairwise(body):
        value = getattr(constant, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and _NAME.fullmatch(value.value):
            said = getattr(below, "value", None)
            text = said.value if isinstance(below, ast.Expr) and isinstance(said, ast.Constant) else ""
            yield value.value, " ".join(str(text).split())


def build_names(found: Mapping[str, str], reader: Reader) -> str:
    """The page. `found`: as of `find_names`; a name without a row is shown with its docstring."""
    say = reader.say
    others = {name: Row("", (), text) for name, text in found.items() if name not in YOURS and name not in OURS}
    return join(
        [
            f"# {say('Labels and annotations')}",
            say(
                "All of them begin with `paddock.dev/`. Those of the API groups stay as their own operators write them."
            ),
            f"## {say('What you may write')}",
            say("Annotations, but where it says otherwise. The text `true` is in quotes in YAML."),
            _build_table(YOURS, reader),
            f"## {say('What Paddock writes')}",
            say("Read them, select by them, and leave them as they are."),
            _build_table({**OURS, **others}, reader),
        ]
    )


def _build_table(rows: Mapping[str, Row], reader: Reader) -> str:
    say = reader.say
    head = (say("Name"), say("On"), say("Values"), say("Meaning"))
    shown = (
        (code(name), say(row.on), ", ".join(map(code, row.values)), prose(say(row.means))) for name, row in rows.items()
    )
    return table(head, shown)
