"""Who may ask the API server: its own certificates, users by token, and a kubeconfig for each. Made with openssl."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path

from processes import Failure, State

SERVICE_IP = "10.96.0.1"
CRDS = "apiextensions-apiserver"

_DAYS = 3650
_NAMES = (
    "DNS:localhost",
    "DNS:kubernetes",
    "DNS:kubernetes.default",
    "DNS:kubernetes.default.svc",
    "DNS:kubernetes.default.svc.cluster.local",
    "DNS:crds.kube-system.svc",
    "IP:127.0.0.1",
    f"IP:{SERVICE_IP}",
)
_CERTIFICATES = (  # name, subject, usage, authority
    ("apiserver", "/CN=kube-apiserver", "serverAuth", "ca"),
    ("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client", "clientAuth", "ca"),
    ("admin", "/O=system:masters/CN=admin", "clientAuth", "ca"),
    ("front-proxy-client", "/CN=front-proxy-client", "clientAuth", "front-proxy-ca"),
)


def openssl(*argv: object) -> None:
    done = subprocess.run(["openssl", *map(str, argv)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"openssl {argv[0]} failed: {done.stderr.strip()}")


def make_certificates(certs: Path, address: str) -> None:
    """Two authorities, and what the API server and its clients need of them. `address` is where it listens."""
    if (certs / "done").exists():
        return
    certs.mkdir(parents=True, exist_ok=True)
    for authority in ("ca", "front-proxy-ca"):
        key, certificate = certs / f"{authority}.key", certs / f"{authority}.crt"
        subject = f"/CN=paddock-test-{authority}"
        openssl(*f"req -x509 -newkey rsa:2048 -nodes -days {_DAYS} -subj {subject}".split(), "-keyout", key,
                "-out", certificate)  # fmt: skip
    names = ",".join([*_NAMES, *([f"IP:{address}"] if address != "127.0.0.1" else [])])
    for name, subject, usage, authority in _CERTIFICATES:
        extensions = f"extendedKeyUsage={usage}\n" + (f"subjectAltName={names}\n" if usage == "serverAuth" else "")
        make_certificate(certs / name, subject, extensions, certs / authority)
    openssl("genrsa", "-out", certs / "sa.key", "2048")
    openssl("rsa", "-in", certs / "sa.key", "-pubout", "-out", certs / "sa.pub")
    (certs / "done").touch()


def make_certificate(path: Path, subject: str, extensions: str, authority: Path) -> None:
    """`path`.key and `path`.crt, signed by the `authority` of the same suffixes."""
    key, request, extension = (path.with_name(f"{path.name}.{suffix}") for suffix in ("key", "csr", "ext"))
    signer = [str(authority) + suffix for suffix in (".crt", ".key")]
    extension.write_text(extensions)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", signer[0], "-CAkey", signer[1], "-days", _DAYS,
            "-set_serial", secrets.randbits(64), "-extfile", extension, "-out", f"{path}.crt")  # fmt: skip


def write_kubeconfig(file: Path, home: Path, state: State, token: str | None, server: str | None = None) -> None:
    server = server or f"https://{state['address']}:{state['ports']['kube-apiserver']}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "preferences": {},
        "clusters": [
            {
                "name": "test",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": encode((home / "certs/ca.crt").read_bytes()),
                },
            }
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(config, indent=1))  # JSON is YAML
    file.chmod(0o600)


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def write_users(home: Path, state: State, extra: Sequence[str]) -> None:
    """The token file of the API server, and a kubeconfig for each user in it."""
    users = {"admin": ["system:masters"], "system:kube-controller-manager": [], "system:kube-scheduler": []}
    for text in extra:
        name, _, names = text.partition(":")
        users[name] = [group for group in names.split(",") if group]
    for name, groups in users.items():
        token = state["users"].get(name, {}).get("token") or secrets.token_hex(16)
        state["users"][name] = {"token": token, "groups": groups}
    rows = [f'{u["token"]},{name},{name},"{",".join(u["groups"])}"' for name, u in state["users"].items()]
    file = home / "tokens.csv"
    file.write_text("\n".join(rows) + "\n")
    file.chmod(0o600)
    for name, user in state["users"].items():
        write_kubeconfig(home / "users" / f"{name}.kubeconfig", home, state, user["token"])
    admin = state["users"]["admin"]["token"]
    write_kubeconfig(home / "kubeconfig", home, state, admin)
    if CRDS in state["ports"]:
        write_kubeconfig(home / "crds.kubeconfig", home, state, admin, f"https://127.0.0.1:{state['ports'][CRDS]}")
