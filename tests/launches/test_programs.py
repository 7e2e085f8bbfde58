"""Which word of a command line is the script, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.launches.launch import Launch
from paddock.launches.programs import Kind
from paddock.launches.reading import find_main, read_typed

ROWS: list[tuple[str, str, str]] = [
    ("python train.py", "train.py", ""),
    ("python3.11 -u train.py --lr 0.1", "train.py", ""),
    ("/usr/bin/python3 -X dev -W ignore -B ./src/train.py", "./src/train.py", ""),
    ("python -Xdev -Wignore train.py", "train.py", ""),
    ("python -uB train.py", "train.py", ""),
    ("python --check-hash-based-pycs always train.py", "train.py", ""),
    ("python -m pkg.train --lr 1", "", "pkg.train"),
    ("python -mpkg.train", "", "pkg.train"),
    ("python -um pkg.train train.py", "", "pkg.train"),
    ("python -c pass train.py", "", ""),
    ("python train", "train", ""),
    ("python -m paddle.distributed.launch --devices 0,1 train.py a.py", "train.py", ""),
    ("python -u -m paddle.distributed.launch run_check", "", ""),
    ("fleetrun --log_dir log train.py", "train.py", ""),
    ("torchrun --nproc_per_node 2 ddp.py", "ddp.py", ""),
    ("bash run.sh 2", "run.sh", ""),
    ("bash -ex -o pipefail run.sh", "run.sh", ""),
    ("sh -c echo", "", ""),
    ("./train 3", "./train", ""),
    ("bin/train", "bin/train", ""),
    ("sleep 3", "", ""),
]


def read(line: str) -> Launch:
    return find_main(read_typed(line.split()))


@pytest.mark.parametrize(("line", "script", "module"), ROWS)
def test_the_script_of_a_command_line(line: str, script: str, module: str) -> None:
    found = read(line).program
    assert (found.script, found.module) == (script, module)
    assert found.kind is not Kind.STDIN


@pytest.mark.parametrize("line", ["python", "python -", "python -u", "python3 -i -q", "bash", "sh -s 1", "bash -"])
def test_an_interpreter_without_a_program_reads_it_from_standard_input(line: str) -> None:
    assert read(line).program.kind is Kind.STDIN


@pytest.mark.parametrize("line", ["python --version", "python3 -V"])
def test_an_interpreter_that_only_tells_something_reads_nothing(line: str) -> None:
    assert read(line).program.kind is Kind.NONE


@pytest.mark.parametrize(
    ("line", "launcher"),
    [
        ("python -m paddle.distributed.launch train.py", "paddle.distributed.launch"),
        ("python -m torch.distributed.run train.py", "torchrun"),
        ("fleetrun train.py", "paddle.distributed.launch"),
        ("torchrun train.py", "torchrun"),
        ("python -m train paddle.distributed.launch", ""),
        ("python train.py -m paddle.distributed.launch", ""),
    ],
)
def test_a_launcher_is_known_by_its_place(line: str, launcher: str) -> None:
    found = read(line).launcher
    assert (found.name if found else "") == launcher


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python src/train.py", "train"),
        ("python -m pkg.train", "train"),
        ("python -c pass", "python"),
        ("bash run.sh", "run"),
        ("./bin/train", "train"),
        ("python pkg/", "pkg"),
        ("sleep 1", "sleep"),
    ],
)
def test_the_name_of_a_job_of_it(line: str, name: str) -> None:
    assert read(line).program.name == name


@given(st.lists(st.sampled_from(["python", "-m", "-c", "-u", "-X", "-", "--", "a.py", "bash", "", "-W"]), min_size=1))
def test_any_words_are_read(words: list[str]) -> None:
    assert isinstance(find_main(read_typed(words)), Launch)
