"""Which lines of a log are printed: --include, --exclude, --tail, --first-error, -o json."""

from __future__ import annotations

import json
import re

import click
import pytest

from paddock.cli.follow.wanted_lines import (
    PatternType,
    Source,
    Wanted,
    build_json_line,
    find_last_lines,
    print_log,
)
from paddock.logs.first_error import AFTER, BEFORE, LAST, find_first_error, find_last_resort
from paddock.logs.folding import Folding
from support.tiers import keep_light

LOG = b"one\ntwo\nthree\n10%\r50%\r100%\nfour"


def choose(wanted: Wanted, log: bytes = LOG, size: int = 5) -> list[str]:
    shown: list[str] = []
    chunks = [log[start : start + size] for start in range(0, len(log), size)]
    print_log(Source("worker-0", 1, 0, chunks), wanted, shown.extend)
    return shown


def compile_all(*texts: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, texts))


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (Wanted(), "one two three 100% four"),
        (Wanted(tail=2), "100% four"),
        (Wanted(tail=0), ""),
        (Wanted(tail=99), "one two three 100% four"),
        (Wanted(include=compile_all("^t")), "two three"),
        (Wanted(include=compile_all("^t", "four")), "two three four"),
        (Wanted(exclude=compile_all("o", "%")), "three"),
        (Wanted(include=compile_all("o"), exclude=compile_all("w")), "one four"),
        (Wanted(include=compile_all("o"), tail=1), "four"),
        (Wanted(first_error=True), ""),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_lines_that_are_wanted(wanted: Wanted, lines: str, size: int) -> None:
    assert " ".join(choose(wanted, size=size)) == lines


def test_raw_keeps_all_states_of_a_bar() -> None:
    shown: list[str] = []
    print_log(Source("worker-0", 1, 0, [LOG]), Wanted(tail=2), shown.extend, raw=True)
    assert shown == ["10%\r50%\r100%", "four"]


def test_what_is_folded_is_not_counted_by_tail() -> None:
    shown: list[str] = []
    log = b"epoch 1\nLAUNCH INFO 2026-11-22 10:00:00,000 ----------- Configuration ----------------------\n"
    print_log(Source("worker-0", 1, 0, [log]), Wanted(tail=1), shown.extend, Folding("worker-0"))
    assert shown == ["epoch 1"]


def test_a_pattern_that_is_wrong_is_refused_with_its_place() -> None:
    with pytest.raises(click.BadParameter, match=r"'a\(b' is no regular expression: .*, at character 2"):
        PatternType().convert("a(b", None, None)


def test_a_line_as_json_has_its_run_attempt_and_rank() -> None:
    said = 'say "hi" 好\t\x1b[0m'
    assert json.loads(build_json_line(3, 1, "ps-0", said)) == {"run": 3, "attempt": 1, "rank": "ps-0", "line": said}
    assert "\n" not in build_json_line(None, None, "ps-0", "a\u2028b")


def lines(text: str) -> list[str]:
    return text.split("|")


TRACE = "Traceback (most recent call last):|  File a|    x|ValueError: broken"
OF_RANK = "|".join(f"[rank1]: {line}" for line in TRACE.split("|"))
LOST_PEER = OF_RANK.replace("[rank1]", "[rank0]").replace(
    "ValueError: broken", "RuntimeError: Connection closed by peer"
)


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("a|b", ""),
        ("a|b|ValueError: broken|c", "a|b|ValueError: broken|c"),
        (f"a|{TRACE}|c", f"a|{TRACE}|c"),
        ("|".join("abcdefgh") + f"|{TRACE}|" + "|".join("ijklmnop"), f"d|e|f|g|h|{TRACE}|i|j|k|l|m"),
        ("ValueError: one|" + "|".join("abcdefg") + "|ValueError: two", "ValueError: one|a|b|c|d|e"),
        ("ConnectionResetError: x|a|b|ValueError: two|c", "ConnectionResetError: x|a|b|ValueError: two|c"),
        ("ConnectionResetError: x|" + "|".join("abcdefg"), "ConnectionResetError: x|a|b|c|d|e"),
        ("EOFError: x|EOFError: y", "EOFError: x|EOFError: y"),
        (f"a|{OF_RANK}|c", f"a|{OF_RANK}|c"),
        (f"{LOST_PEER}|{OF_RANK}", f"{LOST_PEER}|{OF_RANK}"),
    ],
)
def test_the_first_error_comes_with_its_traceback_and_the_lines_around_it(log: str, found: str) -> None:
    assert "|".join(find_first_error(lines(log))) == found
    assert (BEFORE, AFTER) == (5, 5)


def test_a_log_is_read_no_further_than_its_first_error_needs() -> None:
    def endless() -> object:
        yield "ValueError: broken"
        for number in range(AFTER):
            yield str(number)
        raise AssertionError("read too far")

    assert len(find_first_error(endless())) == 1 + AFTER  # type: ignore[arg-type]


def test_an_error_is_followed_to_the_end_of_its_chain() -> None:
    """What ended the program stands last, twenty lines below what it was raised from."""
    frames = [f'  File "train.py", line {number}, in f{number}' for number in range(20)]
    first = ["Traceback (most recent call last):", '  File "train.py", line 1', "ValueError: bad number"]
    then = ["", "The above exception was the direct cause of the following exception:", "",
            "Traceback (most recent call last):", *frames, "RuntimeError: cannot read config"]  # fmt: skip
    found = find_first_error(["epoch 1", *first, *then, *map(str, range(20))])
    assert found == ["epoch 1", *first, *then, *map(str, range(AFTER))]
    endless = find_first_error([*first, "During handling of the above exception, another exception occurred:"] * 1_000)
    assert len(endless) < 400


CAUGHT = TRACE.replace("File a", 'File "t.py", line 8, in main')
"""As `traceback.print_exc` prints it: from the frame that caught."""
TRAINED = "epoch 1 step 2 loss 0.5"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (f"{CAUGHT}|a|b|giving up", f"{CAUGHT}|a|b|giving up"),
        (f"{CAUGHT}|a|b|c|d|e|f|g|giving up|", f"{CAUGHT}|a|b|c|d|e|giving up"),
        (f"{TRACE}|a|b|c|d|{TRAINED}|f|g|giving up", f"{TRACE}|a|b|c|d|{TRAINED}|giving up"),
        (f"{CAUGHT}|a|b|c|d|e|f|g|{TRAINED}", f"{CAUGHT}|a|b|c|d|e"),
        (f"{CAUGHT}|a|b|c|d|e|f|g|{TRACE}|bye", f"{CAUGHT}|a|b|c|d|e"),
        (f"{TRACE}|a|b|c|d|e|f|g|giving up", f"{TRACE}|a|b|c|d|e"),
    ],
)
def test_of_an_error_that_was_caught_the_text_that_ended_the_program_follows(log: str, found: str) -> None:
    assert "|".join(find_first_error(lines(log))) == found


def test_an_error_without_its_own_text_is_shown_down_to_what_tells_it() -> None:
    gpu = "Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0"
    empty = TRACE.replace(lines(TRACE)[-1], "MemoryError: ")
    stack = ["", *["0   phi::a()"] * 30, "ResourceExhaustedError: ", "", gpu]
    assert find_first_error([*lines(empty), *stack, *map(str, range(9))]) == [
        *lines(empty), *stack, *map(str, range(AFTER)),
    ]  # fmt: skip
    untold = [*lines(empty), *map(str, range(AFTER))]
    assert find_first_error([*lines(empty), *map(str, range(90))]) == untold
    assert find_first_error([*untold, *map(str, range(900)), gpu]) == untold


@pytest.mark.parametrize(
    ("log", "logged"),
    [
        ("a|ERROR:root:no data|b", "a|ERROR:root:no data|b"),
        ("a|b|c|d|e|f|ERROR: x|ERROR: y|3|4|5|6|7", "b|c|d|e|f|ERROR: x|ERROR: y|3|4|5|6"),
        (f"ERROR: x|{TRAINED}|bye", ""),
        (f"ERROR: x|{TRAINED}|ERROR: y", f"ERROR: x|{TRAINED}|ERROR: y"),
        ("a|bye", ""),
        ("a|LAUNCH ERROR 2026-11-20 15:42:04,579 Container failed|ERROR: x", ""),
    ],
)
def test_what_was_logged_as_an_error_is_the_last_resort_before_the_last_lines(log: str, logged: str) -> None:
    found = find_last_resort(lines(log))
    assert "|".join(found.logged) == logged
    assert found.last == lines(log.partition("|LAUNCH")[0])[-LAST:]


class Read:
    """A log of which the last so many bytes are read; `asked`: how many."""

    def __init__(self, log: bytes) -> None:
        self.log, self.asked = log, list[int]()

    def __call__(self, most: int) -> list[bytes]:
        self.asked.append(most)
        begin = max(0, len(self.log) - most)
        return [self.log[place : place + 65536] for place in range(begin, len(self.log), 65536)]


BIG = b"".join(b"%07d %s\n" % (number, b"x" * 92) for number in range(60_000))  # 6 MB
LONG_LINES = b"".join(b"%d %s\n" % (number, b"y" * 60_000) for number in range(300))  # 18 MB


@pytest.mark.parametrize(
    ("log", "wanted", "most"),
    [
        (BIG, Wanted(tail=2), 2**20),
        (BIG + b"unended", Wanted(tail=1), 2**20),
        (BIG, Wanted(tail=0), 2**20),
        (BIG, Wanted(tail=20_000), len(BIG)),
        (BIG, Wanted(tail=1, include=compile_all("^0059999")), 2**20),
        (BIG, Wanted(tail=1, include=compile_all("^0000000")), len(BIG)),
        (BIG, Wanted(tail=1, exclude=compile_all("^005")), len(BIG)),
        (LONG_LINES, Wanted(tail=3), len(LONG_LINES)),
        (b"", Wanted(tail=3), 0),
        (b"a", Wanted(tail=3), 1),
    ],
)
@pytest.mark.parametrize("folds", keep_light([True, False], [True]))
def test_the_last_lines_are_those_of_the_whole_and_no_more_is_read_than_is_needed(
    log: bytes, wanted: Wanted, most: int, folds: bool
) -> None:
    def open_folding() -> Folding | None:
        return Folding() if folds else None

    read, shown = Read(log), list[str]()
    found = find_last_lines(read, len(log), wanted, open_folding)
    print_log(Source("", None, None, [log]), wanted, shown.extend, open_folding())
    assert found == shown
    is_rare = folds and wanted.include  # what is searched is not folded, so nobody asks for that
    assert is_rare or max(read.asked) <= most


def test_a_traceback_before_what_is_read_is_not_known() -> None:
    trace = b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x()\nValueError: x\n'
    log = trace + BIG + trace + b"over\n"
    assert find_last_lines(Read(log), len(log), Wanted(tail=5), Folding)[0].startswith("Traceback")
