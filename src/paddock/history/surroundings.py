"""What a run began with beside its manifest and its code: packages, datasets, the machine; and what of it differs
between two runs. Pure.

    packages: torch 2.5.0 → 2.6.0, + peft 0.14.0, − apex 0.1
    dataset words: 3f2a1c90d7be → 9be0d1f44a10
    machine: 1 × NVIDIA A100 → none, driver 550.54 → none, CPUs 16 → 8

What a run of an earlier version has not recorded is unknown, and unknown is no change. The packages of a run are named
by the digest of their set (`history.package_sets`), as ten thousand runs have few sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from paddock.kube.datasets import format_size
from paddock.kube.quantities import format_bytes

Packages = Mapping[str, str]
"""Versions by the names of packages, normalised (PEP 503); `PYTHON` has the interpreter's own."""
ReadPackages = Callable[[str], Packages | None]
"""The set of a digest; None where it is not kept or damaged."""
PYTHON = "python"
MOST_PACKAGES = 4
"""Of a set that differs, in one text."""
_FIRST = (PYTHON, "torch", "paddlepaddle", "paddlepaddle-gpu", "jax", "transformers", "numpy")
"""What is named before all others, as most depends on it."""
_REVISION = 12
"""Letters of a revision that are shown; git's commits and hubs' are longer."""


@dataclass(frozen=True, slots=True)
class DatasetState:
    """What a Dataset was when a run began. Fields are empty or 0 where nobody knows."""

    source: str = ""
    """Its address, without a password."""
    revision: str = ""
    """A commit, or the source's own mark of its content (an ETag)."""
    fetched: str = ""
    """When, as Kubernetes writes times."""
    bytes: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class MachineState:
    """What the machine had: all of it, not the part that the run asked for."""

    name: str = ""
    """Of its Node."""
    cpus: float = 0.0
    memory: int = 0
    """Bytes."""
    gpus: tuple[str, ...] = ()
    """The name of each."""
    driver: str = ""
    """The version of NVIDIA's driver; empty without one."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run began with, as it is told when its programs start."""

    packages: Mapping[str, str] = field(default_factory=dict)
    """Digests of the sets of packages with which the first rank of each role was started, by role
    (`history.package_sets` keeps the sets); empty where they are not known."""
    datasets: Mapping[str, DatasetState] | None = None
    """The Datasets that its pods mount, by name; None where that is not known."""
    machine: MachineState | None = None
    """None where it is not known."""


def add(known: Surroundings, told: Surroundings) -> Surroundings:
    """What is known, with what is told besides: what was told first is what the run began with. Each role tells its
    own Datasets."""
    datasets = known.datasets if told.datasets is None else {**told.datasets, **(known.datasets or {})}
    return Surroundings({**told.packages, **known.packages}, datasets, known.machine or told.machine)


def read_nothing(digest: str) -> Packages | None:
    """Where nobody reads sets."""


def find_surrounding_changes(before: Surroundings, now: Surroundings, read: ReadPackages) -> list[str]:
    """One text for each part that differs: the packages (of each role, where they differ otherwise), each dataset, the
    machine."""
    changes = [*_of_packages(before.packages, now.packages, read), *_of_datasets(before.datasets, now.datasets)]
    machine = explain_machine(before.machine, now.machine)
    return [*changes, f"machine: {machine}"] if machine else changes


def has_unknown_packages(before: Surroundings, now: Surroundings) -> bool:
    """Whether the packages of two runs cannot be compared, as a run did not record them."""
    return not (before.packages.keys() & now.packages.keys())


def _of_packages(before: Mapping[str, str], now: Mapping[str, str], read: ReadPackages) -> Iterator[str]:
    found = {role: explain_packages(before[role], now[role], read) for role in now if role in before}
    different = {role: text for role, text in found.items() if text}
    if len(set(different.values())) == 1:
        yield f"packages: {next(iter(different.values()))}"
        return
    yield from (f"packages of {role}: {text}" for role, text in different.items())


def explain_packages(before: str, now: str, read: ReadPackages) -> str:
    """What differs between the sets of two digests; empty where nothing does. `…` where a set is not kept any more:
    they differ, and nobody knows in what."""
    if before == now:
        return ""
    sets = read(before), read(now)
    if sets[0] is None or sets[1] is None:
        return "…"
    return ", ".join(list_packages(sets[0], sets[1]))


def list_packages(before: Packages, now: Packages) -> list[str]:
    """`torch 2.5.0 → 2.6.0`, then `+ peft 0.14.0`, then `− apex 0.1`: at most `MOST_PACKAGES`, and how many more."""
    both = [name for name in _order(now) if name in before]
    changed = [f"{name} {before[name]} → {now[name]}" for name in both if before[name] != now[name]]
    added = [f"+ {name} {now[name]}" for name in _order(now) if name not in before]
    gone = [f"− {name} {before[name]}" for name in _order(before) if name not in now]
    texts = [*changed, *added, *gone]
    more = len(texts) - MOST_PACKAGES
    return texts if more <= 0 else [*texts[:MOST_PACKAGES], f"+{more}"]


def _order(names: Packages) -> list[str]:
    return sorted(names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))


def _of_datasets(before: Mapping[str, DatasetState] | None, now: Mapping[str, DatasetState] | None) -> Iterator[str]:
    if before is None or now is None:
        return
    for name, state in now.items():
        text = explain_dataset(before[name], state) if name in before else f"+ {tell_dataset(state)}"
        if text:
            yield f"dataset {name}: {text}"
    yield from (f"dataset {name}: − {tell_dataset(state)}" for name, state in before.items() if name not in now)


def explain_dataset(before: DatasetState, now: DatasetState) -> str:
    """What differs, by the first that tells it: the source, the revision, the size, the time of the fetch. Empty where
    nothing does, and where a revision says that the content is the same."""
    if before.source != now.source:
        return f"{before.source} → {now.source}"
    if before.revision and now.revision:
        same = before.revision == now.revision
        return "" if same else f"{before.revision[:_REVISION]} → {now.revision[:_REVISION]}"
    if (before.bytes, before.files) != (now.bytes, now.files):
        return f"{_size(before)} → {_size(now)}"
    return f"fetched {before.fetched} → {now.fetched}" if before.fetched != now.fetched else ""


def tell_dataset(state: DatasetState) -> str:
    """In one word or two: the revision, else when it was fetched, else where it is."""
    return state.revision[:_REVISION] or state.fetched or state.source


def _size(state: DatasetState) -> str:
    return f"{format_size(state.bytes)} ({state.files})"


def explain_machine(before: MachineState | None, now: MachineState | None) -> str:
    """The parts that differ, GPUs first; empty where nothing does, or one of them is not known."""
    if before is None or now is None:
        return ""
    rows = zip(_list_parts(before), _list_parts(now), strict=True)
    return ", ".join(f"{title} {old} → {new}".strip() for (title, old), (_, new) in rows if old != new)


def tell_machine(state: MachineState) -> str:
    """`ada: 1 × NVIDIA A100, driver 550.54, CPUs 16, memory 64 GiB`."""
    (_, gpus), (_, driver), *others, _ = _list_parts(state)
    parts = [gpus, f"driver {driver}"] if state.gpus else ["no GPU"]
    return f"{state.name}: {', '.join([*parts, *(f'{title} {value}' for title, value in others)])}"


def _list_parts(state: MachineState) -> list[tuple[str, str]]:
    """As they are shown, so that bytes that a kernel takes for itself are no change."""
    kinds = dict.fromkeys(state.gpus)
    gpus = " + ".join(f"{state.gpus.count(kind)} × {kind}" for kind in kinds)
    return [
        ("", gpus or "none"),
        ("driver", state.driver or "none"),
        ("CPUs", f"{state.cpus:g}"),
        ("memory", format_bytes(state.memory)),
        ("host", state.name),
    ]
