"""A real Slurm for a test: one controller and nodes of two CPUs, in namespaces of its own that end with the command.

    run_sbatch(directory, "net.sbatch") -> the ended `sbatch --wait`

Nothing of it is visible outside, and nothing outlives the command. Skips the test where Slurm is not installed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from support.programs import lack, need

NODES = ("node-1", "node-2")
_CONFIGURATION = """
ClusterName=test
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/controller.pid
SlurmdPidFile={place}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
MpiDefault=none
MessageTimeout=100
TCPTimeout=100
BatchStartTimeout=100
SlurmdTimeout=0
JobAcctGatherType=jobacct_gather/none
NodeName=node-[1-2] NodeHostname=head NodeAddr=10.9.0.[1-2] Port=[7001-7002] CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_BEGIN = r"""
set -e
place=$1 directory=$2; shift 2
ip link set lo up
for last in 1 2 9; do ip address add 10.9.0.$last/32 dev lo; done
mount --bind "$place/hosts" "$(readlink -f /etc/hosts)"
hostname head
munged --force -F --key-file="$place/munge/key" --socket="$place/munge/socket" --pid-file="$place/munge/pid" \
    --log-file="$place/munge/log" --seed-file="$place/munge/seed" >"$place/munged.log" 2>&1 &
until [ -S "$place/munge/socket" ]; do sleep 0.1; done
export SLURM_CONF=$place/slurm.conf
slurmctld -D -f "$SLURM_CONF" >"$place/controller.log" 2>&1 &
for node in node-1 node-2; do slurmd -D -N "$node" -f "$SLURM_CONF" >"$place/$node.log" 2>&1 & done
until [ "$(sinfo --noheader --format '%D %t' 2>/dev/null)" = '2 idle' ]; do sleep 0.2; done
cd "$directory"
code=0
sbatch --wait "$@" || code=$?  # not by exec: the first process of the namespace reaps what Slurm's steps leave
exit $code
"""


def run_sbatch(directory: Path, *typed: str) -> subprocess.CompletedProcess[str]:
    """Types `sbatch --wait …` in the directory; the exit code is the job's."""
    if os.geteuid() != 0:
        lack("root", "may make namespaces and run Slurm's programs; this is another user")
    for each in ("slurmctld", "slurmd", "sbatch", "munged", "unshare", "ip"):
        need(each)
    # Its own: a step has a socket there, and Linux takes paths of sockets of 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        (place / "state").mkdir()
        (place / "munge").mkdir()
        for folder in (place, place / "munge"):
            folder.chmod(0o711)
        (place / "munge/key").write_bytes(os.urandom(32))
        (place / "munge/key").chmod(0o400)
        (place / "slurm.conf").write_text(_CONFIGURATION.format(place=place))
        (place / "hosts").write_text("127.0.0.1 localhost\n10.9.0.1 node-1\n10.9.0.2 node-2\n10.9.0.9 head\n")
        own = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
        return subprocess.run(
            [*own, "bash", "-c", _BEGIN, "slurm", str(place), str(directory), *typed],
            capture_output=True, text=True, timeout=560,
        )  # fmt: skip
