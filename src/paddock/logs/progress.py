"""A line of a training program's log -> the numbers in it, in the forms that training programs print. Pure.

    Worker 0: Epoch 1, Batch 100, Loss 0.5
    epoch 1  step 100/400  loss 0.5213                         <- what Paddock's own programs print
    epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s                                 <- PaddleRec
    Epoch 0:  45%|████ | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]                                     <- tqdm
    45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9                                     <- Keras
    {"epoch": 1, "step": 300, "loss": 0.5}

A line is read as words and numbers (`line_tokens`): a number belongs to the name before it. What is unknown is kept
with its name, or passed over, and takes nothing away from what is known. But a wrong number is worse than none:

- A sentence is no progress (words as `the` and `was`, many words without a number, an error).
- The loss of an evaluation is another curve: `val_loss`. What it says of its own steps and speed is left out.
- Times, memory, and what a program was told (`loss_weight`, `best loss`) are no metrics.

`LineReader` reads the lines of one log in order, as some say what the next ones mean (`Eval begin...`, `Epoch 3/10`,
the head of a table); `Latest` keeps the last number of each name. Why nothing was read: `nearest_line`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.logs.line_tokens import read_tokens, without_colours
from paddock.logs.number_names import (
    COUNTS,
    EVALUATIONS,
    OTHER_READINGS,
    TRAININGS,
    Meaning,
    is_foreign_rate,
    is_pace,
    name_unit,
    normalize,
    read_name,
    read_rate,
)


@dataclass(frozen=True, slots=True)
class Progress:
    """The numbers of one line, or the last ones of a log."""

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
    val_loss: float | None = None
    """Of an evaluation."""
    val_accuracy: float | None = None
    """Of an evaluation, like `accuracy`."""
    lr: float | None = None
    """The learning rate."""
    grad_norm: float | None = None
    """The norm of all gradients."""
    others: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Further numbers by their names as printed, at most `MOST_OTHERS`, all of them finite."""

    @property
    def trains(self) -> bool:
        """Whether a number is the training's own; else an evaluation found them all."""
        return any(number is not None for number in (self.loss, self.accuracy, self.speed, self.step))


EXAMPLES = (
    "epoch 1  step 100/400  loss 0.5213",
    "Epoch [10/100], Loss: 1.1248, val_loss: 1.31",
    "step=10 loss=0.5 accuracy=0.93 lr=0.001 samples/s=120.5",
    "epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s",
    "45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9",
    "Epoch 0:  45%|████▌     | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]",
    '{"epoch": 1, "step": 300, "loss": 0.5}',
)
"""Forms for a reader whose lines are not read."""
METRICS = ("loss", "val_loss", "accuracy", "val_accuracy", "lr", "grad_norm")
"""The fields of `Progress` that are numbers of the training itself."""
PLACES = ("epoch", "epochs", "step", "steps")
LONGEST_LINE = 2_000
"""Characters of a line that is read."""
MOST_OTHERS = 64
LONGEST_NAME = 64
_MOST_NUMBERS = 100
_MOST_WORDS = 12
"""Words that belong to no number: a line with more is a sentence."""
_MOST_BARE_WORDS = 3
"""The same for a line with a loss alone, that says neither epoch nor step."""
_LARGEST = 1e300
"""Of a number in JSON, whose integers have any length."""
_MOST_COUNT = 10**12

_LOSS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|NaN|[-+]?inf"
_COMMON = re.compile(
    r"(?:Worker (?P<rank>\d{1,6}): )?(?:[Ee]poch:? \[?(?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9}))?\]?,? +)?"
    r"(?:(?:[Ss]tep|Batch):? \[?(?P<step>\d{1,12})(?:/(?P<steps>\d{1,12}))?\]?,? +)?"
    rf"[Ll]oss ?[:=]? ?(?P<loss>{_LOSS})"
)
"""The commonest lines, in a quarter of the time that the grammar takes; it would read the same."""
_PROSE = frozenset(
    {
        "the", "is", "are", "was", "were", "that", "this", "these", "has", "have", "had", "not", "cannot", "because",
        "should", "must", "if", "which", "will", "would", "than", "but", "we", "you", "did", "does", "wrong",
    }
)  # fmt: skip
_ERROR = re.compile(r"[A-Z]\w*(?:Error|Exception|Warning)")
_ERRORS = ("error", "exception", "traceback")
_LEVELS = frozenset({"INFO", "DEBUG", "WARN", "WARNING", "TRAIN", "NOTICE"})
_LISTED = re.compile(r"\s*\[ ?(?P<epoch>\d{1,9}),\s{1,12}(?P<step>\d{1,12})\]\s")
"""`[1,  2000] loss: 2.212`, of PyTorch's tutorials."""
_ROUND = re.compile(r"(?:\[\d\d:\d\d:\d\d\] )?\[(?P<step>\d{1,9})\]\s{1,4}(?=[A-Za-z_]\w{0,40}(?:-[a-z]|'s ))")
"""`[10]\ttrain-rmse:0.1`, of XGBoost and LightGBM. Others have a rank in brackets: `[0] epoch 1 loss 0.5`."""
_EPOCH_LINE = re.compile(
    r"\s{0,8}(?:Train )?[Ee]poch:? {0,4}\[?(?P<epoch>\d{1,9})(?: ?/ ?(?P<epochs>\d{1,9}))?\]?[\s:.]{0,4}"
)
_CHINESE_COUNT = re.compile(r"第 ?(\d{1,9}) ?(轮|步|次)")
_SIGNS = (
    "loss", "cost", "/s", "acc", "auc", "ips", "/it", "mse", "mae:", "error:", "ndcg", "ppl", "persec", "map:", "miou",
    "损失", "准确率",
)  # fmt: skip
"""Of each form of a metric, in small letters."""
_WORKS = frozenset(
    f"{each}/s" for each in ("it", "samples", "images", "tokens", "step", "steps", "batches", "examples", "sequences")
)
"""Units of a speed that may stand with a step alone: files and bytes do as well while data is fetched."""


def read_progress(line: str) -> Progress | None:
    """The progress in `line`, or None. Of the lines of a whole log, `LineReader` knows more."""
    return _read(line)[0] if may_have_progress(line) else None


def may_have_progress(line: str) -> bool:
    """Whether a word of some form is in the line: an ordinary one costs little, as a script may print a gigabyte."""
    small = line.lower()
    for sign in _SIGNS:  # noqa: SIM110  # a generator takes twice the time
        if sign in small:
            return True
    return False


def _read(line: str) -> tuple[Progress | None, bool]:
    """The second: an evaluation printed the line, and says so."""
    text = without_colours(line).strip()
    if len(text) > LONGEST_LINE or "://" in text or "\0" in text:
        return None, False
    if (common := _COMMON.fullmatch(text)) is not None and (common["epoch"] or common["step"]):
        found = common.groupdict()
        loss = float(found.pop("loss"))
        counts = {name: int(count) for name, count in found.items() if count}
        return Progress(loss=loss, **counts), False  # type: ignore[arg-type]
    if text.startswith("{"):
        if not text.endswith("}"):
            return None, False
        if (read := _read_json(text)) is not None:
            return read, False
    scan = scan_line(text)
    return scan.judge(), scan.evaluates


class Scan:
    """The numbers of one line as they are found; the first of a name counts."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.metrics: dict[str, float] = {}
        self.others: dict[str, float] = {}
        self.unit = ""
        self.evaluates = False
        """A label says so: `[Eval]`, `Test:`."""
        self.is_prose = False
        self.has_bar = False
        self.loose_words = 0
        """That belong to no number."""
        self.numbers = 0
        self._trains = False
        self._of_evaluation = False
        """The last name said so, by a word of its own: `Val Loss 0.5 Acc 0.9`."""
        self._has_score = False
        self._is_sure = False
        """The loss has a `:` or `=`, and a point: `loss: 0.5`."""
        self._is_bare = False
        """The step has no name: it may be an evaluation's."""
        self._steps: float | None = None
        """Of a name that counts all steps in some programs, those done in others."""
        self._named_losses: list[tuple[str, float]] = []

    # What a line says, piece by piece

    def take(self, words: Sequence[str], number: float, total: int | None, unit: str, signed: bool) -> None:
        """A number with the words before it, the last of which may be its name."""
        self.numbers += 1
        self.is_prose = self.is_prose or (len(words) > 1 and words[0].lower() in _ERRORS)
        first = normalize(words[0])
        for size in range(min(3, len(words)), 0, -1):
            name = " ".join(words[-size:])
            before = normalize(words[-size - 1]) if len(words) > size else ""
            if self._take_count(name, before, number, total, unit, signed):
                self.evaluates = self.evaluates or (first in EVALUATIONS and len(words) > size)
                self.loose_words += len(words) - size
                return
            if self._take_known(name, before, number, total, unit, signed):
                self.loose_words += len(words) - size
                return
        self._take_other(words, number, unit, signed)

    def _take_count(self, name: str, before: str, number: float, total: int | None, unit: str, signed: bool) -> bool:
        """Whether the name counts epochs, steps or ranks. `before`: the word before it."""
        known = normalize(name)
        if (count := COUNTS.get(known)) is not None:
            if before not in OTHER_READINGS and unit in ("", "%") and not (count == "rank" and total):
                self.count(count, number, total)
        elif known == "steps" and total is None and signed:
            self._steps = number
        elif known in TRAININGS | EVALUATIONS and not before and total is not None:
            self.label([name])  # `Test: [ 10/196]`
            self.count_bare(number, total)
        elif known == "train" and not before and signed and number.is_integer():
            self._trains = True  # timm: `Train: 0 [  0/1251 (  0%)]`
            self.count("epoch", number, None)
        elif is_pace(name):
            self.pace(number, name)
        else:
            return False
        return True

    def _take_known(self, name: str, before: str, number: float, total: int | None, unit: str, signed: bool) -> bool:
        """Whether the name is that of a metric of each training."""
        meaning = read_name(name)
        if meaning.kind in ("other", "noise", "score"):
            return False
        if before in OTHER_READINGS or (unit not in ("", "%") and meaning.kind != "speed"):
            return True
        of_evaluation = meaning.evaluates or before in EVALUATIONS
        if meaning.kind == "loss":
            self._take_loss(meaning, before, of_evaluation, number, signed)
        elif meaning.kind == "accuracy":
            of_evaluation = of_evaluation or (self._of_evaluation and not meaning.trains)
            share = number / 100 if unit == "%" else number / total if total and number <= total else number
            self.metrics.setdefault("val_accuracy" if of_evaluation else "accuracy", share)
        elif meaning.kind in ("lr", "grad_norm"):
            self.metrics.setdefault(meaning.kind, number)
        elif not of_evaluation:
            self._take_speed(number, meaning.unit, unit)
        self._of_evaluation = self._of_evaluation or (of_evaluation and "_" not in name and "/" not in name)
        return True

    def _take_other(self, words: Sequence[str], number: float, unit: str, signed: bool) -> None:
        """A number that no training must have, with the whole name that it was printed with."""
        name = " ".join(words[-4:])
        meaning = read_name(name)
        if unit not in ("", "%") or meaning.kind == "noise" or OTHER_READINGS & set(normalize(name).split()):
            return
        is_score = meaning.kind == "score" and read_name(words[-1]).kind == "score"
        is_name = signed or is_score or (len(words) == 1 and len(name) > 1 and name.isascii())
        # A name that cannot be shown, such as half of a character, can be stored nowhere.
        is_name = is_name and name.isprintable() and len(name) <= LONGEST_NAME
        if not is_name or not math.isfinite(number) or len(self.others) >= MOST_OTHERS:
            self.loose_words += len(words)
            return
        self.others.setdefault(name, number)
        self._has_score = self._has_score or meaning.kind == "score"

    def _take_loss(self, meaning: Meaning, before: str, of_evaluation: bool, number: float, signed: bool) -> None:
        if not of_evaluation and before and not meaning.trains and before not in TRAININGS and not meaning.is_cost:
            self._named_losses.append((before, number))  # `box loss 0.5`, or `done loss 0.5`: see `judge`
            return
        name = "val_loss" if of_evaluation else "loss"
        if name not in self.metrics:
            self._is_sure = self._is_sure or (
                signed and not meaning.is_cost and not (math.isfinite(number) and number.is_integer())
            )
        self.metrics.setdefault(name, number)

    def _take_speed(self, number: float, said: str, unit: str) -> None:
        what = unit.partition("/")[0]
        if "speed" in self.metrics or is_foreign_rate(what) or (unit and "/s" not in unit):
            return
        self.metrics["speed"], self.unit = number, name_unit(what) or said

    def count(self, name: str, number: float, total: int | None) -> None:
        if name in self.counts or not math.isfinite(number) or not number.is_integer() or not 0 <= number < _MOST_COUNT:
            return
        self.counts[name] = int(number)
        if total and name in ("epoch", "step"):
            self.counts[f"{name}s"] = total

    def count_bare(self, done: float, total: int) -> None:
        """`45/100` without a name."""
        self._is_bare = self._is_bare or "step" not in self.counts
        self.count("step", done, total)

    def pace(self, number: float, unit: str) -> None:
        if "speed" not in self.metrics and (rate := read_rate(number, unit)) is not None:
            self.metrics["speed"], self.unit = rate

    def label(self, words: Sequence[str]) -> None:
        """Words that are followed by no number."""
        first = normalize(words[0]) if words else ""
        self._trains = self._trains or first in TRAININGS
        self.evaluates = self.evaluates or (first in EVALUATIONS and len(words) <= 4)
        self.loose_words += len(words)

    # What it comes to

    @property
    def _has_place(self) -> bool:
        return self._trains or "epoch" in self.counts or "step" in self.counts

    @property
    def is_a_sentence(self) -> bool:
        """Whether words say more than numbers."""
        return self.is_prose or self.loose_words > (_MOST_WORDS if self._has_place else _MOST_BARE_WORDS)

    def judge(self) -> Progress | None:
        """A metric with its place, or a loss that stands alone as `loss: 0.5`."""
        if self._steps is not None and not self.counts.keys() & {"step", "epoch"}:
            self.count("step", self._steps, None)
        has_place = self._has_place
        if self.is_a_sentence:
            return None
        self._place_losses(has_place)
        if self.evaluates:
            self._move_to_evaluation()
        if self.numbers > _MOST_NUMBERS or not self._is_enough(has_place):
            return None
        return Progress(**self.counts, **self.metrics, unit=self.unit, others=self.others)  # type: ignore[arg-type]

    def _is_enough(self, has_place: bool) -> bool:
        known = self.metrics.keys() & {"loss", "val_loss", "accuracy", "val_accuracy"}
        if not has_place and not self.evaluates:
            return self._is_sure and bool(known & {"loss", "val_loss"})
        if known or self._has_score:
            return True
        if "speed" not in self.metrics or not self.counts.keys() & {"epoch", "step"}:
            return False
        if self.has_bar:
            return "epoch" in self.counts  # a bar without a name counts anything: shards, files
        return self.unit in _WORKS and self.loose_words <= 2

    def _place_losses(self, has_place: bool) -> None:
        """One loss with an unknown word before it is the loss; of several, each is one part of it."""
        if has_place and len(self._named_losses) == 1 and "loss" not in self.metrics:
            self.metrics["loss"] = self._named_losses[0][1]
            return
        for word, number in self._named_losses:
            if math.isfinite(number) and len(self.others) < MOST_OTHERS:
                self.others.setdefault(f"{word} loss", number)
                self._has_score = True

    def _move_to_evaluation(self) -> None:
        """The numbers of a line that an evaluation printed; its steps and its speed are no training's."""
        for name in ("loss", "accuracy"):
            if name in self.metrics:
                self.metrics.setdefault(f"val_{name}", self.metrics.pop(name))
        self.metrics.pop("speed", None)
        self.unit = ""
        if self._is_bare or "steps" in self.counts:
            self.counts.pop("step", None)
            self.counts.pop("steps", None)


class _Walk:
    """The tokens of a line, put together: words wait for their number."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.words: list[str] = []
        self.signed = False
        self._is_wide = False
        self._skip = 0
        """Open parentheses whose content is passed over."""
        self._held: list[tuple[list[str], bool]] = []
        """The words before each open parenthesis."""
        self._is_wrapped = False
        self._told: list[str] = []
        """What a number is of that comes behind its place: `Loss at step 100: 0.5`."""
        self._end = -1
        """Of the last word or number."""

    def walk(self, text: str) -> None:
        for token in read_tokens(text):
            kind = token.lastgroup
            if self._skip:
                self._pass_over(kind, token)
            elif kind is not None:
                self._take(kind, token)
        self.flush()

    def _pass_over(self, kind: str | None, token: re.Match[str]) -> None:
        self._skip += (kind in ("open", "wrap")) - (kind == "close")
        if kind == "word" and len(self.words) == 1 and token["word"].lower() in EVALUATIONS:
            self.scan.evaluates = True  # `Epoch(val) [1][10/40]`

    def _take(self, kind: str, token: re.Match[str]) -> None:
        if kind in ("word", "counted"):
            self._take_word(token[kind].rstrip("-"), token.end())
        elif kind == "sign":
            self.words, self._told = self.words or self._told, []
            self.signed = bool(self.words)
        elif kind in ("number", "unit"):
            self._take_number(float(token["number"].replace(",", "")), None, token["unit"] or "", token.end())
        elif kind == "of":
            self._take_number(float(token["done"]), int(token["of"]), "", token.end())
        elif kind == "what":
            self._take_rate(float(token["rate"].replace(",", "")), token["what"], token.end())
        elif kind == "wrap":
            self._is_wrapped = True
        elif kind == "open":
            self._open(token.start(kind))
        elif kind == "close" and self._held:
            self.flush()
            self.words, self.signed = self._held.pop()
        elif kind == "bar":
            self.scan.has_bar = self.scan.has_bar or "%" in token["bar"]
            self.flush()
        elif kind in ("time", "date", "junk", "comma"):
            self.words, self.signed = [], False
        elif kind == "stop":
            self.flush()
        elif kind == "gap":
            self._is_wide = bool(self.words)

    def _take_word(self, word: str, end: int) -> None:
        small, self._told = word.lower(), []
        if small == "is" and self.words and read_name(self.words[-1]).kind == "loss":
            return  # MindSpore: `epoch: 1 step: 10, loss is 0.2`
        if small in _PROSE or _ERROR.fullmatch(word):
            self.scan.is_prose = True
        if self._is_wide or self.signed or word in _LEVELS:
            self.flush()
        if word not in _LEVELS:
            self.words.append(word)
        self._end = end

    def _take_number(self, number: float, total: int | None, unit: str, end: int) -> None:
        if self.words:
            if not self._held or self.signed:
                self.scan.take(self.words, number, total, unit, self.signed)
            self._told = _find_told(self.words)
        elif total is not None and not self._held:
            self.scan.count_bare(number, total)
        self.words, self.signed, self._is_wide, self._end = [], False, False, end
        if self._is_wrapped:
            self._is_wrapped, self._skip = False, 1

    def _take_rate(self, number: float, what: str, end: int) -> None:
        if self.words and read_name(self.words[-1]).kind == "speed":
            self.scan.take(self.words, number, None, what, self.signed)
        elif not self._held and not (self.words and read_name(" ".join(self.words[-2:])).evaluates):
            self.scan.pace(number, what)
        self.words, self.signed, self._is_wide, self._end = [], False, False, end

    def _open(self, start: int) -> None:
        """`lr(Cosine): 0.1`, `1.5GiB(5%)` and `Namespace(lr=0.1)` are passed over; ` (loss=0.5)` is read."""
        if start == self._end:
            self._skip = 1
        elif len(self._held) < 8:
            self._held.append((self.words, self.signed))
            self.words, self.signed = [], False

    def flush(self) -> None:
        """The words so far are followed by no number."""
        self._told = []
        if self.words and not self._held:
            if self.words[0].lower() in _ERRORS:
                self.scan.is_prose = True
            self.scan.label(self.words)
        self.words, self.signed, self._is_wide = [], False, False


def _find_told(words: Sequence[str]) -> list[str]:
    """`Loss` of `Loss at step`; empty for other words."""
    if len(words) < 3 or words[-2].lower() not in ("at", "after", "in", "for") or normalize(words[-1]) not in COUNTS:
        return []
    return list(words[:-2]) if read_name(" ".join(words[-4:-2])).kind in ("loss", "accuracy") else []


def scan_line(text: str) -> Scan:
    """What the words and numbers of a line say. `text`: without colours, at most `LONGEST_LINE` characters."""
    scan = Scan()
    if listed := _LISTED.match(text):
        scan.counts = {"epoch": int(listed["epoch"]), "step": int(listed["step"])}
    elif listed := _ROUND.match(text):
        scan.counts = {"step": int(listed["step"])}
    if "第" in text:
        text = _CHINESE_COUNT.sub(lambda found: f"{'epoch' if found[2] == '轮' else 'step'} {found[1]}, ", text)
    _Walk(scan).walk(text)
    return scan


def _read_json(text: str) -> Progress | None:
    """The progress in an object with numbers, also those one level down; its other values do not matter."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read_numbers(found).judge()


def read_numbers(found: object) -> Scan:
    """The numbers of an object that JSON wrote; a text that is a number is one, as fairseq writes them."""
    scan = Scan()
    for name, value in _items(found):
        if (number := _number(value)) is not None:
            scan.take([name], number, None, "", True)
    scan.loose_words = 0
    return scan


def _items(found: object) -> Iterable[tuple[str, object]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        yield name, value
        if isinstance(value, dict):
            yield from ((inner, each) for inner, each in value.items() if isinstance(inner, str))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > 40 or not value[:1].strip("+-.").isdecimal()):
        return None
    try:
        return None if abs(float(value)) > _LARGEST and math.isfinite(float(value)) else float(value)
    except (ValueError, OverflowError):
        return None


# Lines in their order


class LineReader:
    """Reads the lines of one log in their order."""

    def __init__(self) -> None:
        self._epoch: dict[str, int] = {}
        """Of a line of its own (`Epoch 3/10`: Keras, PaddlePaddle's hapi)."""
        self._evaluates = False
        self._last = Progress()
        """Where the training stood."""
        self._columns: list[str] = []

    def may_read(self, line: str) -> bool:
        """Whether `read` could make anything of the line: an ordinary one costs little."""
        return may_have_progress(line) or (len(line) < 400 and (bool(self._columns) or _may_tell(line)))

    def read(self, line: str) -> Progress | None:
        """The progress in the next line, or None."""
        if not self.may_read(line):
            return None
        if len(line) < 400 and self._is_told(line):
            return None
        found, evaluates = (
            self._read_row(line) if self._columns and line[:40].lstrip()[:1].isdecimal() else (None, False)
        )
        if found is None:
            found, evaluates = _read(line)
        if found is None:
            return None
        self._evaluates = self._evaluates and not self._goes_on(found)
        if self._evaluates and not evaluates:
            found = _evaluated(found)
        elif found.step is not None:
            self._last = found
        return replace(found, **self._epoch) if self._epoch and found.epoch is None else found  # type: ignore[arg-type]

    def _goes_on(self, found: Progress) -> bool:
        """Whether a line that follows `Eval begin...` is one of the training: not all programs say when it is over."""
        last = self._last.step
        later = last is not None and found.step is not None and found.step > last and found.steps == self._last.steps
        return later or found.lr is not None

    def _is_told(self, line: str) -> bool:
        """Whether the line has no number of its own, and says what the next ones mean."""
        text = without_colours(line).strip()
        if told := _EPOCH_LINE.fullmatch(text) if "poch" in text else None:
            self._epoch = {name: int(count) for name, count in told.groupdict().items() if count}
            self._evaluates = False
        elif text == "Eval begin...":  # hapi
            self._evaluates = True
        elif text.startswith(("Eval samples:", "Predict begin...")):
            self._evaluates = False
        elif (columns := text.split()) and _is_head(columns):
            self._columns = columns
        else:
            return False
        return True

    def _read_row(self, line: str) -> tuple[Progress | None, bool]:
        """A row of a table whose head was printed (ultralytics, fastai)."""
        scan = Scan()
        cells = without_colours(line).split()
        if len(cells) < len(self._columns) and len(cells) < 3:
            return None, False
        for name, cell in zip(self._columns, cells, strict=False):
            done, _, of = cell.rstrip(":").partition("/")
            number = _number(done)
            if number is None and name in COUNTS:
                return None, False
            if number is not None:
                scan.take([name], number, int(of) if of.isdecimal() and len(of) < 10 else None, "", True)
        return scan.judge(), False


def _may_tell(line: str) -> bool:
    return "poch" in line or line.startswith(("Eval ", "Predict "))


def _is_head(columns: Sequence[str]) -> bool:
    """`Epoch GPU_mem box_loss cls_loss dfl_loss Instances Size`; `epoch train_loss valid_loss accuracy time`."""
    if not 3 <= len(columns) <= 20 or columns[0].lower() not in ("epoch", "step", "iter"):
        return False
    return not any(char.isdigit() or char in ":=,.|" for column in columns for char in column) and any(
        "loss" in column.lower() for column in columns
    )


def _evaluated(found: Progress) -> Progress:
    """What an evaluation printed in the form of the training's lines."""
    return Progress(
        epoch=found.epoch, epochs=found.epochs, rank=found.rank,
        val_loss=found.val_loss if found.loss is None else found.loss,
        val_accuracy=found.val_accuracy if found.accuracy is None else found.accuracy,
        others=found.others,
    )  # fmt: skip


def merge(before: Progress, found: Progress) -> Progress:
    """The last number of each name. A line of an evaluation alone leaves the training where it stood."""
    place = found if found.trains or before.epoch is None or before.loss is None else before
    kept = {name: getattr(found, name) for name in METRICS if getattr(found, name) is not None}
    others = {**before.others, **found.others}
    return replace(
        before,
        **{name: getattr(place, name) for name in PLACES},
        **kept,
        rank=before.rank if found.rank is None else found.rank,
        speed=before.speed if found.speed is None else found.speed,
        unit=before.unit if found.speed is None else found.unit,
        others=dict(list(others.items())[-MOST_OTHERS:]),
    )


class Latest:
    """The last number of each name in one log. Feed its lines in order."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        """None before the first number."""
        self._reader = LineReader()

    def feed(self, lines: Iterable[str]) -> None:
        for line in lines:
            if (found := self._reader.read(line)) is not None:
                self.progress = merge(self.progress or Progress(), found)


def find_latest(lines: Sequence[str], most: int = 400) -> Progress | None:
    """The last number of each name; of a long log, in the last `most` lines that may have one."""
    reader, latest = LineReader(), Latest()
    wanted: list[str] = []
    for line in reversed(lines):
        if len(wanted) >= most:
            break
        if reader.may_read(line):
            wanted.append(line)
    # Rows of a table have no word of a metric: where one was begun, every line counts.
    if any(_is_head(line.split()) for line in wanted if len(line) < 400):
        latest.feed(lines[-most:])
    else:
        latest.feed(reversed(wanted))
    return latest.progress
