"""One line -> the numbers in it, each with the words that it belongs to, and what they say of a training. Pure.

A line is read as words and numbers (`line_tokens`): a number belongs to the name before it. What is unknown is kept
with its name, or passed over, and takes nothing away from what is known. But a wrong number is worse than none:

- A sentence is no progress (words as `the` and `was`, many words without a number, an error).
- The loss of an evaluation is another curve: `val_loss`. What it says of its own steps and speed is left out.
- Times, memory, and what a program was told (`loss_weight`, `best loss`) are no metrics.

`printed_lines` reads the lines of a log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from paddock.logs.chinese import separate_words, tells_error, to_english
from paddock.logs.line_tokens import read_tokens
from paddock.logs.number_names import (
    COUNTS,
    EVALUATIONS,
    OTHER_READINGS,
    TRAININGS,
    Meaning,
    is_foreign_rate,
    is_pace,
    measures_machine,
    name_unit,
    normalize,
    read_name,
    read_rate,
)
from paddock.logs.progress import LONGEST_NAME, MOST_OTHERS, Progress

_MOST_NUMBERS = 100
_MOST_WORDS = 12
"""Words that belong to no number: a line with more is a sentence."""
_MOST_BARE_WORDS = 3
"""The same for a line with a loss alone, that says neither epoch nor step."""
_LARGEST = 1e300
"""Of a number in JSON, whose integers have any length."""
_MOST_COUNT = 10**12
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
_NUMBER_NEXT = re.compile(r"\s{1,4}[-+]?\.?\d")
_WORKS = frozenset(
    f"{each}/s" for each in ("it", "samples", "images", "tokens", "step", "steps", "batches", "examples", "sequences")
)
"""Units of a speed that may stand with a step alone: files and bytes do as well while data is fetched."""


class Scan:
    """The numbers of one line as they are found; the first of a name counts."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.metrics: dict[str, float] = {}
        self.others: dict[str, float] = {}
        self.asides: dict[str, float] = {}
        self.epochs_done: float | None = None
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
        self._behind: int | None = None
        """So many numbers stood before the label of an evaluation: `train: loss 0.5 | val: loss 0.6`."""
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
        self.is_prose = self.is_prose or (len(words) > 1 and to_english(words[0]).lower() in _ERRORS)
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
        of_evaluation = meaning.evaluates or before in EVALUATIONS or (self._behind is not None and not meaning.trains)
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
        if unit not in ("", "%") or meaning.kind == "noise":
            self._take_aside(" ".join(words[-3:]), number, unit)
            return
        if OTHER_READINGS & set(normalize(name).split()):
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

    def _take_aside(self, name: str, number: float, unit: str) -> None:
        """A time or an amount of memory, which says nothing of how well a training goes."""
        said = f"{name} ({unit})" if unit else name
        is_name = measures_machine(name) and said.isprintable() and len(said) <= LONGEST_NAME
        if is_name and math.isfinite(number) and len(self.asides) < MOST_OTHERS:
            self.asides.setdefault(said, number)

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
        if name in self.counts or not math.isfinite(number) or not 0 <= number < _MOST_COUNT:
            return
        if not number.is_integer():
            self.epochs_done = number if name == "epoch" and self.epochs_done is None else self.epochs_done
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
        self.loose_words += len(words)
        is_told = bool(self.metrics)
        if first in TRAININGS and is_told:
            self._begin_training()
        elif first in EVALUATIONS and len(words) <= 4 and is_told and not self.evaluates:
            self._behind = self.numbers
        elif first in EVALUATIONS and len(words) <= 4:
            self.evaluates = True

    def _begin_training(self) -> None:
        """What stood before was of an evaluation, if anything says so."""
        if self.evaluates:
            self._move_to_evaluation()
        self.evaluates, self._behind = False, None

    # What it comes to

    @property
    def _has_place(self) -> bool:
        return self._trains or self.epochs_done is not None or bool(self.counts.keys() & {"epoch", "step"})

    @property
    def is_a_sentence(self) -> bool:
        """Whether words say more than numbers."""
        return self.is_prose or self.loose_words > (_MOST_WORDS if self._has_place else _MOST_BARE_WORDS)

    def judge(self) -> Progress | None:
        """A metric with its place, or a loss that stands alone as `loss: 0.5`."""
        if self._steps is not None and not self.counts.keys() & {"step", "epoch"}:
            self.count("step", self._steps, None)
        if not self.counts.keys() & {"step", "epoch"} and (sample := self.others.get("sample")) is not None:
            self.count("step", sample, None)  # a program that may have any number of ranks counts its samples
            if "step" in self.counts:
                del self.others["sample"]
        has_place = self._has_place
        if self.is_a_sentence:
            return None
        self._place_losses(has_place)
        if self.evaluates or (self._behind == self.numbers and not self._trains):  # `loss 0.5 [val]`
            self._move_to_evaluation()
        if self.numbers > _MOST_NUMBERS or not self._is_enough(has_place):
            return None
        return Progress(
            **self.counts, **self.metrics, epochs_done=None if "epoch" in self.counts else self.epochs_done,  # type: ignore[arg-type]
            unit=self.unit, others=self.others, asides=self.asides,
        )  # fmt: skip

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
        self.asides.clear()
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
        if kind == "word" and len(self.words) == 1 and normalize(token["word"]) in EVALUATIONS:
            self.scan.evaluates = True  # `Epoch(val) [1][10/40]`

    def _take(self, kind: str, token: re.Match[str]) -> None:
        if kind in ("word", "counted"):
            self._take_word(token[kind].rstrip("-"), token.end())
        elif kind == "sign":
            self.words, self._told = self.words or self._told, []
            self.signed = bool(self.words)
        elif kind in ("number", "unit"):
            self._take_measured(float(token["number"].replace(",", "")), token["unit"] or "", token)
        elif kind == "of":
            self._take_number(float(token["done"]), int(token["of"]), "", token.end())
        elif kind == "what":
            self._take_rate(float(token["rate"].replace(",", "")), token["what"], token)
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
        small, self._told = (word if word.isascii() else to_english(word)).lower(), []
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

    def _take_measured(self, number: float, unit: str, token: re.Match[str]) -> None:
        if unit.isalpha() and self._is_metric() and _NUMBER_NEXT.match(token.string, token.end()):
            self._take_named(number, unit, token.end())  # `loss 0.5 ms 120`
        else:
            self._take_number(number, None, unit, token.end())

    def _take_rate(self, number: float, what: str, token: re.Match[str]) -> None:
        """What stands before a number is its name; a unit that a number follows is the name of that: `loss 0.5 tokens/s
        12000`."""
        end = token.end()
        if self.words and read_name(self.words[-1]).kind == "speed":
            self.scan.take(self.words, number, None, what, self.signed)
        elif self._is_metric() or (self.words and _NUMBER_NEXT.match(token.string, end)):
            self._take_named(number, what, end)
            return
        elif not self._held and not (self.words and read_name(" ".join(self.words[-2:])).evaluates):
            self.scan.pace(number, what)
        self.words, self.signed, self._is_wide, self._end = [], False, False, end

    def _is_metric(self) -> bool:
        names = (" ".join(self.words[-size:]) for size in (1, 2))
        return bool(self.words) and any(read_name(name).kind not in ("other", "noise", "speed") for name in names)

    def _take_named(self, number: float, name: str, end: int) -> None:
        """A number, and the name of the next."""
        self._take_number(number, None, "", end)
        self._take_word(name, end)

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
            if to_english(self.words[0]).lower() in _ERRORS:
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
    scan.is_prose = tells_error(text)
    if listed := _LISTED.match(text):
        scan.counts = {"epoch": int(listed["epoch"]), "step": int(listed["step"])}
    elif listed := _ROUND.match(text):
        scan.counts = {"step": int(listed["step"])}
    _Walk(scan).walk(separate_words(text))
    return scan


def read_numbers(found: object) -> Scan:
    """The numbers of an object that JSON wrote; a text that is a number is one, as fairseq writes them."""
    scan = Scan()
    for name, value in _items(found):
        if (number := read_number(value)) is not None:
            scan.take([name], number, None, "", True)
    scan.loose_words = 0
    return scan


def _items(found: object) -> Iterable[tuple[str, object]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        yield name, value
        if isinstance(value, dict):
            yield from ((inner, each) for inner, each in value.items() if isinstance(inner, str))


def read_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > 40 or not value[:1].strip("+-.").isdecimal()):
        return None
    try:
        return None if abs(float(value)) > _LARGEST and math.isfinite(float(value)) else float(value)
    except (ValueError, OverflowError):
        return None
