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


@pytest.mark.parametrize(("text", "line", "said"), [
    ("a\nif true; then\n torchrun t.py\n", 2, "`if` is not closed: a shell refuses the script; write `fi` behind it"),
    ("for i in a b; do\n torchrun t.py", 1, "`for` is not closed: a shell refuses the script; write `done` behind it"),
    ("while a; do\n if x; then y; fi\n", 1,
     "`while` is not closed: a shell refuses the script; write `done` behind it"),
    ("torchrun t.py --name <NAME> --x 1\n", 1,
     "a shell reads <NAME> as files to read and to write: write a value in its place"),
])  # fmt: skip
def test_what_is_open_and_what_is_a_placeholder_is_told(text: str, line: int, said: str) -> None:
    assert (line, said) in [(each.line, each.message) for each in check_script(text).problems]


@pytest.mark.parametrize("text", ["if true; then torchrun t.py; fi\n", "torchrun t.py <in >OUT\n",
                                  "case $1 in a) torchrun t.py;; esac\n"])  # fmt: skip
def test_what_is_closed_is_not(text: str) -> None:
    assert check_script(text).problems == ()
