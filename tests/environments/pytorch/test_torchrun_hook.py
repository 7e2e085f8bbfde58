"""The exception that ends a process of torchrun, in the file that torchrun reads. The module runs in environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paddock.environments.pytorch import paddock_torchrun
from paddock.environments.pytorch.hook import add_hook

RAISES = "def train():\n    raise ValueError('bad label 10')\ntrain()\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A venv's site-packages with the hook."""
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    add_hook(tmp_path / "venv")
    return packages


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "error.json"


def started(file: Path) -> dict[str, str]:
    """The variables of a process that torchrun starts."""
    return {"TORCHELASTIC_ERROR_FILE": str(file), "TORCHELASTIC_RUN_ID": "none"}


def run(site: Path, code: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A Python that reads the `.pth` files of `site`, as one of the environment does."""
    (site / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(site)!r})\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC")}
    environ |= {"PYTHONPATH": str(site), **variables}
    return subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)


def read_message(file: Path) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(file.read_text())["message"]
    return message


def test_torchrun_is_told_the_exception_that_ends_its_process_and_it_is_printed_as_ever(site: Path, file: Path) -> None:
    done = run(site, RAISES, started(file))
    assert done.returncode == 1
    assert done.stderr == run(site, RAISES, {}).stderr
    message = read_message(file)
    assert message["message"] == "ValueError: bad label 10"
    assert message["extraInfo"]["py_callstack"] == done.stderr
    assert int(message["extraInfo"]["timestamp"]) > 1_700_000_000
    assert [each.name for each in file.parent.glob("error*")] == ["error.json"]


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit(3)",
        "import sys; sys.exit(3)",
        "import sys; sys.exit(0)",
        "import sys; sys.exit()",
        "import sys; sys.exit('')",
        "import sys, threading; t = threading.Thread(target=sys.exit, args=('x',)); t.start(); t.join()",
        "import os, sys\nif not os.fork(): sys.exit('of a fork')\nos.wait()",
        "raise KeyboardInterrupt",
        "print()",
        "import threading; t = threading.Thread(target=lambda: 1/0); t.start(); t.join()",
        "try: 1/0\nexcept ZeroDivisionError: pass",
    ],
)
def test_what_is_no_exception_of_the_program_is_not_told(site: Path, file: Path, code: str) -> None:
    run(site, code, started(file))
    assert not file.exists()


PARSER = "import argparse; p = argparse.ArgumentParser('t.py'); p.add_argument('--lr', type=float); "


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import sys; sys.exit('cannot read data.csv')", 1, "cannot read data.csv"),
        (f"{PARSER}p.parse_args(['--local-rank=1'])", 2, "t.py: error: unrecognized arguments: --local-rank=1"),
        (f"{PARSER}p.parse_args(['--lr', 'x'])", 2, "t.py: error: argument --lr: invalid float value: 'x'"),
        ("import sys\ntry: 1/0\nexcept Exception: sys.exit(4)", 4, "ZeroDivisionError: division by zero"),
        # A caught exit does not stand in the way of what ends the program.
        ("import sys\ntry: sys.exit('first')\nexcept SystemExit: pass\n1/0", 1, "ZeroDivisionError: division by zero"),
        ("import sys\ntry: sys.exit('first')\nexcept SystemExit: pass\nsys.exit('then')", 1, "then"),
    ],
)
def test_torchrun_is_told_the_text_of_an_exit(site: Path, file: Path, code: str, status: int, said: str) -> None:
    done = run(site, code, started(file))
    plain = run(site, code, {})
    assert (done.returncode, done.stdout, done.stderr) == (status, plain.stdout, plain.stderr)
    assert read_message(file)["message"] == said


GLOO = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:19139. This is"


@pytest.mark.parametrize(
    "error",
    [
        f"RuntimeError({GLOO!r})",
        "RuntimeError('[x/pair.cc:534] Connection reset by peer')",
        "RuntimeError('writev [127.0.0.1]:2: Broken pipe')",
        "RuntimeError('NCCL error: remote process exited or there was a network error')",
        "ConnectionResetError(104, 'Connection reset by peer')",
    ],
)
def test_a_lost_peer_is_not_told_as_torchrun_would_take_the_first_error_for_the_cause(
    site: Path, file: Path, error: str
) -> None:
    assert run(site, f"raise {error}", started(file)).returncode == 1
    assert not file.exists()


@pytest.mark.parametrize("error", ["ValueError('peer')", "KeyError('closed')", "RuntimeError('CUDA error')"])
def test_an_error_of_ones_own_is_told(site: Path, file: Path, error: str) -> None:
    run(site, f"raise {error}", started(file))
    assert file.exists()


@pytest.mark.parametrize(
    "variables",
    [{}, {"TORCHELASTIC_RUN_ID": ""}, {"TORCHELASTIC_ERROR_FILE": ""}],
    ids=["no torchrun", "a file of the user's own", "no file"],
)
def test_a_python_that_no_torchrun_has_started_is_left_alone(site: Path, file: Path, variables: dict[str, str]) -> None:
    given = {**started(file), **variables} if variables else {}
    assert run(site, "import sys; print(sys.excepthook is sys.__excepthook__)", given).stdout == "True\n"


def test_what_record_has_written_stays(site: Path, file: Path) -> None:
    file.write_text("{}")
    run(site, RAISES, started(file))
    assert file.read_text() == "{}"


def test_an_empty_file_is_none(site: Path, file: Path) -> None:
    file.touch()
    run(site, RAISES, started(file))
    assert read_message(file)["message"] == "ValueError: bad label 10"


def test_a_program_that_a_process_starts_has_its_own_errors(site: Path, file: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', '1/0'])"
    assert "ZeroDivisionError" in run(site, code, started(file)).stderr
    assert not file.exists()
    forked = "import os\nif not os.fork(): 1/0\nos.wait()"
    assert "ZeroDivisionError" in run(site, forked, started(file)).stderr
    assert not file.exists()


def test_a_program_that_takes_the_place_of_the_process_is_still_torchruns(site: Path, file: Path) -> None:
    run(site, "import os, sys; os.execv(sys.executable, [sys.executable, '-c', '1/0'])", started(file))
    assert read_message(file)["message"] == "ZeroDivisionError: division by zero"


def test_a_torchrun_below_a_torchrun_has_a_file_of_its_own(site: Path, file: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner.json"
    code = f"import os, subprocess, sys; os.environ['TORCHELASTIC_ERROR_FILE'] = {str(inner)!r}\n"
    code += "subprocess.run([sys.executable, '-c', '1/0'])"
    run(site, code, started(file))
    assert (inner.exists(), file.exists()) == (True, False)


def test_a_hook_of_before_is_called_and_one_of_later_may_call_this_one(site: Path, file: Path) -> None:
    later = "import sys; old = sys.excepthook\ndef own(*a): print('own'); old(*a)\nsys.excepthook = own\n"
    done = run(site, later + RAISES, started(file))
    assert done.stdout == "own\n"
    assert "ValueError: bad label 10" in done.stderr
    assert read_message(file)["message"] == "ValueError: bad label 10"


def test_a_file_that_cannot_be_written_is_one_line_and_the_error_is_printed(site: Path, file: Path) -> None:
    done = run(site, RAISES, started(file / "no" / "such"))
    assert done.returncode == 1
    assert done.stderr.startswith("paddock: torchrun is not told of this error: FileNotFoundError(")
    assert done.stderr.endswith("ValueError: bad label 10\n")


def catch(code: str) -> BaseException:
    try:
        exec(code, {})
    except BaseException as error:
        return error
    raise AssertionError(code)


def explain(error: BaseException) -> str:
    return paddock_torchrun.explain(type(error), error, error.__traceback__)


DEEP = """
def chained():
    try: {}["x"]
    except KeyError as error: raise ValueError("deep") from error
def even(n): odd(n - 1) if n else chained()
def odd(n): even(n - 1)
even(40)
"""


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("raise ValueError('short')", "ValueError: short\n"),
        (DEEP, "in chained\nValueError: deep\n"),
        ("raise RuntimeError('Missing keys:' + '\\n\\tlayer.weight' * 500)", " …\n"),
        ("raise RuntimeError('\\u4e2d' * 4000)", "中 …\n"),
    ],
)
def test_a_traceback_fits_into_what_is_kept_of_a_log(code: str, ends: str) -> None:
    text = explain(catch(code))
    assert text.startswith("Traceback (most recent call last):\n  File ")
    assert text.endswith(ends)
    indented = text.replace("\n", "\n  ")
    assert len(indented.encode()) <= paddock_torchrun.LARGEST + 10


def test_the_module_needs_nothing_of_paddock_and_imports_little(site: Path, file: Path) -> None:
    source = Path(paddock_torchrun.__file__).read_text()
    assert "from paddock" not in source
    assert "import paddock" not in source
    code = "import sys; print(sorted({'json', 'traceback', 'typing', 'time'} & set(sys.modules)))"
    assert run(site, code, started(file)).stdout == run(site, code, {}).stdout
