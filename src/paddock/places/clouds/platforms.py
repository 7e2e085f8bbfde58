"""What a service tells a node by variables: how many nodes there are, which one this is, where the first one is.

Each `reads` is bash that sets `nodes`, `index`, `names` (of all nodes, or of the first alone) and, where it is told,
`own`. Sources and the days on which they were read stand in `source`, which the script repeats.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Platform:
    """`knows_all`: the names of all nodes are told, not the first one's alone."""

    name: str
    source: str
    reads: str
    knows_all: bool


MODELARTS = Platform(
    "ModelArts",
    "MA_* and VC_* as https://support.huaweicloud.com/drawer-modelarts/ma_drawer_129.html of 2026-08-04 has them.",
    r"""
nodes=${MA_NUM_HOSTS:-1}
index=0
names=()
own=${MA_CURRENT_IP:-}
if [[ $nodes -gt 1 ]]; then
    index=$(read_told VC_TASK_INDEX)
    hosts=$(read_told VC_WORKER_HOSTS) # a failure within <<< would not be seen
    IFS=, read -r -a names <<<"$hosts"
fi
""",
    knows_all=True,
)

PYTORCH_JOB = r"""
nodes=${WORLD_SIZE:-1} # nodes, not processes
index=0
names=()
own=''
if [[ $nodes -gt 1 ]]; then
    index=$(read_told RANK)
    first=$(read_told MASTER_ADDR)
    names=("$first")
fi
"""

TF_JOB = r"""
# ps and then worker nodes, as the ranks of the job are counted
told=$(read_told TF_CONFIG)
own=''
names=()
parsed=$(python3 -c '
import json, sys
told = json.loads(sys.argv[1])
cluster, task = told["cluster"], told["task"]
roles = [role for role in ("ps", "chief", "worker") if role in cluster]
before = sum(len(cluster[role]) for role in roles[: roles.index(task["type"])])
names = [node.rpartition(":")[0] for role in roles for node in cluster[role]]
print(len(names), before + int(task["index"]), *names, sep="\n")
' "$told" 2>/dev/null) || fail "TF_CONFIG is not that of a node of the roles ps and worker: $told"
{
    read -r nodes
    read -r index
    while read -r name; do names+=("$name"); done
} <<<"$parsed"
"""

PAI = Platform(
    "PAI-DLC",
    "variables as https://www.alibabacloud.com/help/en/pai/general-environment-variables of 2026-04 has them.",
    PYTORCH_JOB,
    knows_all=False,
)
PAI_SERVERS = Platform(PAI.name, PAI.source, TF_JOB, knows_all=True)

AIHC = Platform(
    "AIHC",
    "variables as https://cloud.baidu.com/doc/AIHC/s/mm346i20k of 2026-01-14 has them.",
    PYTORCH_JOB,
    knows_all=False,
)
AIHC_SERVERS = Platform(AIHC.name, AIHC.source, TF_JOB, knows_all=True)

BML = Platform(
    "BML",
    "https://cloud.baidu.com/doc/BML/s/flq6ebj98 of 2025-01-10 does not say what a node is told; PaddleFleet's and "
    "PytorchDDP's own variables are tried.",
    r"""
own=''
names=()
if [[ -n ${PADDLE_TRAINER_ENDPOINTS:-} ]]; then
    IFS=, read -r -a names <<<"$PADDLE_TRAINER_ENDPOINTS"
    names=("${names[@]%:*}")
    nodes=${#names[@]}
    index=$(read_told PADDLE_TRAINER_ID)
    own=${POD_IP:-}
elif [[ -n ${MASTER_ADDR:-} ]]; then
    names=("$MASTER_ADDR")
    nodes=$(read_told WORLD_SIZE)
    index=$(read_told RANK)
else
    [[ ${#all_ranks[@]} -eq 1 ]] || fail "this node is not told where the others are: neither" \
        "PADDLE_TRAINER_ENDPOINTS nor MASTER_ADDR is set, and $service's pages name no others"
    nodes=1
    index=0
fi
""",
    knows_all=False,
)
