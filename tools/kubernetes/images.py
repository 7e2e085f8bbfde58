"""Images without a registry or a builder: a folder, or Debian's busybox, as the archive that containerd imports.

The layers of the operator's image are laid out by `rootfs`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from processes import Failure

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def build_image(name: str, layer: bytes, settings: Mapping[str, Any]) -> bytes:
    """An image of one layer, as `docker save` writes it. `settings` as in OCI's image config: Cmd, Entrypoint, User."""
    config = {
        "architecture": _ARCHITECTURES[os.uname().machine],
        "os": "linux",
        "config": {"Env": [_PATH], **settings},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    files = {
        "layer.tar": layer,
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, data in files.items():
            _add_file(archive, path, data)
    return out.getvalue()


def build_folder_layer(folder: Path) -> bytes:
    """All of the folder, as root's."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, ".", filter=_as_root)
    return out.getvalue()


def build_busybox_layer() -> bytes:
    """Debian's busybox-static under all of its names."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Failure("busybox is missing: apt-get install busybox-static")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for folder in ("bin", "etc", "tmp", "root", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        archive.add(busybox, "bin/busybox", filter=_as_root)
        for applet in sorted({*applets} - {"busybox"}):
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
        _add_file(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        _add_file(archive, "etc/group", b"root:x:0:\n")
    return out.getvalue()


def _add_file(archive: tarfile.TarFile, path: str, data: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
