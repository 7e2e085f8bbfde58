"""The kubeconfig file through which kubectl and every other client reach the embedded cluster."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from paddock.apiserver.files import write_private
from paddock.kube.meta import Manifest

CONTEXT = "paddock"


def build_kubeconfig(url: str, authority: bytes, token: str) -> Manifest:
    """Self-contained: the certificate authority (PEM) and the token are inside."""
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
    """In one step and for this user only: the file holds the token."""
    write_private(path, yaml.safe_dump(config, sort_keys=False).encode())
