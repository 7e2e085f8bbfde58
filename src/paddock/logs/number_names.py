"""What the names of the numbers in a training program's lines mean. Pure.

The names are those that PaddlePaddle's kits (PaddleClas, PaddleOCR, PaddleDetection, PaddleNLP, PaddleRec), PyTorch's
examples, Lightning, Transformers, Keras and Megatron print.
"""

from __future__ import annotations

COUNTS = {
    "epoch": "epoch",
    "train epoch": "epoch",
    "epoch(train)": "epoch",
    "step": "step",
    "global step": "step",
    "iter": "step",
    "iteration": "step",
    "batch": "step",
    "batch id": "step",
    "worker": "rank",
    "rank": "rank",
}
"""What is counted, by its name. Others are totals or settings: `epochs`, `batch_size`."""

_LOSSES = {
    "loss", "cost", "train loss", "training loss", "avg loss", "average loss", "mean loss", "total loss", "lm loss"
}  # fmt: skip
_ACCURACIES = {"acc", "accuracy", "acc@1", "top1", "train acc", "train accuracy", "auc", "train auc"}
_SPEEDS = {"ips", "throughput", "speed"}
_LONG = {"iter": "it", "iters": "it", "img": "images", "imgs": "images", "ins": "samples", "in": "samples"}


def normalize(name: str) -> str:
    return name.replace("_", " ").lower()


def is_loss(name: str) -> bool:
    """A loss of an evaluation is another curve: `val loss` is none."""
    return name in _LOSSES


def is_accuracy(name: str) -> bool:
    return name in _ACCURACIES


def read_speed_name(name: str, unit: str) -> str | None:
    """The unit of a speed, empty where it is not said; None for what is no speed. `unit`: what stands behind the
    number."""
    if name in _SPEEDS:
        return _name_unit(unit.partition("/")[0]) if "/s" in unit else "" if not unit else None
    for ending in ("/s", "/sec", " per second", " per sec"):
        if name.endswith(ending):
            return _name_unit(name.removesuffix(ending).split()[-1])
    return None


def read_rate(number: float, unit: str) -> tuple[float, str] | None:
    """`12 ms/step` -> 83.3 it/s; `3.6 it/s` as it is."""
    what, _, per = unit.partition("/")
    if per.startswith("s") and per not in ("step", "sample"):
        return number, _name_unit(what)
    if number <= 0:
        return None
    scale = 1_000.0 if what == "ms" else 1.0
    return scale / number, "samples/s" if per == "sample" else "it/s"


def _name_unit(what: str) -> str:
    return f"{_LONG.get(what, what)}/s"
