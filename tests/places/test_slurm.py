"""`--to slurm`: what sbatch is asked for, what is refused, and both files on a real Slurm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paddock.cli.cluster.errors import UserError
from paddock.cli.main import cli
from places.manifests import build_paddle, build_role, build_torch, write_manifest
from support.slurm import run_sbatch

PROGRAM = """
import os, sys
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "asks", os.environ["MASTER_ADDR"], *sys.argv[1:])
sys.exit(3 if "fail" in sys.argv and os.environ["RANK"] == "1" else 0)
"""


def render(target: Path, manifest: dict[str, Any]) -> Result:
    typed = ["render", str(write_manifest(target, manifest)), "--to", "slurm", "-o", str(target)]
    return CliRunner().invoke(cli, typed, prog_name="paddock")


def list_options(target: Path) -> list[str]:
    return [line.removeprefix("#SBATCH --") for line in (target / "demo.sbatch").read_text().splitlines()
            if line.startswith("#SBATCH ")]  # fmt: skip


def of_two(*words: str, **resources: Any) -> dict[str, Any]:
    asked = {"resources": resources} if resources else {}
    return build_torch(Master=build_role(1, *words, **asked), Worker=build_role(1, *words, **asked))


@pytest.mark.parametrize(
    ("resources", "options"),
    [
        ({}, []),
        ({"requests": {"cpu": "1500m", "memory": "100Mi"}}, ["cpus-per-task=2", "mem=100M"]),
        ({"limits": {"cpu": 8, "memory": "1G"}}, ["cpus-per-task=8", "mem=954M"]),
        ({"limits": {"cpu": 8}, "requests": {"cpu": 2}}, ["cpus-per-task=2"]),
        ({"limits": {"nvidia.com/gpu": 4}}, ["gres=gpu:4"]),
        ({"limits": {"huawei.com/Ascend910": 4}}, []),
    ],
)
def test_sbatch_is_asked_for_what_a_rank_asks_for(tmp_path: Path, resources: Any, options: list[str]) -> None:
    assert render(tmp_path, of_two("python", "net.py", **resources)).exit_code == 0
    begin = ["job-name=demo", "nodes=2", "ntasks=2", "ntasks-per-node=1"]
    assert list_options(tmp_path) == [*begin, *options, "output=demo-%j.log"]


def test_what_the_largest_rank_asks_for_is_asked_for_on_each_node_and_said(tmp_path: Path) -> None:
    small, large = ({"resources": {"requests": {"cpu": count}}} for count in (1, 6))
    manifest = build_torch(
        Master=build_role(1, "python", "net.py", **small), Worker=build_role(2, "python", "net.py", **large)
    )
    done = render(tmp_path, manifest)
    assert "cpus-per-task=6" in list_options(tmp_path)
    assert "Slurm gives each node of a job the same" in done.output


def test_a_deadline_is_minutes_rounded_up(tmp_path: Path) -> None:
    manifest = of_two("python", "net.py")
    manifest["spec"]["runPolicy"] = {"activeDeadlineSeconds": 61}
    assert render(tmp_path, manifest).exit_code == 0
    assert "time=2" in list_options(tmp_path)


def test_cards_whose_name_at_a_site_is_not_known_are_said(tmp_path: Path) -> None:
    done = render(tmp_path, of_two("python", "net.py", limits={"kunlunxin.com/xpu": 2}))
    assert "how your site's Slurm calls cards of XPU is not known" in done.output


def test_parameter_servers_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    servers = build_paddle(ps=build_role(1, "python", "train.py"), worker=build_role(2, "python", "train.py"))
    done = render(tmp_path, servers)
    assert isinstance(done.exception, UserError)
    assert "parameter servers are lost" in str(done.exception) and "nothing is written" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["job.yaml"]


@pytest.mark.slow
def test_a_linter_finds_nothing_in_the_files(tmp_path: Path) -> None:
    assert render(tmp_path, of_two("python", "net.py", limits={"nvidia.com/gpu": 1})).exit_code == 0
    tool = Path(sys.executable).parent / "shellcheck"
    for file in ("demo.sbatch", "entry.sh"):
        lint = subprocess.run([tool, str(tmp_path / file)], capture_output=True, text=True)
        assert lint.stdout == ""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("more", ["a 'b c'", "fail"])
def test_a_real_slurm_runs_each_rank_on_a_node_of_its_own_and_ends_as_they_do(tmp_path: Path, more: str) -> None:
    directory = tmp_path / "shared"
    directory.mkdir()
    assert render(directory, of_two(sys.executable, "net.py", more)).exit_code == 0
    (directory / "net.py").write_text(PROGRAM)
    done = run_sbatch(directory, "demo.sbatch")
    (log,) = directory.glob("demo-*.log")
    said = log.read_text()
    fails = more == "fail"
    # 143: of the other rank, where Slurm has ended it
    assert done.returncode in ((3, 143) if fails else (0,)), f"{done}\n{said}"
    assert ("node-2: task 1: Exited with exit code 3" in said) is fails
    for rank in (1,) if fails else (0, 1):
        assert f"{rank}: rank {rank} of 2 asks 10.9.0.1 {more}" in said.splitlines()
