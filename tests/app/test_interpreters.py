"""Which interpreter a container's command starts, where it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.app.interpreters import find_interpreter
from paddock.node.runtime.mounts import Mount
from paddock.node.runtime.sandbox import Program

SHELL = ["bash", "-c"]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """`venv/bin` with Pythons and scripts, `other/bin` with a Python, and a project with scripts of a shell."""
    files = {
        "venv/bin/python": "", "venv/bin/python3": "", "other/bin/python": "",
        "venv/bin/torchrun": f"#!{tmp_path}/other/bin/python\n",
        "venv/bin/paddle": "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python' \"$0\" \"$@\"\n",
        "venv/bin/mine": "#!/usr/bin/env python3\n",
        "venv/bin/elf": "\x7fELF",
        "project/run.sh": "set -e\nexport LR=1\npython train.py\n",
        "project/uses_uv.sh": "uv run train.py\n",
        "project/prefixed.sh": f"export PATH={tmp_path}/other/bin:$PATH\npython train.py\n",
        "project/chosen.sh": ". ./env.sh\npython train.py\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/paddle").symlink_to(tmp_path / "venv/bin/paddle")
    return tmp_path


def ask(machine: Path, words: list[str], path: str = "venv/bin", mounts: tuple[Mount, ...] = ()) -> str | None:
    where = str(machine / path) if path and not path.startswith("/") else path
    program = Program(tuple(words), {"PATH": where}, str(machine / "project"), "h", machine / "end", mounts=mounts)
    found = find_interpreter({"name": "paddle", "command": words}, program)
    return str(found.relative_to(machine)) if found is not None else None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["python", "train.py"], "venv/bin/python"),
        (["python3", "-m", "paddle.distributed.launch", "train.py"], "venv/bin/python3"),
        (["python3.9", "train.py"], None),
        (["../other/bin/python", "train.py"], "project/../other/bin/python"),
        (["torchrun", "--nproc_per_node=2", "train.py"], "other/bin/python"),
        (["paddle", "train.py"], "venv/bin/python"),
        (["mine"], "venv/bin/python3"),
        (["elf"], None),
        (["sleep", "5"], None),
        ([], None),
        ([*SHELL, "python train.py"], "venv/bin/python"),
        ([*SHELL, "cd sub && python train.py"], "venv/bin/python"),
        ([*SHELL, "cd sub && ../other/bin/python train.py"], None),
        ([*SHELL, "python prepare.py && torchrun train.py"], "other/bin/python"),
        ([*SHELL, "source venv/bin/activate && python train.py"], None),
        ([*SHELL, "conda activate x && python train.py"], None),
        ([*SHELL, "pip install peft && python train.py"], None),
        ([*SHELL, "python -m pip install peft && python train.py"], None),
        ([*SHELL, 'PATH="$EXTRA:$PATH" python train.py'], None),
        (["uv", "run", "train.py"], None),
        (["conda", "run", "-n", "x", "python", "train.py"], None),
        (["ssh", "host", "python", "train.py"], None),
        (["bash", "run.sh"], "venv/bin/python"),
        (["./run.sh"], "venv/bin/python"),
        (["bash", "uses_uv.sh"], None),
        (["bash", "prefixed.sh"], "other/bin/python"),
        (["bash", "chosen.sh"], None),
    ],
)
def test_the_command_says_which_interpreter_it_starts(machine: Path, words: list[str], found: str | None) -> None:
    assert ask(machine, words) == found


def test_a_link_to_a_script_leads_to_the_interpreter_beside_it(machine: Path) -> None:
    assert ask(machine, ["paddle", "train.py"], "links") == "venv/bin/python"


def test_a_path_of_a_pod_is_one_of_this_machine(machine: Path) -> None:
    mount = Mount(machine / "venv", "/opt/venv")
    assert ask(machine, ["python", "train.py"], "/opt/venv/bin", (mount,)) == "venv/bin/python"
    assert ask(machine, ["python", "train.py"], "/opt/venv/bin") is None
