"""What is said of a shell script as a whole: what was not read, and lines that do not belong together."""

from __future__ import annotations

import pytest

from paddock.preflight.scripts import check_script


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("torchrun t.py \\ \n  --lr 0.1", 1, "the backslash in line 1 is not the last letter of the line"),
        ("torchrun t.py\n--lr 0.1", 2, "`--lr` begins a command of its own"),
        ("mystery --flag torchrun t.py", 1, "mystery may start torchrun: it is not read"),
        ("echo a\n. ./env.sh\nbash train.sh", 3, "train.sh is named here, and not read"),
        ("true\r\ntorchrun t.py\r\n", 1, "lines end with CRLF"),
        ("f(){ f; f; }; f\ntorchrun t.py", 1, "or has more commands and calls than are read"),
        ('torchrun "t.py', 1, "a quote is not closed"),
    ],
)
def test_what_a_script_has_that_is_not_read_or_not_meant_is_told_with_its_line(text: str, line: int, said: str) -> None:
    found = check_script(text).problems
    assert [each.line for each in found if said in each.message] == [line], found


@pytest.mark.parametrize("text", ["torchrun t.py \\\n  --lr 0.1", "$A $B $C", "", "echo --lr"])
def test_of_a_script_in_which_nothing_is_wrong_nothing_is_said(text: str) -> None:
    assert [each.message for each in check_script(text).problems if "begins a command" in each.message] == []


@pytest.mark.parametrize("line", ["which torchrun", "hash torchrun", "pkill -f torchrun", "grep torchrun log",
                                  "mkdir -p deepspeed", "rm -rf deepspeed",
                                  "docker build -t deepspeed .", "tee torchrun"])  # fmt: skip
def test_a_program_that_names_a_launcher_and_starts_none_is_not_told(line: str) -> None:
    assert [each.message for each in check_script(f"{line}\n").problems] == []
