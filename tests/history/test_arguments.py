"""The words of a command as arguments with names."""

from __future__ import annotations

import shlex

import pytest

from paddock.history.arguments import COMMAND, read_arguments


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", {}),
        ("python3 train.py --lr 0.1 --amp", {COMMAND: "python3 train.py", "lr": "0.1", "amp": "true"}),
        ("t --lr=0.1 --name=", {COMMAND: "t", "lr": "0.1", "name": ""}),
        ("t --shift -0.5 --eps 1e-8 -1", {COMMAND: "t", "shift": "-0.5", "eps": "1e-8 -1"}),
        ("t --layers 64 32 data", {COMMAND: "t data", "layers": "64 32"}),
        ("t -j4 -b 8", {COMMAND: "t", "j": "4", "b": "8"}),
        ("t --tag a --tag b", {COMMAND: "t", "tag": "a b"}),
        ("t -o Global.lr=0.1 Global.epochs=3", {COMMAND: "t", "o": "true", "Global.lr": "0.1", "Global.epochs": "3"}),
        ("t ++trainer.max=3 model/net=big", {COMMAND: "t", "trainer.max": "3", "model/net": "big"}),
        ("t https://x/?a=b -- --y", {COMMAND: "t https://x/?a=b --", "y": "true"}),
        ("torchrun --nproc_per_node 2 --standalone t.py a",
         {COMMAND: "torchrun t.py a", "nproc_per_node": "2", "standalone": "true"}),
        ("mpirun -host a python t.py", {COMMAND: "mpirun python t.py", "host": "a"}),
        ("python -m paddle.distributed.launch --gpus 0,1 t.py -c x.yml",
         {COMMAND: "python -m paddle.distributed.launch t.py", "gpus": "0,1", "c": "x.yml"}),
        ("python -m pkg.train --config a.py --lr 1", {COMMAND: "python -m pkg.train", "config": "a.py", "lr": "1"}),
        ("python -c 'print(1)' --lr 1", {COMMAND: "python -c print(1)", "lr": "1"}),
        ("--lr 0.5", {"lr": "0.5"}),
        ("bash -c 'cd x && SEED=1 python t.py --lr 0.1 2>&1 | tee log'",
         {COMMAND: "bash -c cd x && python t.py 2 >& 1 | tee log", "SEED": "1", "lr": "0.1"}),
        ("sh -c 'a --lr 3 \\\n --z 4\nb'", {COMMAND: "sh -c a ; b", "lr": "3", "z": "4"}),
        ("sh -c 'a; b $((7 - i)).5'", {COMMAND: "sh -c a; b $((7 - i)).5"}),
        ("""sh -c "it's" """, {COMMAND: "sh -c it's"}),
    ],
)  # fmt: skip
def test_each_argument_has_the_name_of_its_option(typed: str, found: dict[str, str]) -> None:
    assert read_arguments(shlex.split(typed)) == found


def test_a_text_that_nobody_typed_is_one_word() -> None:
    text = "x --lr 1\n" * 10_000
    assert read_arguments(["sh", "-c", text]) == {COMMAND: f"sh -c {text}"}
