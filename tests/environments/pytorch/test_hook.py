"""gloo in place of nccl, where no GPU is and a job allows it. The module runs in environments; torch is a stand-in."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from paddock.environments.builder import Builder
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import read_definition
from paddock.environments.pytorch import paddock_torch
from paddock.environments.pytorch.hook import add_hook
from paddock.environments.uv import find_uv

STAND_IN = """
import sys
has_nccl = "nccl" in sys.argv[1:]

def is_nccl_available():
    return has_nccl

def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    print("init", backend, init_method, world_size, pg_options, device_id)

def new_group(ranks=None, timeout=None, backend=None, pg_options=None):
    print("group", ranks, backend, pg_options)
"""


@pytest.mark.parametrize(
    ("wanted", "has_nccl", "chosen"),
    [
        ("nccl", False, "gloo"),
        ("NCCL", True, "gloo"),
        ("cuda:nccl", False, "gloo"),
        ("cpu:gloo,cuda:nccl", False, "gloo"),
        ("gloo", True, ""),
        ("cpu:gloo", True, ""),
        ("mpi", False, ""),
        ("xccl", False, ""),
        (None, False, ""),  # torch takes gloo by itself
        (None, True, "gloo"),
    ],
)
def test_which_backends_are_replaced(wanted: str | None, has_nccl: bool, chosen: str) -> None:
    assert paddock_torch.choose_backend(wanted, has_nccl) == chosen


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A venv's site-packages with the hook and a package torch whose GPU is `torch.gpu`."""
    site = tmp_path / "lib/python3.11/site-packages"
    package = site / "torch/distributed"
    package.mkdir(parents=True)
    (site / "torch/__init__.py").write_text(
        "import sys\nclass cuda:\n    is_available = staticmethod(lambda: 'gpu' in sys.argv[1:])\n"
    )
    (package / "distributed_c10d.py").write_text(STAND_IN)
    (package / "__init__.py").write_text("import torch\nfrom .distributed_c10d import *\n")
    add_hook(tmp_path)
    return site


def run(site: Path, code: str, *words: str, switch: str = "1", rank: str = "") -> tuple[str, str]:
    """Output and errors of a Python that reads the `.pth` files of `site`, as one of the environment does. `rank`: the
    variable RANK, empty without it."""
    whole = f"import site; site.addsitedir({str(site)!r})\n{code}"
    environ = {**os.environ, "PADDOCK_SUBSTITUTE": switch, "RANK": rank}
    if not rank:
        del environ["RANK"]
    done = subprocess.run(
        [sys.executable, "-c", whole, *words], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


INIT = "import torch.distributed as d; d.init_process_group('nccl', world_size=3)"


def test_nccl_becomes_gloo_and_one_line_says_so(environment: Path) -> None:
    code = f"{INIT}; d.new_group([0, 1], backend='nccl'); d.new_group([0])"
    output, errors = run(environment, code)
    assert output.splitlines() == ["init gloo None 3 None None", "group [0, 1] gloo None", "group [0] None None"]
    assert errors.splitlines() == [paddock_torch.MESSAGE]
    assert 'paddock.dev/substitute: "false"' in errors


TOLD = "import time; time.sleep = lambda seconds: print('waits', seconds)"


@pytest.mark.parametrize(
    ("code", "words", "waits"),
    [
        (f"{INIT}; d.new_group([0])", (), 1),
        ("import torch.distributed as d; d.init_process_group('gloo', world_size=3)", (), 1),
        (INIT, ("gpu",), 0),
        ("import torch.distributed", (), 0),
        (f"import atexit; atexit.register(print, 'first'); {INIT}; atexit.register(print, 'program')", (), 1),
    ],
    ids=["nccl", "gloo", "a GPU", "no group", "after the program's own"],
)
def test_the_end_of_a_process_with_gloo_gives_its_threads_a_moment(
    environment: Path, code: str, words: tuple[str, ...], waits: int
) -> None:
    output, _ = run(environment, f"{TOLD}; {code}", *words)
    ends = [line for line in output.splitlines() if line.split()[0] in ("waits", "program", "first")]
    assert ends.count(f"waits {paddock_torch.MOMENT}") == waits
    assert ends in ([], ["waits 0.1"], ["program", "waits 0.1", "first"])


@pytest.mark.parametrize(
    ("argument", "grouped", "variable", "rank"),
    [
        (-1, None, "1", "1"),  # env://, also of a torchrun
        (None, None, "0", "0"),
        (1, None, "0", "1"),  # processes that a pod's program starts itself
        (0, None, "1", "0"),
        (None, 2, "0", "2"),
        (-1, -1, "", ""),  # of a process that is not in the group
        (None, None, "", ""),  # tcp://host:1?rank=1
    ],
)
def test_which_rank_this_is(argument: object, grouped: object, variable: str, rank: str) -> None:
    assert paddock_torch.choose_rank(argument, grouped, variable) == rank


@pytest.mark.parametrize(
    ("rank", "argument", "said"),
    [("0", "", 1), ("1", "", 0), ("", "", 1), ("", ", rank=0", 1), ("", ", rank=2", 0), ("0", ", rank=1", 0)],
)
def test_the_first_rank_says_it_for_the_job(environment: Path, rank: str, argument: str, said: int) -> None:
    code = f"import torch.distributed as d; d.init_process_group('nccl', world_size=3{argument})"
    output, errors = run(environment, f"{code}; d.new_group(None, None, 'nccl')", rank=rank)
    assert output.startswith("init gloo ")
    assert errors.splitlines() == [paddock_torch.MESSAGE] * said


def test_a_new_group_is_told_by_the_first_rank_of_the_job(environment: Path) -> None:
    path = environment / "torch/distributed/distributed_c10d.py"
    path.write_text(STAND_IN + "def get_rank():\n    return 1\n")
    code = "import torch.distributed as d; d.new_group([0, 1], backend='nccl')"
    assert run(environment, code, rank="0") == ("group [0, 1] gloo None\n", "")


@pytest.mark.parametrize("switch", ["0", ""])
def test_a_job_that_turned_it_off_has_its_nccl(environment: Path, switch: str) -> None:
    assert run(environment, INIT, switch=switch) == ("init nccl None 3 None None\n", "")


def test_a_machine_with_a_gpu_has_its_nccl(environment: Path) -> None:
    assert run(environment, INIT, "gpu") == ("init nccl None 3 None None\n", "")


def test_other_backends_stay_and_nothing_is_said(environment: Path) -> None:
    code = "import torch.distributed as d; d.init_process_group('gloo', 'env://'); d.init_process_group()"
    assert run(environment, code) == ("init gloo env:// -1 None None\ninit None None -1 None None\n", "")


def test_torchs_own_choice_of_nccl_is_replaced(environment: Path) -> None:
    output, errors = run(environment, "import torch.distributed as d; d.init_process_group()", "nccl")
    assert output == "init gloo None -1 None None\n"
    assert errors.splitlines() == [paddock_torch.MESSAGE]


def test_what_is_nccls_alone_is_left_out(environment: Path) -> None:
    code = "import torch.distributed as d; d.init_process_group(backend='nccl', pg_options='O', device_id='cuda:0')"
    assert run(environment, code)[0] == "init gloo None -1 None None\n"


@pytest.mark.parametrize(("device", "passed"), [("0", "None"), ("'cuda'", "None"), ("'cpu'", "cpu"), ("None", "None")])
def test_a_gpu_to_bind_to_is_left_out_however_it_is_named(environment: Path, device: str, passed: str) -> None:
    code = f"import torch.distributed as d; d.init_process_group('nccl', device_id={device})"
    assert run(environment, code)[0] == f"init gloo None -1 None {passed}\n"


def test_who_looks_for_the_module_turns_nothing_off(environment: Path) -> None:
    code = f"import importlib.util; importlib.util.find_spec('torch.distributed.distributed_c10d'); {INIT}"
    assert run(environment, code)[0] == "init gloo None 3 None None\n"
    looked = f"import sys, torch; sys.meta_path[0].find_spec({paddock_torch.TARGET!r}, None); {INIT}"
    assert run(environment, looked)[0] == "init gloo None 3 None None\n"


def test_a_torch_that_cannot_be_changed_is_imported_all_the_same(environment: Path) -> None:
    (environment / "torch/distributed/distributed_c10d.py").write_text("init_process_group = 5\n")
    output, errors = run(environment, "import torch.distributed as d; print(d.init_process_group)")
    assert output == "5\n"
    assert errors.startswith("paddock: torch.distributed keeps nccl: TypeError(")
    assert len(errors.splitlines()) == 1


def test_a_torch_of_another_kind_has_no_nccl(environment: Path) -> None:
    path = environment / "torch/distributed/distributed_c10d.py"
    path.write_text(STAND_IN.replace("is_nccl_available", "other"))
    assert run(environment, "import torch.distributed as d; d.init_process_group()")[1] == ""


def test_a_wrong_call_is_torchs_to_explain(environment: Path) -> None:
    code = "import torch.distributed as d\ntry: d.init_process_group(x=1)\nexcept TypeError as e: print(e)"
    assert "unexpected keyword argument 'x'" in run(environment, code)[0]


def test_a_python_without_torch_is_left_alone(environment: Path) -> None:
    code = "import json, sys; print([each for each in ('inspect', 'typing', 'torch') if each in sys.modules])"
    plain, _ = run(environment, code, switch="0")
    assert run(environment, code) == (plain, "")


def test_the_functions_keep_their_names_and_signatures() -> None:
    module: Any = ModuleType("stand_in")
    exec(STAND_IN, module.__dict__)
    paddock_torch.change(module)
    assert module.init_process_group.__name__ == "init_process_group"
    assert module.new_group.__wrapped__.__name__ == "new_group"


def test_the_module_needs_nothing_of_paddock() -> None:
    spec = importlib.util.find_spec("paddock.environments.pytorch.paddock_torch")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    assert "from paddock" not in source
    assert "import paddock" not in source


@pytest.mark.paddle
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_real_torch_trains_by_gloo_a_program_that_says_nccl(tmp_path: Path) -> None:
    builder = Builder(Path.home() / ".cache/paddock/environments", dict(os.environ), find_uv())
    definition = next(each for each in map(read_definition, build_defaults()) if each.name == "pytorch")
    built = asyncio.run(builder.build(definition, lambda progress: None))
    code = f"""
import torch.distributed as d
d.init_process_group("nccl", rank=0, world_size=1, init_method="file://{tmp_path}/store")
print(d.get_backend(), d.get_backend(d.new_group(backend="nccl")), d.init_process_group.__name__)
"""
    environ = {**os.environ, "PADDOCK_SUBSTITUTE": "1"}
    done = subprocess.run([f"{built.path}/bin/python", "-c", code], env=environ, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("gloo gloo init_process_group\n", 0), done.stderr
    assert done.stderr.splitlines() == [paddock_torch.MESSAGE]
    refused = subprocess.run([f"{built.path}/bin/python", "-c", code], capture_output=True, text=True)
    assert "Distributed package doesn't have NCCL built in" in refused.stderr
