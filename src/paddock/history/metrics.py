"""The last numbers of a rank, and of which step each is, where that is not the last one. Pure.

    {"step": 100, "loss": 0.5, "accuracy": 0.9, "accuracy@step": 50}

A program prints its numbers at different moments. A number that is older than the others has its place beside it, under
its own name; no name that a program prints has this form.
"""

from __future__ import annotations

from collections.abc import Mapping

Metrics = Mapping[str, int | float | str]
"""`{"epoch": 3, "step": 400, "loss": 0.12}`: the last numbers that a rank printed; any of them may be missing, and
others are there by their names (`val_loss`, `accuracy`, `lr`, and those that were printed with a name of their own). A
text where JSON has no number: `nan`, `inf`. An older Paddock recorded the three alone, and no places."""
COUNTS = ("epoch", "step")


def name_place(metric: str, count: str) -> str:
    """`val_loss@step`. `count`: one of `COUNTS`."""
    return f"{metric}@{count}"


def is_place(name: str) -> bool:
    return name.rpartition("@")[2] in COUNTS and "@" in name


def combine(printed: Metrics, written: Metrics) -> Metrics:
    """What a rank wrote on purpose counts more than what it printed. Places stay beside numbers that are older than the
    last epoch or step, and go beside all others."""
    stale = {name_place(name, count) for name in written for count in COUNTS}
    found = {**{name: number for name, number in printed.items() if name not in stale}, **written}
    return {name: number for name, number in found.items() if not is_place(name) or read_place(found, name)}


def read_place(metrics: Metrics, name: str) -> Metrics:
    """Where a number was printed (`{"epoch": 2, "step": 50}`, or one of them), if that is another place than the last
    one; empty if it is not. `name`: of the number, or of one of its places."""
    metric = name.rpartition("@")[0] if is_place(name) else name
    place = {count: metrics[key] for count in COUNTS if (key := name_place(metric, count)) in metrics}
    return place if any(count in metrics and metrics[count] != at for count, at in place.items()) else {}
