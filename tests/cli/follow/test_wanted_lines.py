"""Which lines of a log are printed: --include, --exclude, --tail, --first-error, -o json."""

from __future__ import annotations

import json
import re

import click
import pytest

from paddock.cli.follow.wanted_lines import PatternType, Source, Wanted, build_json_line, print_log
from paddock.logs.first_error import AFTER, BEFORE, find_first_error
from paddock.logs.folding import Folding

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
