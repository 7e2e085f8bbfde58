"""The kubeconfig file of the embedded cluster, for kubectl and other clients. It is JSON, which is YAML too, and which
the command line reads without importing a library."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from paddock.apiserver.http.files import write_private
from paddock.kube.meta import Manifest

CONTEXT = "paddock"


def build_kubeconfig(url: str, authority: bytes, token: str) -> Manifest:
    """A kubeconfig that contains the certificate authority (PEM) and the token."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(authority).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": {"token": token}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}],
        "current-context": CONTEXT,
        "preferences": {},
    }


def write_kubeconfig(path: Path, config: Manifest) -> None:
    """Atomically, and readable by this user only: the file contains the token."""
    write_private(path, f"{json.dumps(config, indent=2)}\n".encode())
