"""The last numbers of runs: in which order they stand, which is the best, and how a number is written. Pure.

The first rank that has numbers stands for all, as the ranks of a gang train in step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.history.metrics import COUNTS, Metrics, is_place, read_place
from paddock.logs.number_names import normalize, read_name

_FIRST = ("loss", "val_loss", "accuracy", "val_accuracy")
"""What is shown before all others."""
MOST_METRICS = 4
"""Of a row."""
_LOW = re.compile(
    r"ppl|perplexity|nll|bpc|[a-z]*loss|[a-z]*(?:mae|mse|rmse|mape|error|err|eer)|m?[wc]er|fid|deviation|regret"
)
_HIGH = re.compile(
    r"acc(?:uracy)?|top|prec(?:ision)?|recall|f1|auc|auroc|m?ap(?:@?\d+)?|bleu|rouge\w*|meteor|m?iou|dice|psnr|ssim|ndcg"
    r"|mrr|hmean|rewards?|returns?|r2|kappa|mcc|hits?|score"
)

BEST = "*"
"""Behind the best of several numbers."""

Number = int | float | str
"""A text where JSON has no number: `nan`, `inf`."""


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A number of several runs."""

    name: str
    values: tuple[Number | None, ...]
    """None of a run that has no such number."""
    places: tuple[str, ...]
    """`epoch 2`, of one that is older than the others of its run; else empty."""
    best: frozenset[int]
    """The places of the runs that have the best one: none where nobody knows which is better, where fewer than two have
    one, and where all are the same."""


def compare_numbers(runs: Sequence[Mapping[str, Metrics]]) -> list[NumberRow]:
    """The epochs and steps first, then what runs are compared by."""
    firsts = [find_first(metrics) for metrics in runs]
    names = dict.fromkeys(name for first in firsts for name in (*COUNTS, *order_names(first)))
    rows = []
    for name in order_names(names, COUNTS):
        values = tuple(first.get(name) for first in firsts)
        if any(value is not None for value in values):
            rows.append(NumberRow(name, values, tuple(tell_place(first, name) for first in firsts),
                                  find_best(name, values)))  # fmt: skip
    return rows


def find_first(metrics: Mapping[str, Metrics]) -> Metrics:
    return metrics[min(metrics, key=order_rank)] if metrics else {}


def order_names(names: Mapping[str, object], counts: Sequence[str] = ()) -> list[str]:
    """Losses and accuracies, then others of which it is known which is better, then the rest. `counts`: the names of
    places that are wanted too."""
    known = [name for name in names if not is_place(name) and name not in COUNTS]
    first = [name for name in _FIRST if name in names]
    judged = [name for name in known if name not in first and find_direction(name)]
    return [*(name for name in counts if name in names), *first, *judged,
            *(name for name in known if name not in (*first, *judged))]  # fmt: skip


def list_metrics(metrics: Mapping[str, Metrics], most: int = MOST_METRICS) -> list[tuple[str, Number, str]]:
    """(name, last number, where it stood if that is not the last step): what runs are compared by. A run that has none
    of these shows its first other number."""
    first = find_first(metrics)
    names = order_names(first)
    shown = [name for name in names if find_direction(name)][:most] or names[:1]
    return [(name, first[name], tell_place(first, name)) for name in shown]


def read_last_place(metrics: Mapping[str, Metrics]) -> list[tuple[str, Number]]:
    """`[("epoch", 3), ("step", 400)]`: where the training of the first rank stood; empty where it is not known."""
    first = find_first(metrics)
    return [(name, first[name]) for name in COUNTS if name in first]


def tell_place(metrics: Metrics, name: str) -> str:
    """`epoch 2`, of a number that is older than the last ones; else empty."""
    place = read_place(metrics, name)
    differing = [count for count in COUNTS if count in place and metrics.get(count) != place[count]]
    return f"{differing[0]} {place[differing[0]]}" if differing else ""


def order_rank(rank: str) -> tuple[str, int]:
    """`worker-2` before `worker-10`."""
    role, _, index = rank.rpartition("-")
    return role, int(index) if index.isdecimal() else 0


# Which is better


def find_direction(name: str) -> int:
    """-1 where the lowest is the best, 1 where the highest is; 0 where nobody knows."""
    kind, words = read_name(name).kind, normalize(name).split()
    if kind in ("loss", "accuracy"):
        return -1 if kind == "loss" else 1
    if kind not in ("score", "other") or (kind == "other" and any(word.endswith("loss") for word in words)):
        return 0
    bare = [word.rstrip("0123456789@") or word for word in words]
    found = {-1 for word in (*words, *bare) if _LOW.fullmatch(word)}
    found |= {1 for word in (*words, *bare) if _HIGH.fullmatch(word)}
    return next(iter(found)) if len(found) == 1 else 0


def choose_best(name: str, lowest: float, highest: float) -> float | None:
    """The best of the readings of a number; None where nobody knows which is better."""
    direction = find_direction(name)
    return None if not direction else lowest if direction < 0 else highest


def find_best(name: str, values: Sequence[Number | None]) -> frozenset[int]:
    """The best of these values, as `NumberRow.best`."""
    known = {place: each for place, value in enumerate(values) if (each := read_number(value)) is not None}
    best = choose_best(name, min(known.values()), max(known.values())) if len(set(known.values())) > 1 else None
    return frozenset(place for place, value in known.items() if value == best)


def read_number(value: Number | None) -> float | None:
    """None for what is no number, or not finite."""
    try:
        found = math.nan if value is None else float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


# How it is written


def write_number(value: Number) -> str:
    return value if isinstance(value, str) else format_number(float(value))


def format_number(value: float) -> str:
    """The number as people write it: four digits that count, whole numbers whole."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.4g}"
