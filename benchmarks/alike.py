"""Programs of common libraries, plainly and by `paddock run --`: whether they print the same numbers, and the seconds.

Each program is a file of `benchmarks/programs`, which uses its library as that one's documentation does, on data that
it makes itself. Both sides have the same environment: that which `paddock run -r` builds, in a cache of its own, once
for all programs of the same packages and outside of what is timed. Packages that lie in uv's cache are not downloaded
again. The plain side is the same command with that environment's `bin` first in PATH. Both begin in a fresh copy of
`benchmarks/programs`, in turns; the plain side goes once before, so that what Python compiles at a first import counts
for neither.

Numbers are the same where the last value of each loss, accuracy or score that is printed has the same digits in all
runs of both sides.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from benchmarks.clusters import PADDOCK, Cluster, open_directory

PROGRAMS = Path(__file__).parent / "programs"
TIMES = 3
"""Rounds of both sides; the table has medians. $PADDOCK_BENCH_TIMES is another number."""
_PATIENCE = 300.0
"""Seconds: the most that one run may take. A build may take four times as long."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NUMBER = re.compile(
    r"\b([a-z][\w-]*)?(loss|acc|accuracy|score|reward)\b['\"]?[\s:=|│\[('\"]*(?:np\.float\d+\()?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Program:
    """What is typed, both ways."""

    library: str
    """As the table names it."""
    packages: tuple[str, ...]
    """Lines of a requirements file; the first is the one whose version is told."""
    plain: tuple[str, ...]
    """The command without Paddock, in `benchmarks/programs`."""
    options: tuple[str, ...] = ()
    """Of `paddock run`, beside `-r`."""
    command: tuple[str, ...] = ()
    """What stands behind `--`, where it is not the plain command."""

    @property
    def typed(self) -> str:
        """Behind `paddock run`."""
        return " ".join((*self.options, "--", *(self.command or self.plain)))


_LIGHTNING = ("lightning", "torch", "click")  # `fabric` needs click, which lightning does not ask for
_LEARN = ("scikit-learn",)
_PADDLE = ("paddlepaddle==3.3.1",)
_FLEET = ("python", "-m", "paddle.distributed.launch", "--nproc_per_node", "2", "paddle_fleet.py")
_TORCHRUN = ("torchrun", "--nproc_per_node", "2", "torch_ddp.py")
_ACCELERATE = ("accelerate", "launch", "--cpu", "--num_processes")
CASES = {
    "sklearn": Program("scikit-learn", _LEARN, ("python", "sklearn_digits.py")),
    "xgboost": Program("XGBoost", ("xgboost", *_LEARN), ("python", "xgboost_digits.py")),
    "jax": Program("JAX", ("jax",), ("python", "jax_net.py")),
    "keras": Program("Keras on torch", ("keras", "torch"), ("python", "keras_net.py")),
    "papermill": Program(
        "papermill",
        ("papermill", "ipykernel", "numpy"),
        ("papermill", "notebook.ipynb", "out.ipynb", "--log-output"),
    ),
    "hapi": Program("PaddlePaddle's hapi", _PADDLE, ("python", "paddle_hapi.py")),
    "fleet": Program("fleet, 1 rank", _PADDLE, ("python", "paddle_fleet.py")),
    "fleet-launch": Program("fleet, 2 ranks of a pod", _PADDLE, _FLEET),
    "fleet-2": Program("fleet, 2 workers", _PADDLE, _FLEET, ("--workers", "2"), ("python", "paddle_fleet.py")),
    "torch": Program("PyTorch, a DataLoader of 2", ("torch",), ("python", "torch_net.py")),
    "torchrun": Program("DDP, 2 ranks of a pod", ("torch",), _TORCHRUN),
    "ddp-2": Program("DDP, 2 workers", ("torch",), _TORCHRUN, ("--workers", "2"), ("python", "torch_ddp.py")),
    "torchvision": Program("torchvision", ("torchvision", "torch"), ("python", "vision_resnet.py")),
    "hydra": Program(
        "Hydra",
        ("hydra-core", "torch"),
        ("python", "hydra_app.py", "+net.width=32", "+lr=0.01"),
    ),
    "lightning": Program("Lightning", _LIGHTNING, ("python", "lightning_boring.py")),
    "fabric": Program("Fabric", _LIGHTNING, ("fabric", "run", "--accelerator", "cpu", "fabric_net.py")),
    "accelerate": Program("accelerate", ("accelerate", "torch"), (*_ACCELERATE, "1", "accelerate_net.py")),
    "trainer": Program(
        "transformers' Trainer", ("transformers", "accelerate", "torch"), ("python", "transformers_trainer.py")
    ),
}


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    printed: str
    """Standard output and standard error together."""
    seconds: float

    @property
    def numbers(self) -> Mapping[str, str]:
        return read_numbers(self.printed)

    @property
    def last(self) -> str:
        """Its last words, for who asks why."""
        lines = [line.strip() for line in self.printed.splitlines() if line.strip()]
        return lines[-1][:120] if lines else ""


@dataclass(frozen=True, slots=True)
class Built:
    """The environment of some packages."""

    seconds: float = 0.0
    """From the command that asks for it until it is ready."""
    name: str = ""
    """Of the Environment."""
    path: Path = field(default_factory=Path)
    error: str = ""
    """Why there is none."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Package -> version, of what was installed."""
        found = importlib.metadata.distributions(
            path=[str(each) for each in self.path.glob("lib/python*/site-packages")]
        )
        return {each.name.lower().replace("_", "-"): each.version for each in found}


@dataclass(frozen=True, slots=True)
class Row:
    """One program of the table."""

    HEADINGS: ClassVar[tuple[str, ...]] = (
        "Library",
        "Plainly",
        "Behind `paddock run`",
        "Became",
        "Same numbers",
        "Plain",
        "Paddock",
        "Difference",
        "Build",
    )
    cells: tuple[str, ...]


def read_numbers(printed: str) -> dict[str, str]:
    """The last value of each loss, accuracy or score, digit by digit as it was printed; a name is in small letters."""
    plain = _COLOURS.sub("", printed)
    return {((found[1] or "") + found[2]).lower(): found[3] for found in _NUMBER.finditer(plain)}


def compare(plain: Sequence[Ended], ours: Sequence[Ended]) -> str:
    """`yes: loss 0.25`; else `no`, and what each side has."""
    for side, runs in (("without Paddock", plain), ("under Paddock", ours)):
        if failed := next((each for each in runs if each.code), None):
            return f"no: {side} it ends with {failed.code}: {failed.last}"
    wanted = plain[0].numbers
    if not wanted:
        return "no: none is printed"
    if any(each.numbers != wanted for each in plain):
        return "no: other ones each time, without Paddock as well"
    if other := next((each for each in ours if each.numbers != wanted), None):
        name = next(each for each in (*wanted, *other.numbers) if wanted.get(each) != other.numbers.get(each))
        return f"no: {name} {other.numbers.get(name, 'is missing')}, without Paddock {wanted.get(name, 'none')}"
    return "yes: " + ", ".join(f"{name} {value}" for name, value in list(wanted.items())[-2:])


def find_kind(printed: str, environment: str) -> str:
    """`PyTorchJob`, of what `paddock run` prints; with its environment, where that is another one than was built."""
    kind, other = re.search(r"^(\w+Job) ", printed, re.MULTILINE), _find_environment(printed)
    return f"{kind[1] if kind else 'no job'}{f', in {other}' if other != environment else ''}"


def build_row(case: Program, built: Built, plain: Sequence[Ended], ours: Sequence[Ended]) -> Row:
    """Of a program that was run; both sides have at least one run."""
    version = built.versions.get(re.split("[=<>]", case.packages[0])[0], "")
    first, second = (statistics.median(each.seconds for each in runs) for runs in (plain, ours))
    return Row(
        (
            f"{case.library} {version}".strip(),
            f"`{' '.join(case.plain)}`",
            "the same" if case.typed == f"-- {' '.join(case.plain)}" else f"`{case.typed}`",
            find_kind(ours[0].printed, built.name),
            compare(plain, ours),
            f"{first:.1f} s",
            f"{second:.1f} s",
            f"{second - first:+.1f} s, {second / first:.2f} times",
            f"{built.seconds:.0f} s",
        )
    )


def find_cause(printed: str) -> str:
    """Why an environment could not be built, in Paddock's words: `Not started after 9.4 s: … environment NAME: WHY`."""
    line = next((line for line in printed.splitlines() if line.startswith("Not started")), printed.strip())
    return re.sub(r"^.*?\benvironment \S+: ", "", line).partition(", and ")[0].partition(" (log: ")[0][:160]


def build_missing(case: Program, built: Built) -> Row:
    """Of a program whose packages cannot be had here."""
    why = f"not installed: {built.error}"
    return Row((case.library, f"`{' '.join(case.plain)}`", "", "", why, "", "", "", f"{built.seconds:.0f} s"))


def measure() -> Sequence[Row]:
    chosen = [name for name in os.environ.get("PADDOCK_BENCH_ONLY", "").split(",") if name] or list(CASES)
    environments: dict[tuple[str, ...], Built] = {}
    rows: list[Row] = []
    with open_directory() as cluster:
        _keep_caches_apart(cluster)
        cluster.paddock("up")
        for case in (CASES[name] for name in chosen):
            if case.packages not in environments:
                environments[case.packages] = _build(cluster, case)
            rows.append(_run(cluster, case, environments[case.packages]))
            print("  ".join(rows[-1].cells), file=sys.stderr)
    return rows


def _build(cluster: Cluster, case: Program) -> Built:
    """By a program that does nothing, as a first run of `-r` does it."""
    words = ("run", "-r", _write(cluster, case), "--", "python", "-c", "pass")
    ended = _end(cluster, (*PADDOCK, *words), cluster.directory, patience=4)
    if ended.code:
        return Built(ended.seconds, error=find_cause(ended.printed))
    name = _find_environment(ended.printed)
    listed = json.loads(cluster.paddock("env", "list", "-o", "json"))["items"]
    path = next(each["status"]["path"] for each in listed if each["metadata"]["name"] == name)
    return Built(ended.seconds, name, Path(path))


def _find_environment(printed: str) -> str:
    """Of the line `runs python x.py, environment NAME`."""
    found = re.search(r", environment (\S+)$", printed, re.MULTILINE)
    return found[1] if found else ""


def _write(cluster: Cluster, case: Program) -> str:
    names = (each.partition("=")[0] for each in case.packages)
    path = cluster.directory / f"{'-'.join(names)}.txt"
    path.write_text("".join(f"{package}\n" for package in case.packages))
    return str(path)


def _run(cluster: Cluster, case: Program, built: Built) -> Row:
    if built.error:
        return build_missing(case, built)
    ours = (*PADDOCK, "run", "-r", _write(cluster, case), *case.options, "--", *(case.command or case.plain))
    path = f"{built.path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    _start(cluster, case.plain, PATH=path)
    rounds = [
        (_start(cluster, ours), _start(cluster, case.plain, PATH=path))
        for _ in range(int(os.environ.get("PADDOCK_BENCH_TIMES", TIMES)))
    ]
    return build_row(case, built, [each for _, each in rounds], [each for each, _ in rounds])


def _start(cluster: Cluster, command: Sequence[str], **variables: str) -> Ended:
    """In a directory with the programs and nothing else: nobody finds what an earlier run has saved."""
    with tempfile.TemporaryDirectory(dir=cluster.directory) as directory:
        place = Path(directory) / "programs"
        shutil.copytree(PROGRAMS, place, ignore=shutil.ignore_patterns("__pycache__"))
        return _end(cluster, command, place, **variables)


def _end(cluster: Cluster, command: Sequence[str], place: Path, patience: float = 1, **variables: str) -> Ended:
    began = time.perf_counter()
    try:
        ended = subprocess.run(
            command,
            cwd=place,
            env={**cluster.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PATIENCE * patience,
        )
    except subprocess.TimeoutExpired as late:
        return Ended(124, f"not done in {late.timeout:.0f} s", late.timeout)
    return Ended(ended.returncode, ended.stdout, time.perf_counter() - began)


def _keep_caches_apart(cluster: Cluster) -> None:
    """Environments are built anew, from packages that may lie in uv's cache."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = os.environ.get("UV_CACHE_DIR") or str(user / "uv")
    cluster.variables.update(XDG_CACHE_HOME=str(cluster.directory / "cache"), UV_CACHE_DIR=kept)
