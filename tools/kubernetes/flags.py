"""The command line of each program of the control plane: what a real cluster's has, on loopback, without its luxuries.

Written for 1.20 and later; where a flag came or went, the version says so.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from credentials import CRDS
from processes import State

SERVICE_RANGE = "10.96.0.0/16"

NO_FSYNC = "--unsafe-no-fsync"
"""Without it etcd waits for the disk at every write: seven seconds for one write were seen beside a busy disk."""

Version = tuple[int, int]


def build_flags(name: str, home: Path, state: State, version: Version) -> list[str]:
    if name == "etcd":
        return etcd_flags(home, state["ports"], Path(state["bin"]))
    if name == "kube-apiserver":
        return apiserver_flags(home, state)
    if name == "kube-controller-manager":
        return controller_flags(home, state, version)
    if name == "kube-scheduler":
        return scheduler_flags(home, state, version)
    return crds_flags(home, state)


def etcd_flags(home: Path, ports: Mapping[str, int], binaries: Path) -> list[str]:
    client, peer = (f"http://127.0.0.1:{ports[n]}" for n in ("etcd", "etcd-peer"))
    flags = [
        f"--data-dir={home}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=warn",
    ]
    return flags + [NO_FSYNC] * _knows(binaries / "etcd", NO_FSYNC)


def _knows(program: Path, flag: str) -> bool:
    """Asked by use: etcd 3.4 has the flag and its `--help` does not tell. With `--version` it starts nothing."""
    return subprocess.run([program, flag, "--version"], capture_output=True).returncode == 0


def apiserver_flags(home: Path, state: State) -> list[str]:
    certs, address = home / "certs", state["address"]
    loopback = address.startswith("127.")
    flags = [
        f"--etcd-servers=http://127.0.0.1:{state['ports']['etcd']}",
        f"--bind-address={address}",
        f"--secure-port={state['ports']['kube-apiserver']}",
        f"--advertise-address={address}",
        # A Service's endpoint may not be a loopback address, so none is written for `kubernetes`.
        *(["--endpoint-reconciler-type=none"] if loopback else []),
        f"--tls-cert-file={certs}/apiserver.crt",
        f"--tls-private-key-file={certs}/apiserver.key",
        f"--client-ca-file={certs}/ca.crt",
        f"--token-auth-file={home}/tokens.csv",
        "--authorization-mode=Node,RBAC",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--allow-privileged=true",
        f"--service-account-key-file={certs}/sa.pub",
        f"--service-account-signing-key-file={certs}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--kubelet-client-certificate={certs}/kubelet-client.crt",
        f"--kubelet-client-key={certs}/kubelet-client.key",
        # Users of an API server behind this one: it names them in headers, and proves itself by a certificate.
        f"--requestheader-client-ca-file={certs}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={certs}/front-proxy-client.crt",
        f"--proxy-client-key-file={certs}/front-proxy-client.key",
        f"--kubelet-certificate-authority={certs}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP,Hostname",
    ]
    return flags + ([] if state["controllers"] else ["--disable-admission-plugins=ServiceAccount"])


def quiet_ports(version: Version, name: str, ports: Mapping[str, int]) -> list[str]:
    """Only a TLS port on loopback; before 1.24 there was a plain-text port to turn off as well."""
    return [f"--secure-port={ports[name]}", "--bind-address=127.0.0.1"] + (["--port=0"] if version < (1, 24) else [])


def controller_flags(home: Path, state: State, version: Version) -> list[str]:
    config, certs = home / "users/system:kube-controller-manager.kubeconfig", home / "certs"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        *quiet_ports(version, "kube-controller-manager", state["ports"]),
        f"--cert-dir={certs}/controllers",
        "--authentication-tolerate-lookup-failure=true",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={certs}/sa.key",
        f"--root-ca-file={certs}/ca.crt",
        f"--cluster-signing-cert-file={certs}/ca.crt",
        f"--cluster-signing-key-file={certs}/ca.key",
        "--leader-elect=false",
    ]


def scheduler_flags(home: Path, state: State, version: Version) -> list[str]:
    config = home / "users/system:kube-scheduler.kubeconfig"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        *quiet_ports(version, "kube-scheduler", state["ports"]),
        f"--cert-dir={home}/certs/scheduler",
        "--authentication-tolerate-lookup-failure=true",
        "--leader-elect=false",
    ]


def crds_flags(home: Path, state: State) -> list[str]:
    certs, config = home / "certs", home / "kubeconfig"
    return [
        f"--etcd-servers=http://127.0.0.1:{state['ports']['etcd']}",
        "--bind-address=127.0.0.1",
        f"--secure-port={state['ports'][CRDS]}",
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        f"--client-ca-file={certs}/ca.crt",
        f"--tls-cert-file={certs}/apiserver.crt",
        f"--tls-private-key-file={certs}/apiserver.key",
        # Both would wait for kinds that an older main API server does not have.
        "--enable-priority-and-fairness=false",
        "--disable-admission-plugins=MutatingAdmissionPolicy,ValidatingAdmissionPolicy",
    ]
