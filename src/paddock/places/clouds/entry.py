"""The entry script that all nodes of a service start: it becomes the rank of its node. Pure; text of bash.

The ranks' environments and commands are those of bare machines (`bare.script`); only where a node learns its number and
the addresses differs (`platforms`). The names of nodes resolve some time after the first node has started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from paddock.jobs.model import Job
from paddock.places.bare.machine import NETWORK
from paddock.places.bare.script import build_array, build_ranks
from paddock.places.clouds.images import BASE
from paddock.places.clouds.platforms import Platform
from paddock.places.hosts import Host, split_marks
from paddock.places.programs import RankProgram, build_programs, with_fixed_size
from paddock.places.rendering import MARK, Ability, Request, Unplaceable
from paddock.places.shell import STRAY, comment, quote
from paddock.version import __version__
from paddock.words.phrases import Names, Phrase, phrase

_HEAD = r"""
fail() {
    printf '%s\n' "$*" >&2
    exit 2
}

refuse() { fail "$@"; }

# The value of a variable of the service; without it this is no node of a job of several.
read_told() {
    local value=${!1:-}
    [[ -n $value ]] || fail "$1 is not set: $service sets it for each node of a job of several nodes"
    printf '%s' "$value"
}
"""

_BECOME = r"""
[[ $nodes =~ ^[0-9]+$ && $index =~ ^[0-9]+$ ]] || fail "$service tells no numbers: $nodes nodes, and this is $index"
[[ $nodes -eq ${#all_ranks[@]} ]] || fail "the job has ${#all_ranks[@]} ranks, and $service has started $nodes" \
    "nodes: ask for ${#all_ranks[@]} nodes"
[[ $index -lt ${#all_ranks[@]} ]] || fail "this is node $index, and the job has ${#all_ranks[@]} ranks"

# Names of nodes resolve when the nodes have addresses, which may take minutes.
wait_for_name() {
    local turn address
    for ((turn = 0; turn < ${PADDOCK_NAME_SECONDS:-300}; turn++)); do
        address=$(resolve "$1")
        if [[ -n $address ]]; then
            printf '%s' "$address"
            return
        fi
        sleep 1
    done
    fail "the name $1 of a node does not resolve"
}

addresses=()
for place in "${!names[@]}"; do
    if [[ $place -ne $index || -z $own ]]; then addresses[place]=$(wait_for_name "${names[place]}"); fi
done
if [[ -z $own && -n ${addresses[index]:-} ]]; then own=${addresses[index]}; fi
if [[ -z $own && ${#names[@]} -gt 0 ]]; then own=$(find_source "${addresses[0]}"); fi
own=${own:-127.0.0.1}
addresses[index]=$own
interface=''
while read -r address name; do
    if [[ $address == "$own" ]]; then interface=$name; fi
done < <(list_addresses)

read_rank "${all_ranks[index]}"
for ((place = 0; place < ${#asked[@]}; place += 2)); do
    printenv "${asked[place]}" >/dev/null ||
        fail "${asked[place]} is not set: the cluster has it in ${asked[place + 1]}; set it in the job's variables"
done
cd "${directory:-$(dirname -- "$0")}"
stray_options=()
for name in "${stray[@]}"; do stray_options+=(-u "$name"); done
exec env "${stray_options[@]}" "${variables[@]}" "${program[@]}" "$@"
"""


def build_node_programs(request: Request) -> tuple[RankProgram, ...]:
    """The ranks of the job, each on a node of its own."""
    size = with_fixed_size(request.job).size
    hosts = tuple(Host(f"node-{index}", index) for index in range(size))
    return build_programs(request.job, hosts, request.others)


def build_entry(request: Request, platform: Platform, file: str) -> str:
    """The script. Raises `Unplaceable` where a rank needs what the service does not tell."""
    programs = build_node_programs(request)
    if not platform.knows_all:
        _refuse_far(programs, platform)
    unknown = tuple(dict.fromkeys(source for each in programs for source in each.unknown))
    if unknown:
        said = phrase(
            "the variables of {sources} (envFrom) are not in the file: name them in env", sources=Names(unknown)
        )
        raise Unplaceable(said)
    asked = {variable.name for each in programs for variable in each.asked}
    head = comment(
        f"{file}: {MARK} of Paddock {__version__}, from {request.file}, job {request.name}. All nodes of the job start "
        f"it; {platform.source}"
    )
    data = "\n".join((
        f"service={quote(platform.name)}",
        build_array("all_ranks", [str(each.rank) for each in programs]),
        "# Variables by which launchers find their peers: the service's own would change the run.",
        build_array("stray", [name for name in STRAY if name not in asked]),
        "",
    ))  # fmt: skip
    disabled = "# shellcheck disable=SC2016,SC2034,SC2054,SC2317,SC2329 # data, and functions that are called by name\n"
    ranks = build_ranks(replace(request, programs=programs))
    return "".join(
        (
            "#!/usr/bin/env bash\n",
            head,
            disabled,
            "set -euo pipefail\n",
            _HEAD,
            data,
            platform.reads,
            ranks,
            NETWORK,
            _BECOME,
        )
    )


def _refuse_far(programs: Sequence[RankProgram], platform: Platform) -> None:
    """Refuses a rank that needs the addresses of nodes that are not told: all but the first one's and its own."""
    for program in programs:
        texts = (*program.words, *(each.value or "" for each in program.variables))
        marks = {part for text in texts for part in split_marks(text) if isinstance(part, int)}
        if marks - {0, program.host.index}:
            said = phrase(
                "{service} tells a node the address of the first one alone, and this job's ranks need those of all: "
                "start the program by paddle.distributed.launch or torchrun",
                service=platform.name,
            )
            raise Unplaceable(said)


def refuse_servers(job: Job, service: str) -> tuple[Phrase, ...]:
    """Why a service whose nodes are all alike carries no parameter servers; empty for a job without them."""
    if not any(role.serves and role.replicas for role in with_fixed_size(job).roles):
        return ()
    said = phrase(
        "parameter servers are lost: all nodes of a job of {service} are alike, and the job would not end while a "
        "server runs; --to pai and --to aihc carry them as a TFJob",
        service=service,
    )
    return (said,)


LOST_IMAGE: Mapping[Ability, Phrase] = MappingProxyType({
    Ability.IMAGE: phrase(
        "the image of the job is not used: Dockerfile begins with {base} and the framework; add to it what else the "
        "program needs",
        base=BASE,
    )
})  # fmt: skip


def refuse_heter(job: Job, service: str) -> tuple[Phrase, ...]:
    role = job.role("heter")
    if role is None or not role.replicas:
        return ()
    return (phrase("{service} has no type for the role heter: its nodes would not know their stage", service=service),)


def explain_type(service: str, *, servers: bool) -> Phrase:
    """As what a job of PaddlePaddle goes to a service that has no type for it."""
    return phrase(
        "{service} has no type for PaddlePaddle: the job goes as a {type}, and entry.sh turns what that tells a node "
        "into PaddlePaddle's or torch's own",
        service=service,
        type="TFJob" if servers else "PyTorchJob",
    )
