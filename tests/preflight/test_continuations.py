"""Commands of several lines that end before their last one: by a blank, a comment or an empty line."""

from __future__ import annotations

import subprocess
import time

import pytest

from paddock.manifests.yaml_nodes import Document
from paddock.preflight import check
from paddock.preflight.command_words import explain_typed
from paddock.preflight.continuations import find_endings
from paddock.preflight.scripts import check_script
from paddock.words.phrases import render
from support.programs import need

BEFORE_A_COMMENT = "echo \\\n  one \\   # two\n  --three"
BEFORE_A_BLANK = "echo \\\n  one \\ \n  --three"
IN_A_COMMENT = "echo \\\n  one # two \\\n  --three"
BEHIND_IT_A_COMMENT = "echo one \\\n  # two\n  # more\n  --three"
BEHIND_IT_A_LINE = "echo one \\\n\n  --three"
ENDING = [BEFORE_A_COMMENT, BEFORE_A_BLANK, IN_A_COMMENT, BEHIND_IT_A_COMMENT, BEHIND_IT_A_LINE]


def find(text: str) -> list[tuple[int, str]]:
    return [(each.line, render(each.said)) for each in find_endings(text)]


ENDS_THERE = "the command ends there, and what follows is another one"
NOT_LAST = "the backslash in line 2 is not the last letter of the line"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BEFORE_A_COMMENT, f"{NOT_LAST}: {ENDS_THERE}; put the comment above the command, or leave it out"),
        (BEFORE_A_BLANK, f"{NOT_LAST}: {ENDS_THERE}; leave out the blanks behind it"),
        (
            IN_A_COMMENT,
            f"the backslash in line 2 stands in a comment: {ENDS_THERE}; put the comment above the command, or leave "
            "it out",
        ),
        (
            BEHIND_IT_A_COMMENT,
            "the comment in line 2 ends the command that begins in line 1, and what follows is another one; put the "
            "comment above the command, or leave it out",
        ),
        (
            BEHIND_IT_A_LINE,
            "line 2 is empty, and ends the command that begins in line 1: what follows is another one; leave the line "
            "out",
        ),
        ("echo \\\n  one \\\u3000\n  --three", f"{NOT_LAST}: {ENDS_THERE}; leave out the blanks behind it"),
        ("echo \\\n  one \\\u00a0\n  --three", f"{NOT_LAST}: {ENDS_THERE}; leave out the blanks behind it"),
        (
            "echo \\\n  one \\ \n",
            f"{NOT_LAST}: the blank behind it becomes a part of a word; leave the backslash out",
        ),
    ],
)
def test_a_command_that_ends_before_its_last_line_is_told_with_the_line(text: str, said: str) -> None:
    assert find(text) == [(2, said)]
    assert [each.message for each in check_script(text).problems if each.line == 2] == [said]


@pytest.mark.parametrize("text", ENDING)
def test_bash_ends_the_command_there_too(text: str) -> None:
    need("bash")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["one"]
    assert "--three: command not found" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "torchrun \\\n  --nnodes 2 \\\n  t.py",
        "cat > a <<END\nx \\   # y\n  --z\nEND",
        "echo 'a \\   # b\n  --c'\necho \"a \\ \n  --c\"",
        "# as in torchrun \\ \n#   --nnodes 2 \\   # two\n# t.py \\\n  torchrun t.py",
        "ls my\\ #dir\nls my\\ \necho",
        "ARGS=(\n  --lr 1 \\  # rate\n  --bs 2\n)",
        "python t.py \\\n  --lr 1 \\\n# then\necho done",  # the end of a command, as people leave it
        "python t.py \\\n  --lr 1 \\\n\necho done",
        "echo a \\\\ \n  --b",  # a backslash by itself
        "echo 'a \\ \n",
    ],
)
def test_other_backslashes_are_no_mistake(text: str) -> None:
    assert find(text) == []


def test_a_substitution_in_quotes_is_a_command_again() -> None:
    assert [line for line, _ in find('A="x $(torchrun \\ \n  t.py)"')] == [1]


def test_the_program_that_is_missing_then_is_not_told_beside_it() -> None:
    text = "torchrun \\\n  --nnodes 2 \\   # two nodes\n  t.py"
    assert [each.line for each in check_script(text).problems] == [2]
    assert [each.line for each in check_script(text.replace("  t.py", "  --nproc_per_node 2 t.py")).problems] == [2]
    assert len(list(explain_typed(["bash", "-c", text]))) == 1


def test_it_is_told_of_a_text_in_a_manifest_and_of_a_typed_one() -> None:
    text = "torchrun \\\n  t.py \\ \n  --lr 1"
    container = {"name": "pytorch", "image": "x:1", "command": ["bash", "-c"], "args": [text]}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}}}
    job = Document({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec})
    assert [each.severity for each in check(job) if each.message.startswith(NOT_LAST)] == ["warning"]
    assert [each for each in explain_typed(["bash", "-c", text]) if render(each).startswith(NOT_LAST)]


@pytest.mark.parametrize(
    "text",
    [
        "x\\\n" * 20_000 + "# \\\n" * 1000, "a \\ \n" * 12_000, "(" * 5000 + "\na \\ \n b" * 3000,
        "$(" * 3000 + " \\ \n b" * 5000, "\\" + " " * 60_000 + "x", "\\" + "\u3000" * 20_000 + "x",
        "a \\ #" * 10_000, "a \\\n# \n -b\n" * 4000,
    ],
)  # fmt: skip
def test_what_it_costs_does_not_grow_with_the_square_of_the_text(text: str) -> None:
    begun = time.process_time()
    list(find_endings(text[:65_000]))
    assert time.process_time() - begun < 1  # 0.1 s on a core that is not busy
