"""A registry of images on loopback: Debian's docker-registry (distribution), with a base image that runs nothing.

It speaks plain HTTP, or TLS where a certificate is given; a user and a password where `users` names some.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from support.programs import need


@dataclass(frozen=True, slots=True)
class RealRegistry:
    """A process of docker-registry."""

    host: str
    """`127.0.0.1:40001`."""
    directory: Path

    def skopeo(self, *words: str) -> str:
        done = subprocess.run(["skopeo", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def inspect(self, image: str, *words: str) -> Any:
        """What skopeo says of `image`, without the registry before its name."""
        return json.loads(self.skopeo("inspect", "--tls-verify=false", *words, f"docker://{self.host}/{image}"))

    def put(self, name: str, image: Path, *words: str) -> None:
        """An archive of `build_archive` under a name with a tag."""
        source = f"docker-archive:{image}"
        self.skopeo("copy", "-q", "--dest-tls-verify=false", *words, source, f"docker://{self.host}/{name}")

    def unpack(self, image: str, place: Path) -> Path:
        """The root file system, as umoci makes it."""
        layout = place / "layout"
        self.skopeo("copy", "-q", "--src-tls-verify=false", f"docker://{self.host}/{image}", f"oci:{layout}:it")
        command = ["umoci", "unpack", "--rootless", "--image", f"{layout}:it", place / "bundle"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return place / "bundle" / "rootfs"


@contextmanager
def serve_registry(
    directory: Path, *, users: Path | None = None, certificate: Path | None = None
) -> Iterator[RealRegistry]:
    """`users`: a file of htpasswd; `certificate`: a file with a certificate, its key beside it as `.key`."""
    for program in ("docker-registry", "skopeo", "umoci"):
        need(program)
    directory.mkdir(parents=True, exist_ok=True)
    host = f"127.0.0.1:{find_port()}"
    settings: dict[str, Any] = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "data")}, "delete": {"enabled": True}},
        "http": {"addr": host},
    }
    if certificate is not None:
        settings["http"]["tls"] = {"certificate": str(certificate), "key": str(certificate.with_suffix(".key"))}
    if users is not None:
        settings["auth"] = {"htpasswd": {"realm": "tests", "path": str(users)}}
    config = directory / "config.yml"
    config.write_text(json.dumps(settings))
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", config], stdout=log, stderr=log)
        try:
            _wait(process, host, directory / "log")
            yield RealRegistry(host, directory)
        finally:
            process.terminate()
            process.wait()


def find_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], host: str, log: Path) -> None:
    name, _, port = host.partition(":")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with socket.create_connection((name, int(port)), timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("docker-registry does not listen")


def build_archive(
    place: Path,
    files: Mapping[str, str | bytes],
    *,
    env: Mapping[str, str] | None = None,
    architecture: str = "amd64",
    links: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """An image of one layer as `docker save` writes it, for `skopeo copy docker-archive:…`."""
    layer = BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for path, content in files.items():
            _add(archive, path, content.encode() if isinstance(content, str) else content)
        for path, target in (links or {}).items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return _pack(place, layer.getvalue(), env or {}, architecture, settings or {})


def build_folder_archive(place: Path, folder: Path) -> Path:
    """The same of all of a folder, as root's."""

    def as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        return entry

    layer = BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        archive.add(folder, ".", filter=as_root)
    return _pack(place, layer.getvalue(), {}, "arm64" if os.uname().machine == "aarch64" else "amd64", {})


def _pack(place: Path, layer: bytes, env: Mapping[str, str], architecture: str, settings: Mapping[str, Any]) -> Path:
    diff_id = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    config = {
        "architecture": architecture, "os": "linux", "created": "2026-01-01T00:00:00Z",
        "config": {"Env": [f"{name}={value}" for name, value in env.items()], **settings},
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": "test"}],
    }  # fmt: skip
    place.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place, "w") as out:
        _add(out, "layer.tar", layer)
        _add(out, "config.json", json.dumps(config).encode())
        manifest = [{"Config": "config.json", "RepoTags": ["base:1"], "Layers": ["layer.tar"]}]
        _add(out, "manifest.json", json.dumps(manifest).encode())
    return place


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), 0o755 if "/bin/" in f"/{path}" else 0o644
    archive.addfile(entry, BytesIO(content))
