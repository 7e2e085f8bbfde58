"""Slurm: a script for `sbatch`, and the script by which each of its tasks becomes its rank.

Each rank is a task on a node of its own. Slurm starts them all or none, ends all when one fails, and holds them to what
`#SBATCH` asks for. Sources: slurm.schedmd.com/sbatch.html and srun.html of 22.05 and later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from paddock.environments.packages.devices import find_asked
from paddock.jobs.model import Job
from paddock.kube.quantities import read_amounts
from paddock.places.clouds import platforms
from paddock.places.clouds.entry import build_entry, build_node_programs
from paddock.places.programs import RankProgram, with_fixed_size
from paddock.places.rendering import MARK, Ability, File, Hosts, Platform, Rendering, Request
from paddock.places.shell import comment, quote
from paddock.version import __version__
from paddock.words.phrases import Names, Phrase, phrase

_ENTRY = "entry.sh"
_TITLE = "Slurm"
_MIB = 2**20
_GPU = "GPU"
"""Slurm's name for cards of NVIDIA; a site may call others as it likes."""
_SLURM = platforms.Platform(
    _TITLE,
    "variables as https://slurm.schedmd.com/srun.html names them.",
    r"""
nodes=$(read_told SLURM_NTASKS)
index=$(read_told SLURM_PROCID)
own=''
names=()
if [[ $nodes -gt 1 ]]; then
    list=$(read_told SLURM_JOB_NODELIST)
    hosts=$(scontrol show hostnames "$list") # a failure within <<< would not be seen
    while read -r name; do names+=("$name"); done <<<"$hosts"
fi
""",
    knows_all=True,
)


def render(request: Request) -> Rendering:
    """`NAME.sbatch` and entry.sh. Raises `Unplaceable` as `build_entry` does."""
    programs = build_node_programs(request)
    script = f"{request.name}.sbatch"
    files = (
        File(script, _build_script(request, programs)),
        File(_ENTRY, build_entry(request, _SLURM, _ENTRY), executable=True),
    )
    steps: tuple[Phrase | str, ...] = (
        phrase("copy both files into the directory of the program, which all nodes share, and type there:"),
        f"sbatch {script}",
        phrase("{command} says why it waits, and {log} has what the ranks write", command="squeue --me --long",
               log=f"{request.name}-JOBID.log"),
    )  # fmt: skip
    return Rendering(files, steps, tuple(_list_notes(programs)))


def _build_script(request: Request, programs: Sequence[RankProgram]) -> str:
    said = comment(
        f"{request.name}.sbatch: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}. What your "
        "site wants beside it (--partition, --account, --qos) is typed after sbatch, or added below."
    )
    options = "".join(f"#SBATCH {each}\n" for each in _list_options(request, programs))
    return (
        f"#!/usr/bin/env bash\n{options}{said}set -euo pipefail\n"
        'cd -- "$SLURM_SUBMIT_DIR"\n'
        "# --label: each line begins with the number of its task, the rank's; --wait=0: ranks may end hours apart.\n"
        f'exec srun --label --kill-on-bad-exit=1 --wait=0 bash "$PWD/{_ENTRY}"\n'
    )


def _list_options(request: Request, programs: Sequence[RankProgram]) -> Iterator[str]:
    """Of the whole job. Slurm gives all nodes of a job the same, so the largest amount of any rank counts."""
    size = len(programs)
    yield f"--job-name={quote(request.name)}"
    yield f"--nodes={size}"
    yield f"--ntasks={size}"
    yield "--ntasks-per-node=1"
    cpus = max((_read(each).get("cpu", Fraction(0)) for each in programs), default=Fraction(0))
    if cpus:
        yield f"--cpus-per-task={math.ceil(cpus)}"
    memory = max((_read(each).get("memory", Fraction(0)) for each in programs), default=Fraction(0))
    if memory:
        yield f"--mem={math.ceil(memory / _MIB)}M"
    cards = max((count for name, count in _list_cards(programs) if name == _GPU), default=0)
    if cards:
        yield f"--gres=gpu:{cards}"
    deadline = request.job.policies.active_deadline
    if deadline is not None:
        yield f"--time={max(1, math.ceil(deadline / 60))}"
    yield f"--output={quote(request.name)}-%j.log"


def _read(program: RankProgram) -> dict[str, Fraction]:
    """What a rank asks for; a limit alone is a request too, as in Kubernetes."""
    resources = program.container.get("resources") or {}
    return {**read_amounts(resources.get("limits")), **read_amounts(resources.get("requests"))}


def _list_cards(programs: Sequence[RankProgram]) -> Iterator[tuple[str, int]]:
    for program in programs:
        found = find_asked(_read(program))
        if found is not None:
            yield found[0].name, math.ceil(found[1])


def _list_notes(programs: Sequence[RankProgram]) -> Iterator[Phrase]:
    others = tuple(dict.fromkeys(name for name, _ in _list_cards(programs) if name != _GPU))
    if others:
        yield phrase(
            "how your site's Slurm calls cards of {names} is not known: add --gres=NAME:NUMBER to the script",
            names=Names(others),
        )
    if len({tuple(sorted(_read(each).items())) for each in programs}) > 1:
        yield phrase(
            "Slurm gives each node of a job the same: what the largest rank asks for is asked for on each node"
        )
    if len(programs) > 1:
        yield phrase(
            "the ranks meet at port {port} of the first node: two jobs of Paddock that share a node need two "
            "ports (--port)",
            port=programs[0].port,
        )


def check(job: Job) -> tuple[Phrase, ...]:
    """All tasks of a step are alike, and it ends when all of them have: a server never does."""
    if not any(role.serves and role.replicas for role in with_fixed_size(job).roles):
        return ()
    said = phrase(
        "parameter servers are lost: a step of Slurm ends when all its tasks have ended, and a server does not end by "
        "itself; --to bare with --hosts carries them on nodes that salloc has given you"
    )
    return (said,)


PLACE = Platform(
    name="slurm",
    title=_TITLE,
    hosts=Hosts.GIVEN,
    render=render,
    page="slurm",
    has=frozenset({Ability.DEADLINE, Ability.RESOURCES, Ability.DEVICES}),
    check=check,
    said={
        Ability.IMAGE: phrase(
            "the image of the job is not used: its Python packages must be on each node, or the site's Slurm starts "
            "containers (srun --container-image, of the plug-in pyxis): write the option into the script"
        ),
        Ability.GANG: phrase(
            "schedulingPolicy is lost: Slurm starts all ranks or none by itself; its partition and priority are "
            "--partition and --qos of sbatch"
        ),
        Ability.NODES: phrase(
            "what the job asks of its nodes is lost: Slurm has --constraint and --nodelist of sbatch for it"
        ),
    },
)
