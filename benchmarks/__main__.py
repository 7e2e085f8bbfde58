"""`python -m benchmarks [NAME…] [--full] [--write]`: measures, prints the tables, keeps them.

A NAME is a whole section, else a figure; `--write` rewrites the sections that were measured in docs/benchmarks.md, and
leaves the others as they stand.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Row, build_table, describe_machine

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_HEAD = """# Benchmarks

`make bench` measures these and prints the tables; `python -m benchmarks --write` rewrites this page with them.
Each figure stands beside a plain one that was taken in turns with it in the same run; medians, with the range in
parentheses. What each one does is said at the head of its module in `benchmarks/`.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """Part of the page: `figures` are modules of `benchmarks`, in order; `conditions` says what they have in common;
    one that is not `usual` is measured only where it is named."""

    title: str
    figures: tuple[str, ...]
    conditions: str = ""
    usual: bool = True


SECTIONS = {
    "laptop": Section("On a laptop", ("starting", "listing", "running", "many_jobs")),
    "console": Section(
        "The console",
        ("console", "dashboards"),
        "A laptop's cluster that is up, and the machine's own Chromium, on the same cores.\n\n",
    ),
    "pytorch": Section(
        "PyTorch",
        ("ranks", "losses", "pytorch_gangs"),
        "Ranks, and their losses: with the CPU build of PyTorch and gloo, on a laptop's cluster that is up, its "
        "environment built. Jobs at once: on a Kubernetes, as told in that section.\n\n",
    ),
    "script": Section("A script of one's own", ("scripts",)),
    "brought": Section(
        "What people bring",
        ("field",),
        "Commands, scripts and manifests of public reports, each rebuilt as a small input with the answer that is "
        "wanted (tests/field).\n\n",
    ),
    "programs": Section(
        "Programs of others",
        ("alike",),
        "Programs of common libraries (`benchmarks/programs`), as they are typed in a shell and behind "
        "`paddock run -r FILE --`, in the same environment; a laptop's cluster that is up. Other numbers are a fault. "
        "Build: what the first run took, which builds the environment; most packages lay in uv's cache. "
        "`python -m benchmarks programs` takes a quarter of an hour, and `--only NAME` measures one program.\n\n",
        usual=False,
    ),
    "pods": Section(
        "Into pods, and their begin and end",
        ("entering", "pod_lives"),
        "Local clusters that are up, in both sandboxes, and a real node (kubelet, containerd and runc of Kubernetes "
        "1.20.2) on the same cores, in turns. `python -m benchmarks pods` takes five minutes, and root for the node; "
        "`PADDOCK_BENCH_FORMER` names a former Paddock beside which a pod's begin is measured.\n\n",
        usual=False,
    ),
    "machines": Section(
        "On fresh machines",
        ("fresh",),
        "Each machine is a bare Debian in a folder (`tools/fresh/machine`): no bubblewrap, no libgomp, empty caches. "
        "Both commands do all their own set-up. `python -m benchmarks machines` takes half an hour, and root.\n\n",
        usual=False,
    ),
    "kubernetes": Section(
        "On a Kubernetes",
        ("gangs", "bursts", "fleets", "faults", "edits"),
        "Each run has a fresh control plane of its own, by `tools/kubernetes/control_plane.py`: etcd without fsync and "
        "kube-apiserver over TLS on loopback; no controllers, scheduler or nodes. `paddock operator` is a process "
        "of its own, and so is the load, which also says of pods what kubelets would say; all of them share this "
        "machine's cores. Jobs have 4 workers that meet by name, each with its headless Service, "
        "and those that are edited 1 to 8. Requests are the API server's own count, in which a read of one job is a "
        "LIST. An operator's memory is the most it ever held.\n\n",
    ),
    "server": Section(
        "The embedded API",
        ("api_servers",),
        "A laptop's API beside a real kube-apiserver and etcd (1.20.2, `make kubernetes`), over TLS on loopback. Both, "
        "and the load, are processes of their own and share this machine's cores. `python -m benchmarks server` takes "
        "half an hour.\n\n",
        usual=False,
    ),
    "simulation": Section(
        "Verdicts",
        ("verdicts",),
        "In the simulation of the operator (`tests/jobs/simulated`), whose clock is virtual: the machine plays no "
        "part.\n\n",
    ),
}
_ALL = tuple(name for section in SECTIONS.values() for name in section.figures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    choice = ", ".join(dict.fromkeys((*SECTIONS, *_ALL)))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {choice}")
    parser.add_argument("--only", action="append", metavar="NAME", help="of `programs`, this one; repeatable")
    parser.add_argument("--full", action="store_true", help="a fleet rests for ten minutes instead of one")
    parser.add_argument("--write", action="store_true", help=f"rewrite the sections of {PAGE.name} that are measured")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(SECTIONS) - set(_ALL))
    if unknown:
        parser.error(f"there is no figure {unknown[0]!r}; there are {choice}")
    if chosen.write and set(chosen.names) - set(SECTIONS):
        parser.error("--write needs whole sections, so name those, or none")
    if chosen.only:
        _choose_programs(parser, chosen)
    if chosen.full:
        os.environ.setdefault("PADDOCK_BENCH_IDLE_MINUTES", "10")
    measured = {}
    for key, section in SECTIONS.items():
        wanted = section.usual if not chosen.names else key in chosen.names
        if names := [name for name in section.figures if wanted or name in chosen.names]:
            measured[key] = _build_section(section, _measure(names))
            print(measured[key])
    if chosen.write:
        PAGE.write_text(_build_page(PAGE.read_text() if PAGE.exists() else "", measured))
    return 0


def _choose_programs(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    from benchmarks.alike import CASES

    if unknown := sorted(set(chosen.only) - set(CASES)):
        parser.error(f"there is no program {unknown[0]!r}; there are {', '.join(CASES)}")
    if chosen.names != ["programs"] or chosen.write:
        parser.error(
            "--only measures a part of the section: `python -m benchmarks programs --only NAME`, without --write"
        )
    os.environ["PADDOCK_BENCH_ONLY"] = ",".join(chosen.only)


def _measure(names: Sequence[str]) -> list[Row]:
    figures: list[Row] = []
    for name in names:
        print(f"measuring: {name}", file=sys.stderr)
        figures += importlib.import_module(f"benchmarks.{name}").measure()
    return figures


def _build_section(section: Section, figures: Sequence[Row]) -> str:
    machine = f"Measured on: {describe_machine()}."
    return f"## {section.title}\n\n{section.conditions}{machine}\n\n{build_table(figures)}\n"


def _build_page(page: str, measured: Mapping[str, str]) -> str:
    """What was measured, in place of what stood there."""
    kept = {text.partition("\n")[0]: f"## {text.strip()}\n" for text in page.split("\n## ")[1:]}
    texts = [measured.get(key) or kept.get(section.title) for key, section in SECTIONS.items()]
    return "\n".join([_HEAD, *(text for text in texts if text)])


if __name__ == "__main__":
    sys.exit(main())
