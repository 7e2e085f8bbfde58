"""A line of a training program's log -> the numbers in it, in the forms that training programs print. Pure.

    Worker 0: Epoch 1, Batch 100, Loss 0.5
    epoch 1  step 100/400  loss 0.5213                         <- what Paddock's own programs print
    epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s                                 <- PaddleRec
    Epoch 0:  45%|████ | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]                                     <- tqdm
    45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9                                     <- Keras
    {"epoch": 1, "step": 300, "loss": 0.5}

What the words and numbers of one line say, `line_numbers` reads. `LineReader` reads the lines of one log in order, as
some say what the next ones mean (`Eval begin...`, `Epoch 3/10`, the head of a table); `Latest` keeps the last number of
each name. Why nothing was read: `nearest_line`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from paddock.logs import chinese
from paddock.logs.line_numbers import Scan, read_number, read_numbers, scan_line
from paddock.logs.line_tokens import without_colours
from paddock.logs.number_names import COUNTS
from paddock.logs.progress import METRICS, Progress, merge

EXAMPLES = (
    "epoch 1  step 100/400  loss 0.5213",
    "Epoch [10/100], Loss: 1.1248, val_loss: 1.31",
    "step=10 loss=0.5 accuracy=0.93 lr=0.001 samples/s=120.5",
    "epoch: 0, batch_id: 100, auc: 0.5, cost: [0.69], ips: 512.3 ins/s",
    "45/100 [====>....] - 1s 12ms/step - loss: 0.3 - accuracy: 0.9",
    "Epoch 0:  45%|████▌     | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]",
    '{"epoch": 1, "step": 300, "loss": 0.5}',
    "第 1/3 轮，第 5/13 步，损失: 0.6456，准确率: 85.3%",
)
"""Forms for a reader whose lines are not read."""
LONGEST_LINE = 2_000
"""Characters of a line that is read."""
_LOSS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|NaN|[-+]?inf"
_COMMON = re.compile(
    r"(?:Worker (?P<rank>\d{1,6}): )?(?:[Ee]poch:? \[?(?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9}))?\]?,? +)?"
    r"(?:(?:[Ss]tep|Batch):? \[?(?P<step>\d{1,12})(?:/(?P<steps>\d{1,12}))?\]?,? +)?"
    rf"[Ll]oss ?[:=]? ?(?P<loss>{_LOSS})"
)
"""The commonest lines, in a quarter of the time that the grammar takes; it would read the same."""
_EPOCH_LINE = re.compile(
    r"[-=*#>\s\[]{0,80}(?:(?:Train|训练|开始|正在) ?){0,3}[Ee]poch:? {0,4}\[?(?P<epoch>\d{1,9})"
    r"(?: ?/ ?(?P<epochs>\d{1,9}))?[-=*#<\s:.,\]]{0,80}(?:训练|开始)?[-=*#<\s:.]{0,80}"
)
_SIGNS = (
    "loss", "cost", "/s", "acc", "auc", "ips", "/it", "mse", "mae:", "error:", "ndcg", "ppl", "persec", "map:", "miou",
    "reward", "perplexity", "bleu", "rouge",
)  # fmt: skip
"""Of each form of a metric, in small letters."""
_ALL_SIGNS = _SIGNS + chinese.SIGNS


def read_progress(line: str) -> Progress | None:
    """The progress in `line`, or None. Of the lines of a whole log, `LineReader` knows more."""
    return _read(line)[0] if may_have_progress(line) else None


def may_have_progress(line: str) -> bool:
    """Whether a word of some form is in the line: an ordinary one costs little, as a script may print a gigabyte."""
    small = line.lower()
    for sign in _SIGNS if line.isascii() else _ALL_SIGNS:  # noqa: SIM110  # a generator takes twice the time
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


def _read_json(text: str) -> Progress | None:
    """The progress in an object with numbers, also those one level down; its other values do not matter."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read_numbers(found).judge()


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
        if "轮" in text:
            text = chinese.separate_words(text).strip()
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
            number = read_number(done)
            if number is None and name in COUNTS:
                return None, False
            if number is not None:
                scan.take([name], number, int(of) if of.isdecimal() and len(of) < 10 else None, "", True)
        return scan.judge(), False


def _may_tell(line: str) -> bool:
    return "poch" in line or "轮" in line or line.startswith(("Eval ", "Predict "))


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


class Latest:
    """The last number of each name in one log. Feed its lines in order."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        """None before the first number."""
        self.places: dict[str, tuple[int | None, int | None]] = {}
        """The epoch and the step at which the last number of each name was printed, as far as they are known."""
        self._reader = LineReader()

    def feed(self, lines: Iterable[str]) -> None:
        for line in lines:
            if (found := self._reader.read(line)) is not None:
                self.take(found)

    def take(self, found: Progress) -> None:
        """The numbers of a further line."""
        self.progress = merge(self.progress or Progress(), found)
        told = found if found.epoch is not None or found.step is not None else self.progress
        names = [name for name in METRICS if getattr(found, name) is not None]
        self.places.update(dict.fromkeys((*names, *found.others), (told.epoch, told.step)))


def find_latest(lines: Sequence[str], most: int = 400) -> Progress | None:
    """The last number of each name; of a long log, in the last `most` lines that may have one."""
    latest = Latest()
    latest.feed(choose_lines(lines, most))
    return latest.progress


def choose_lines(lines: Sequence[str], most: int = 400) -> Sequence[str]:
    """The last lines of a log that may have a number, at most `most`, in their order."""
    reader = LineReader()
    wanted: list[str] = []
    for line in reversed(lines):
        if len(wanted) >= most:
            break
        if reader.may_read(line):
            wanted.append(line)
    # Rows of a table have no word of a metric: where one was begun, every line counts.
    if any(_is_head(line.split()) for line in wanted if len(line) < 400):
        return lines[-most:]
    return wanted[::-1]
