"""What the names of the numbers in a training program's lines mean. Pure.

The names are those that PaddlePaddle's kits (PaddleClas, PaddleOCR, PaddleDetection, PaddleNLP, PaddleRec), PyTorch's
examples, Lightning, Transformers, timm, fairseq, torchtitan, Keras, Megatron and XGBoost print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from paddock.logs.chinese import to_english

COUNTS = {
    "epoch": "epoch",
    "ep": "epoch",
    "train epoch": "epoch",
    "training epoch": "epoch",
    "step": "step",
    "global step": "step",
    "train step": "step",
    "training step": "step",
    "iter": "step",
    "iters": "step",
    "itr": "step",
    "it": "step",
    "iteration": "step",
    "train iter": "step",
    "training iter": "step",
    "batch": "step",
    "batch id": "step",
    "num updates": "step",
    "worker": "rank",
    "rank": "rank",
}
"""What is counted, by its name. Others are totals or settings: `epochs`, `batch_size`."""
EVALUATIONS = frozenset(
    {
        "val",
        "valid",
        "validation",
        "eval",
        "evaluation",
        "test",
        "dev",
        "validate",
        "validating",
        "evaluating",
        "testing",
    }
)
"""Words of a number that an evaluation found: it is no number of the training."""
TRAININGS = frozenset({"train", "training", "trn"})
OTHER_READINGS = frozenset(
    {
        "best", "min", "max", "minimum", "maximum", "lowest", "highest", "target", "previous", "prev", "old", "last",
        "initial", "final", "threshold", "worst", "every", "per", "each", "until", "improved", "expected", "total",
        "num", "from", "n",
    }
)  # fmt: skip
"""Words before a name that make it another number than that of the moment: `best loss`, `every step`."""

_PLAIN = {"avg", "average", "mean", "running", "total", "cur", "current", "smooth", "smoothed", "lm", "global"}
"""Words of a loss that is still that of the training as a whole."""
_ENDS = {"value", "step", "epoch", "mean", "avg", "batch"}
_LOSSES = {"loss", "cost", "logloss", "mlogloss", "losses"}
_ACCURACIES = {
    "acc", "accuracy", "acc@1", "acc1", "top1", "top@1", "prec@1", "auc", "top1 acc", "top1 accuracy", "acc top1",
    "accuracy top1", "categorical accuracy", "sparse categorical accuracy", "binary accuracy", "acc 1",
}  # fmt: skip
_RATES_OF_LEARNING = {"lr", "learning rate", "lr 0", "learning rate 0"}
_NORMS = {"grad norm", "gnorm", "grad", "gradient norm", "gradnorm", "global grad norm", "total grad norm"}
_SPEEDS = {"ips": "", "throughput": "", "speed": "", "tps": "tokens/s", "wps": "words/s", "fps": "frames/s"}
_SCORES = re.compile(
    r"(?:[a-z]*rmse|mae|mape|mse|m?error|ndcg(?:@\d+)?|map(?:@?\d+)?|f1|ppl|perplexity|bleu|rouge\w*|m?iou|dice|psnr"
    r"|ssim|fid|reward|returns?|elbo|precision|recall|acc\w*|auc\w*|top\d|l1|l2|hmean|wer|cer)"
)
_NO_LOSS = {
    "scale",
    "scaling",
    "scaler",
    "weight",
    "weights",
    "coef",
    "coeff",
    "factor",
    "fn",
    "type",
    "ratio",
    "limit",
}
_TIMES = {
    "time", "eta", "elapsed", "duration", "latency", "remaining", "runtime", "wall", "sec", "secs", "seconds", "ms",
    "mem", "memory", "timestamp", "ts", "date", "took", "spent", "cost", "hours", "minutes", "gb", "mb", "pid", "port",
    "data", "cpu", "gpu", "free", "allocated", "reserved", "memallocated", "maxmemallocated", "wait", "num", "uptime",
}  # fmt: skip
"""Words of times, memory and machines, which are no metrics."""
_MACHINE = frozenset(
    {
        "mem", "memory", "memallocated", "maxmemallocated", "allocated", "reserved", "cpu", "gpu", "time", "cost",
        "data", "latency", "wait", "ms", "sec", "seconds",
    }
)  # fmt: skip
"""Those of `_TIMES` that go on through a training: a date, an ETA and a process's number are nothing to draw."""
_PACES = re.compile(r"[mu]?s/(?:it|iter|step|batch)")
_FILES = re.compile(r".*\.(?:py|pyc|cc|cpp|cu|c|h|sh|ipynb|go|rs)")
_LONG = {"iter": "it", "iters": "it", "img": "images", "imgs": "images", "ins": "samples", "in": "samples"}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for."""

    kind: str
    """`loss`, `accuracy`, `lr`, `grad_norm`, `speed`, `score` (another metric), `other`, `noise`."""
    evaluates: bool = False
    """The name says that an evaluation found it."""
    trains: bool = False
    """The name says that it is the training's."""
    is_cost: bool = False
    """A price has this name as well."""
    unit: str = ""
    """Of a speed, as far as the name says it."""


@lru_cache(maxsize=2_000)
def normalize(name: str) -> str:
    """In small letters, with single spaces between its words."""
    if "PerSec" in name:
        name = _CAMEL.sub(" ", name)
    name = to_english(name.replace("'s", "").replace("'", " "))
    return " ".join(re.split(r"[\s_\-/.]+", name)).strip().lower()


@lru_cache(maxsize=2_000)
def read_name(name: str) -> Meaning:
    """What `name` stands for, as printed; `noise` for a time, memory, or a place in a program."""
    if _FILES.fullmatch(name):
        return Meaning("noise")
    parts = [part for part in normalize(name).split() if not part.isdigit()] or [normalize(name)]
    evaluates, trains = bool({parts[0], parts[-1]} & EVALUATIONS), bool({parts[0], parts[-1]} & TRAININGS)
    own = [part for part in parts if part not in EVALUATIONS and part not in TRAININGS] or parts
    if (said := _read_speed(name, own)) is not None:
        return Meaning("speed", evaluates, trains, unit=said)
    kind = _read_kind(own)
    return Meaning(kind, evaluates, trains, is_cost=kind == "loss" and own[-1] == "cost")


def _read_kind(parts: list[str]) -> str:
    whole = " ".join(parts)
    if whole in _RATES_OF_LEARNING:
        return "lr"
    if whole in _NORMS:
        return "grad_norm"
    core = _without_ends(parts)
    if " ".join(core) in _ACCURACIES:
        return "accuracy"
    if core[-1] in _LOSSES and all(part in _PLAIN for part in core[:-1]) and not (core[-1] == "cost" and core[:-1]):
        return "loss"
    if set(parts) & _TIMES:
        return "noise"
    if any(part.endswith("loss") for part in core):
        return "other" if set(parts) & _NO_LOSS else "score"
    return "score" if _SCORES.fullmatch(core[-1]) else "other"


def _without_ends(parts: list[str]) -> list[str]:
    while len(parts) > 1 and parts[-1] in _ENDS:
        parts = parts[:-1]
    while len(parts) > 1 and parts[0] in _PLAIN and parts[-1] not in _LOSSES:
        parts = parts[1:]
    return parts


def _read_speed(name: str, parts: list[str]) -> str | None:
    """The unit of a speed, empty where the name does not say it; None for what is no speed."""
    whole = " ".join(parts)
    if whole in _SPEEDS:
        return _SPEEDS[whole]
    if name.lower().endswith(("/s", "/sec", "/second")):
        return name_unit(name.rpartition("/")[0].rpartition("/")[2].lower())
    for ending in (" per second", " per sec"):
        if whole.endswith(ending):
            return name_unit(whole.removesuffix(ending).split()[-1])
    return None


def read_rate(number: float, unit: str) -> tuple[float, str] | None:
    """`12 ms/step` -> 83.3 it/s; `3.6 it/s` as it is. None for bytes, and for operations of a processor: of a download
    or a device."""
    what, _, per = unit.partition("/")
    if per.startswith("s") and per not in ("step", "sample"):
        return None if is_foreign_rate(what) else (number, name_unit(what))
    if number <= 0:
        return None
    scale = {"ms": 1e3, "us": 1e6}.get(what, 1.0)
    return scale / number, "samples/s" if per == "sample" else "it/s"


def measures_machine(name: str) -> bool:
    """Whether the name is that of a time or of memory that may be watched, such as `max mem` and `batch_cost`."""
    return bool(_MACHINE & set(normalize(name).split()))


def is_pace(name: str) -> bool:
    """Whether the name says how long a step takes: `ms/batch`."""
    return _PACES.fullmatch(name) is not None


def is_foreign_rate(what: str) -> bool:
    return bool(re.fullmatch(r"[kKMGTP]?i?[bB](?:ytes?)?|\w*flops?|bits?", what, re.IGNORECASE)) and what not in ("it",)


def name_unit(what: str) -> str:
    return f"{_LONG.get(what, what)}/s" if what else ""
