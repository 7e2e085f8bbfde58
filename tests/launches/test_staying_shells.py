"""Where a shell stays in front of the program of a container, so that the program never gets SIGTERM."""

from __future__ import annotations

import pytest

from paddock.launches.staying_shells import find_shielded


@pytest.mark.parametrize(
    "text",
    [
        "python train.py; echo done",
        "python train.py && echo completed > /log/1.pid",
        "set -e\npip install x\npython train.py\ncp -r out /data\n",
        "cd /x && torchrun train.py 2>&1 | tee log",
        "torchrun train.py | tee log; exit ${PIPESTATUS[0]}",
        "python train.py & wait",
        "python train.py & tail -f log",
        "while ! python train.py; do sleep 1; done",
        "if python train.py; then touch ok; fi",
        "python -m paddle.distributed.launch train.py; exit $?  # as it ended",
    ],
)
def test_a_shell_that_has_more_to_do_stays(text: str) -> None:
    found = find_shielded({"command": ["bash", "-c"], "args": [text]})
    assert found is not None and (found.program.script or found.program.module) == "train.py"


@pytest.mark.parametrize(
    "text",
    [
        "python train.py",
        "cd /x && python train.py",  # whether it forks depends on the shell
        "python prepare.py; python train.py",
        "python train.py > log 2>&1",
        "exec python train.py",
        "python train.py & PID=$!; trap 'kill -TERM $PID' TERM; wait $PID",
        "f() { python train.py; }; f",
        "eval $COMMAND; echo done",
        "python prepare.py; exec ./serve",
        "python prepare.py; ./train",  # who trains is not known
        "$PYTHON train.py; echo 'a",
        "bash run.sh; true",
        "ssh host python train.py; true",
        "echo only",
        "",
    ],
)
def test_one_that_becomes_its_program_or_passes_the_signal_on_does_not(text: str) -> None:
    assert find_shielded({"command": ["sh", "-c", text]}) is None


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"command": ["python", "train.py"]},
        {"command": ["bash", "run.sh"]},
        {"command": ["tini", "--", "bash", "-c", "python train.py; true"]},
        {"command": "python train.py; true"},
    ],
)
def test_a_container_that_begins_with_another_program_has_none(container: dict[str, object]) -> None:
    assert find_shielded(container) is None
