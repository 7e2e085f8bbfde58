"""What a real node puts on this machine below the kubelet, and takes away again: containerd, mounts, a bridge, rules.

Pods have addresses in POD_RANGE on a bridge of their own; ADDRESS, the node's, stands on the loopback interface.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import processes
from processes import Failure

ADDRESS, POD_RANGE, CLUSTER_RANGE, BRIDGE = "10.99.0.1", "10.98.0.0/24", "10.96.0.0/12", "paddock0"
PAUSE, BUSYBOX = "paddock.test/pause:1", "paddock.test/busybox:1"
CNI_PROGRAMS = "/usr/lib/cni"
os.environ["PATH"] += ":/usr/sbin:/sbin"  # a user's own may lack them


def quietly(*argv: object, check: bool = True, stdin: bytes | None = None) -> str:
    """What a command prints. Raises `Failure` with what it said against it, unless that may happen."""
    done = subprocess.run([str(word) for word in argv], capture_output=True, input=stdin)
    if check and done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise Failure(f"{' '.join(map(str, argv))}: {said}")
    return done.stdout.decode(errors="replace")


def run_dir(home: Path) -> Path:
    """A short folder for sockets, whose paths may have 107 characters at the most."""
    return Path("/run/paddock-node") / hashlib.sha256(str(home).encode()).hexdigest()[:12]


def ctr(home: Path, *argv: object, **options: Any) -> str:
    return quietly("ctr", "--address", run_dir(home) / "containerd.sock", "--namespace", "k8s.io", *argv, **options)


def write_settings(home: Path, folder: Path) -> None:
    """The files that containerd, the network plugin and the kubelet read, in the node's own folder."""
    run = run_dir(home)
    (folder / "cni").mkdir(exist_ok=True)
    (folder / "cni/10-paddock.conflist").write_text(json.dumps(_build_network(folder)))
    (folder / "containerd.toml").write_text(_build_containerd(run, folder))
    (folder / "resolv.conf").write_text(f"nameserver {ADDRESS}\n")
    (folder / "kubelet.json").write_text(json.dumps(_build_kubelet(home, folder)))


def _build_network(folder: Path) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": str(folder / "cni-state"),
        "ranges": [[{"subnet": POD_RANGE}]],
        "routes": [{"dst": CLUSTER_RANGE}],
    }
    bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "ipMasq": False, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "paddock", "plugins": [{**bridge, "ipam": addresses}, ports]}


def _build_containerd(run: Path, folder: Path) -> str:
    return f"""version = 2
root = "{folder}/containerd"
state = "{run}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
                    "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "{run}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = {json.dumps(not may_protect_from_oom())}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PROGRAMS}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def _build_kubelet(home: Path, folder: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": ADDRESS,
        "port": 10250,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(home / "certs/ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(folder / "node.crt"),
        "tlsPrivateKeyFile": str(folder / "node.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "clusterDomain": "cluster.local",
        "clusterDNS": [ADDRESS],
        "resolvConf": str(folder / "resolv.conf"),
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "syncFrequency": "10s",
    }


def may_protect_from_oom() -> bool:
    """Whether a process may lower its OOM score: without CAP_SYS_RESOURCE it may not, and runc fails on trying."""
    (capabilities,) = re.findall(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())
    return bool(int(capabilities, 16) >> 24 & 1)


def add_address() -> None:
    if ADDRESS not in quietly("ip", "-o", "address", "show", "dev", "lo"):
        quietly("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")


def remove_containers(home: Path) -> None:
    for task in ctr(home, "tasks", "ls", "-q", check=False).split():
        ctr(home, "tasks", "kill", "--all", "--signal", "SIGKILL", task, check=False)
        ctr(home, "tasks", "delete", "--force", task, check=False)
    for container in ctr(home, "containers", "ls", "-q", check=False).split():
        ctr(home, "containers", "delete", container, check=False)


def remove_mounts(home: Path) -> None:
    """Deepest first: pods' volumes, overlays of containers, and the network namespaces of their sandboxes."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in sorted(places, key=len, reverse=True):
        if place.startswith((f"{home}/nodes/", f"{run_dir(home)}/")):
            quietly("umount", "--lazy", place, check=False)


def remove_network(home: Path) -> None:
    """The pods' network namespaces, which are those on the bridge, the bridge, and what kube-proxy has written."""
    for line in quietly("ip", "-o", "link", "show", "master", BRIDGE, check=False).splitlines():
        found = re.search(r"link-netns (\S+)", line)
        if found:
            quietly("ip", "netns", "delete", found[1], check=False)
    quietly("ip", "link", "delete", BRIDGE, check=False)
    remove_rules()
    if processes.load(home).get("address") != ADDRESS:  # else the API still listens there
        remove_address()


def remove_address() -> None:
    quietly("ip", "address", "delete", f"{ADDRESS}/32", "dev", "lo", check=False)


def remove_empty_folders(home: Path) -> None:
    """What containerd and runc leave: control groups, and folders of sockets. One that is in use is not empty."""
    left = [*Path("/sys/fs/cgroup").glob("*/k8s.io"), Path("/sys/fs/cgroup/k8s.io")]
    run = Path("/run/containerd")
    left += [run / "runc/k8s.io", run / "runc", run / "s", run, run_dir(home).parent]
    for folder in left:
        with contextlib.suppress(OSError):
            folder.rmdir()


def remove_rules() -> None:
    """The chains of kubelet and kube-proxy, which --cleanup leaves in part."""
    for table in ("filter", "nat", "mangle"):
        lines = quietly("iptables-save", "-t", table, check=False).splitlines()
        for line in lines:
            if line.startswith("-A") and re.search(r"-j KUBE-", line):
                subprocess.run(["sh", "-c", f"iptables -t {table} -D {line[3:]}"], capture_output=True)
        chains = [line.split()[0][1:] for line in lines if line.startswith(":KUBE-")]
        for action in ("-F", "-X"):
            for chain in chains:
                quietly("iptables", "-t", table, action, chain, check=False)
