"""A shell that is given Python runs it by Python; a shell script is never replaced, whatever it looks like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.jobs.frameworks.python_source import MOST, START, is_python, run_source

ROOT = Path(__file__).parents[3]
DOCUMENTS = [(ROOT / "tests/documents" / f"pytorch_{name}.txt").read_text() for name in ("single", "distributed")]
PROGRAM = "import torch\nprint(torch.__version__)\n"

PYTHON = [
    *DOCUMENTS,
    PROGRAM,
    "print('hello')",
    "import torch; print(torch.cuda.is_available())",
    "#!/usr/bin/env python3\nmain(1)\n",
    "\n\n# 训练\nfrom train import main\nmain()\n",
    "for epoch in range(3):\n    print(epoch)\n",
    "if True:\n\tx = 1\n",
    "'''Trains.'''\nclass Net:\n    ...\n",
    "import os\r\nprint(os.environ['RANK'])\r\n",
    "rank = 0\nprint('first') if rank == 0 else None\n",
    "path = '\\d'\nprint(path)\n",
]


@pytest.mark.parametrize("text", PYTHON)
def test_a_program_is_python(text: str) -> None:
    assert is_python(text)


SHELL = [
    "python train.py",
    "python3 train.py --epochs=10\n",
    "train",
    "train.sh",
    "scripts/train.py",
    "/workspace/train.py",
    "true",
    "nvidia-smi",
    "ls -l",
    "set -e\ntrain\n",
    "set -x; nvidia-smi",
    "A=1\nB='two'\n",
    "pass",
    "exit",
    "import screenshot",
    "import os\n",
    "import shot.png\nls -l\n",
    "# print(1)\n",
    "python3 <<EOF\nprint(1)\nEOF\n",
    "python3 <<'EOF'\nimport torch\nprint(torch.__version__)\nEOF\n",
    "python3 < train.py\nprint(1)\n",
    "for x in a:\n  do\n  ls\n  done\n",
    "if true:\n  then\n  ls\n  fi\n",
    "while x:\n  do\n  ls\n  done\n",
    "f() (ls)\nf\n",
    "f() (ls)",
    "main()\n(ls)\n",
    "a=f'{g(1)}'\n",
    "a='print(1)'\nb=\"f(2)\"\n",
    "[[ a ]]\n",
    "rm +(a)\n",
    "a=(1)\n",
    "#!/bin/bash\nprint(1)\n",
    "#!/usr/bin/perl\nprint(1);\n",
    "echo 'import torch'\nprint(1)\n",
    "pip install torch\nimport torch\nprint(1)\n",
    "cd /workspace && python -c 'import torch; print(1)'",
    "python - <<'EOF'\nimport torch\nEOF\n",
    "",
    "  \n",
    "print 'hello'\n",
    "print(1\n",
    "print(1)\0",
    "(" * 500 + ")" * 500,
    f"print({'1' * MOST})",
]


@pytest.mark.parametrize("text", SHELL, ids=lambda text: text[:40])
def test_a_shell_script_and_what_is_neither_are_not_python(text: str) -> None:
    assert not is_python(text)


def test_where_a_path_stands_an_import_is_proof_and_a_path_is_none() -> None:
    assert is_python("import torch", may_be_shell=False)
    assert not any(is_python(path, may_be_shell=False) for path in ("train.sh", "/a/b.sh", "run", "a-b.py", "x"))


COMMANDS = [
    (["bash"], [PROGRAM], "bash", []),
    (["bash", PROGRAM], [], "bash", []),
    ([], ["sh", PROGRAM], "sh", []),
    (["/bin/bash"], [PROGRAM, "--epochs", "3"], "/bin/bash", ["--epochs", "3"]),
    (["bash", "-c"], [PROGRAM], "bash", []),
    (["bash", "-lc", PROGRAM], [], "bash", []),
    (["bash", "-l", "-c", PROGRAM], [], "bash", []),
    (["bash", "--login", "-o", "pipefail", "-ec", PROGRAM, "name", "a"], [], "bash", ["a"]),
    (["bash", "-euo", "pipefail", "-c", PROGRAM], [], "bash", []),
    (["bash", "-x", PROGRAM], [], "bash", []),
    (["bash", "import torch"], [], "bash", []),
]


@pytest.mark.parametrize(("command", "args", "shell", "given"), COMMANDS)
def test_both_forms_run_the_text_with_its_arguments(
    command: list[str], args: list[str], shell: str, given: list[str]
) -> None:
    container = {"name": "pytorch", "command": command, "args": args, "env": []}
    result, notice = run_source(container)
    source = "import torch" if "import torch" in command else PROGRAM
    assert result == {"name": "pytorch", "env": [], "command": [shell, "-c", START, source, *given]}
    assert notice is not None and f"`{shell.rpartition('/')[2]}` is given the text of a Python program" in str(
        notice.said
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["bash"],
        ["bash", "-c"],
        ["bash", "train.sh"],
        ["bash", "-c", "python train.py"],
        ["bash", "-c", "import os"],
        ["bash", "--norc", "train.sh", PROGRAM],
        ["bash", "-c", 'python3 -c "$0"', PROGRAM],
        ["python3", "-c", PROGRAM],
        ["env", "bash", "-c", PROGRAM],
        ["torchrun", PROGRAM],
        ["bash", "-c", 5],
    ],
)
def test_anything_else_is_run_as_it_is_written(words: list[Any]) -> None:
    container = {"name": "pytorch", "command": words}
    assert run_source(container) == (container, None)


def start(source: str, directory: Path, *given: str) -> subprocess.CompletedProcess[str]:
    result, _ = run_source({"command": ["bash"], "args": [source, *given]})
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {"PATH": path, "TMPDIR": str(directory), "PYTHONPATH": "/elsewhere"}
    return subprocess.run(
        result["command"], cwd=directory, env=variables, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_program_is_a_file_so_that_its_traceback_and_its_processes_have_its_text(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("VALUE = 7\n")
    source = (
        "import inspect, multiprocessing, sys\nimport mine\n"
        "def work(x):\n    return x + mine.VALUE\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [1]), inspect.getsource(work).splitlines()[0], sys.argv[1:])\n"
        "    print('quotes \" \\' $HOME `ls`')\n"
        "    raise ValueError('bad')  # here\n"
    )
    ended = start(source, tmp_path, "a b")
    assert ended.stdout == "[8] def work(x): ['a b']\nquotes \" ' $HOME `ls`\n"
    assert ended.returncode == 1
    assert "line 9, in <module>\n    raise ValueError('bad')  # here\n" in ended.stderr


@pytest.mark.parametrize("levels", [1_100, 2_000, 4_000, 50_000])
@pytest.mark.parametrize("part", ["+ 1 ", ".b ", "if a else 1 "])
def test_a_program_of_any_depth_ends_no_operator(levels: int, part: str) -> None:
    """It is Python where Python itself can read it."""
    assert is_python(f"x = 1 {part * levels}\nprint(x)", may_be_shell=True) in (True, False)
    assert is_python(f"x = 1 {'+ 1 ' * 1_100}\nprint(x)")


@pytest.mark.parametrize(("name", "replicas"), [("single", [1]), ("distributed", [1, 2])])
def test_the_documents_jobs_have_the_documents_programs_to_the_byte(name: str, replicas: list[int]) -> None:
    text = (ROOT / "examples/documents" / f"pytorch_{name}.yaml").read_text(encoding="utf-8")
    specs = yaml.safe_load(text)["spec"]["pytorchReplicaSpecs"]
    assert [spec["replicas"] for spec in specs.values()] == replicas
    for spec in specs.values():
        (container,) = spec["template"]["spec"]["containers"]
        source = (ROOT / "tests/documents" / f"pytorch_{name}.txt").read_bytes().decode()
        assert (container["command"], container["args"]) == (["bash"], [source])
