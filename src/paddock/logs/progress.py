"""A line of a training program's log -> the numbers in it, in the forms that training programs print. Pure.

    Worker 0: Epoch 1, Batch 100, Loss 0.5
    Epoch [10/100], Step [5/400], Loss: 1.1248
    step12 cost=0.693100
    epoch 1  step 100/400  loss 0.5213                         <- what Paddock's own programs print
    epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s                                 <- PaddleRec
    [2022/05/18 11:53:09] ppcls INFO: [Train][Epoch 1/120][Iter: 0/2502]lr: 0.1, loss: 7.0, ips: 12.3 samples/s
    Epoch 0:  45%|████ | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]                                     <- tqdm
    45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9                                     <- Keras
    {"epoch": 1, "step": 300, "loss": 0.5}

A line is read as a whole: what a logger puts before it, then items (a name with its number, a bar, a time) and nothing
else. So a sentence that has a loss in it is ignored, and so is the loss of an evaluation (`val_loss`), which is another
curve: a wrong number on the screen is worse than none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from paddock.logs.number_names import COUNTS, is_accuracy, is_loss, normalize, read_rate, read_speed_name


@dataclass(frozen=True, slots=True)
class Progress:
    """The numbers of one line."""

    epoch: int | None = None
    """As printed, counted from 0 or 1 as the program does."""
    epochs: int | None = None
    step: int | None = None
    """As printed, like `epoch`."""
    steps: int | None = None
    loss: float | None = None
    rank: int | None = None
    accuracy: float | None = None
    """Or the area under a curve (AUC); a percentage is divided by 100."""
    speed: float | None = None
    """Of `unit` a second."""
    unit: str = ""
    """`it/s`, `samples/s`, …; one that the program does not say is empty."""


EXAMPLES = (
    "epoch 1  step 100/400  loss 0.5213",
    "Epoch [10/100], Loss: 1.1248",
    "step=10 loss=0.5 accuracy=0.93 samples/s=120.5",
    "epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s",
    "45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9",
    "Epoch 0:  45%|████▌     | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]",
    '{"epoch": 1, "step": 300, "loss": 0.5}',
)
"""Forms for a reader whose lines are not read."""
_LONGEST_LINE = 1_000
_MOST_ITEMS = 40
_LARGEST = 1e300
"""Of a number in JSON, whose integers have any length."""
_FLAT = str.maketrans(dict.fromkeys("[]{}'\"", " "))
"""Brackets and quotes only group: they separate as spaces do."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|NaN|[-+]?inf"
_RATE = r"(?:(?:it|iter|sample|image|img|token|step|batch|batche|in|example|sequence|record|word)s?)/s(?:ec(?:ond)?)?"
_PACE = r"m?s/(?:it|iter|step|batch|sample)"
_TIME = r"(?:\d+ days?, ?)?\d+:\d\d(?::\d\d)?"
_END = r"(?=[\s,;|:)]|$)"
_LEVEL = r"(?:INFO|DEBUG|WARN|WARNING|TRAIN)\b"

_HEAD = re.compile(
    rf"(?:(?:\d{{2,4}}[-/]\d\d(?:[-/]\d\d)?[T ]?|\d\d:\d\d:\d\d(?:[.,]\d+)?Z?|[+-]\d\d:?\d\d(?=\s)|I\d{{4}}(?=\s)"
    rf"|{_LEVEL}(?::[\w.]+(?=:))?|[\w.]+\.py:\d+|[A-Za-z_][\w.]*(?=[\s:|-]+{_LEVEL}))[\s:|-]+)+"
)
_GAP = re.compile(r"(?:[\s,;|:]|-(?=\s))*")
_ITEM = re.compile(
    rf"(?P<bar>\d{{1,3}}%\|[^|]*\||[=>.]{{3,}}|[━╸╺]+)"
    rf"|(?P<time>{_TIME}(?:<[\d:?]+)?){_END}"
    rf"|(?P<rate>{_NUMBER}) ?(?P<rate_unit>{_RATE}|{_PACE}){_END}"
    rf"|(?P<done>\d{{1,12}})\s*/\s*(?P<of>\d{{1,12}})(?: \(\d+%\))?{_END}"
    rf"|(?P<spent>\d+(?:ms|us|s|m)){_END}"
    r"|(?P<train>(?:[Tt]rain(?:ing)?|TRAIN))(?=\s)(?!\s+\w+\s*[:=])"
    r"|(?P<name>[Ee]poch(?:\(train\))?|EPOCH|[Ss]tep|[Ii]ter(?:ation)?|[Bb]atch|[Ll]oss|cost|[Ww]orker|[Rr]ank"
    r"|(?:Train|train) [Ee]poch|[Aa]cc(?:@\d|uracy)?|[Aa]uc|AUC|[Tt]ime|Data|mfu|[Ss]peed|ips"
    r"|lr|LR|learning[ _]rate|grad[ _]norm|ppl"
    r"|(?:[Vv]al(?:id(?:ation)?)?|[Ee]val|[Tt]est)[ _](?:[Ll]oss|[Aa]cc(?:uracy)?))"
    rf"(?P<sign> ?[:=] *)?\s*(?P<number>{_NUMBER})(?:\s*/\s*(?P<total>\d{{1,12}}))?"
    rf" ?(?P<unit>%|[mu]?s|{_RATE})?(?: +\( *(?:{_NUMBER})%?\))?{_END}"
    r"|(?P<key>[A-Za-z_][\w@/]*(?: [A-Za-z]\w*){0,4}(?: ?\(\w*\))?) *[:=] *"
    rf"(?:(?:{_TIME}){_END}|(?P<value>{_NUMBER})(?:\s*/\s*(?P<value_total>\d{{1,12}}))?"
    rf" ?(?P<value_unit>%|[mu]?s|secs?|[KMGT]i?B|{_RATE}|{_PACE})?(?: +\( *(?:{_NUMBER})%?\))?{_END})"
)


_COMMON = re.compile(
    r"(?:Worker (?P<rank>\d{1,6}): )?(?:[Ee]poch:? \[?(?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9}))?\]?,? +)?"
    r"(?:(?:[Ss]tep|Batch):? \[?(?P<step>\d{1,12})(?:/(?P<steps>\d{1,12}))?\]?,? +)?"
    rf"[Ll]oss ?[:=]? ?(?P<loss>{_NUMBER})"
)
"""The commonest lines, in a quarter of the time that the grammar takes; it would read the same."""


def read_progress(line: str) -> Progress | None:
    """The progress in `line`, or None."""
    if not may_have_progress(line) or len(line) > _LONGEST_LINE:
        return None
    text = line.strip()
    if (common := _COMMON.fullmatch(text)) is not None and (common["epoch"] or common["step"]):
        found = common.groupdict()
        loss = float(found.pop("loss"))
        counts = {name: int(count) for name, count in found.items() if count}
        return Progress(loss=loss, **counts)  # type: ignore[arg-type]
    if text.startswith("{"):
        if not text.endswith("}"):
            return None
        if (read := _read_json(text)) is not None:
            return read
    numbers = _Numbers()
    return numbers.judge() if _scan(text.translate(_FLAT), numbers) else None


def may_have_progress(line: str) -> bool:
    """Whether a word of some form is in the line: an ordinary one costs little, as a script may print a gigabyte."""
    return (
        "oss" in line or "cost" in line or "it/s" in line or "s/s" in line or "ips" in line
        or "acc" in line or "Acc" in line or "auc" in line or "AUC" in line or "/it" in line
    )  # fmt: skip


class _Numbers:
    """Items of one line as they are found; the first of a name counts."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.metrics: dict[str, float] = {}
        self.unit = ""
        self.is_signed = False
        """Whether the loss has a `:` or `=`, and a point: `loss: 0.5`."""
        self.is_cost = False
        self.is_training = False
        """Whether a bar or the line says what it counts."""

    def take(self, name: str, number: float, total: int | None, unit: str, signed: bool) -> None:
        known = normalize(name)
        if (count := COUNTS.get(known)) is not None:
            self.count(count, number, total)
        elif is_loss(known):
            self.metrics.setdefault("loss", number)
            self.is_cost = known == "cost"
            self.is_signed = signed and (not number.is_integer() if math.isfinite(number) else True)
        elif is_accuracy(known):
            self.metrics.setdefault("accuracy", number / 100 if unit == "%" else number)
        elif (said := read_speed_name(known, unit)) is not None and "speed" not in self.metrics:
            self.metrics["speed"], self.unit = number, said

    def count(self, name: str, number: float, total: int | None) -> None:
        if name in self.counts or not math.isfinite(number) or not number.is_integer() or number < 0:
            return
        self.counts[name] = int(number)
        if total and name in ("epoch", "step"):
            self.counts[f"{name}s"] = total

    def pace(self, number: float, unit: str) -> None:
        if "speed" not in self.metrics and (rate := read_rate(number, unit)) is not None:
            self.metrics["speed"], self.unit = rate

    def judge(self) -> Progress | None:
        """A loss with its place, or that stands alone as `loss: 0.5`; else a place and another number."""
        has_place = self.is_training or "epoch" in self.counts or "step" in self.counts
        if "loss" in self.metrics:
            enough = has_place or (self.is_signed and not self.is_cost)
        else:
            enough = has_place and bool(self.metrics) and ("step" in self.counts or "epoch" in self.counts)
        return Progress(**self.counts, **self.metrics, unit=self.unit) if enough else None  # type: ignore[arg-type]


def _scan(text: str, numbers: _Numbers) -> bool:
    """Whether the whole text is items."""
    place, bar = _GAP.match(text).end(), False  # type: ignore[union-attr]  # it matches nothing, too
    if head := _HEAD.match(text, place):
        place = head.end()
    items = 0
    while (place := _GAP.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        item, items = _ITEM.match(text, place), items + 1
        if item is None or items > _MOST_ITEMS:
            return False
        bar = bar or "%|" in (item["bar"] or "")
        _take(item, numbers)
        place = item.end()
    return not bar or bool(numbers.metrics.keys() - {"speed"}) or "epoch" in numbers.counts


def _take(item: re.Match[str], numbers: _Numbers) -> None:
    if item["name"] or (item["key"] and item["value"]):
        kind = ("name", "number", "total", "unit") if item["name"] else ("key", "value", "value_total", "value_unit")
        name, number, total, unit = (item[each] or "" for each in kind)
        signed = bool(item["key"] or item["sign"])
        numbers.take(name, float(number), int(total) if total else None, unit, signed)
    elif item["rate"]:
        numbers.pace(float(item["rate"]), item["rate_unit"])
    elif item["done"]:
        numbers.count("step", float(item["done"]), int(item["of"]))
    elif item["train"]:
        numbers.is_training = True


def _read_json(text: str) -> Progress | None:
    """The progress in an object with numbers; its other values do not matter."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    numbers = _Numbers()
    for name, number in _items(found):
        if isinstance(number, int | float) and not isinstance(number, bool) and not abs(number) > _LARGEST:
            numbers.take(name, float(number), None, "", True)
    return numbers.judge()


def _items(found: object) -> Iterable[tuple[str, object]]:
    return found.items() if isinstance(found, dict) else ()
