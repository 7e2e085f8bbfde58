"""The documents' PyTorch jobs with a real PyTorch: bash is given the text of a program, and nccl where no GPU is."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.commands import Cluster
from support.sandboxes import ONE_SANDBOX

pytestmark = [ONE_SANDBOX, pytest.mark.paddle]

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
SINGLE, DISTRIBUTED = DOCUMENTS / "pytorch_single.yaml", DOCUMENTS / "pytorch_distributed.yaml"
RANKS = ("master-0", "worker-0", "worker-1")
CHECKSUM = """
    total = sum(float(parameter.detach().double().sum()) for parameter in model.parameters())
    print(f'rank {rank} of {world_size} ends with {total:.12f}')
"""
"""What the document's program cannot show: whether the ranks have the same parameters at the end."""


def build_distributed(name: str, command: list[str], directory: Path | None = None, **annotations: str) -> Any:
    """The documents' job with its program as it is, and a line for the parameters, started by `command`."""
    manifest = yaml.safe_load(DISTRIBUTED.read_text(encoding="utf-8"))
    for spec in manifest["spec"]["pytorchReplicaSpecs"].values():
        spec["template"] = deepcopy(spec["template"])  # one object in the document, by an anchor
        (container,) = spec["template"]["spec"]["containers"]
        (source,) = container["args"]
        end = "    if world_size > 1:\n        dist.destroy_process_group()\n"
        assert end in source
        program = source.replace(end, CHECKSUM + end)
        container |= {"command": command, "args": [program] if directory is None else ["train.py"]}
    if directory is not None:
        (directory / "train.py").write_text(program, encoding="utf-8")
        annotations["paddock.dev/working-directory"] = str(directory)
    manifest["metadata"] = {"name": name, "annotations": annotations}
    return manifest


def test_the_single_job_of_the_documents_trains_as_it_is_written(cluster: Cluster) -> None:
    ended = cluster.paddock("run", str(SINGLE), seconds=300)
    assert ended.code == 0, str(ended)
    assert [line.partition(",")[0] for line in ended.lines[:10]] == [f"Epoch [{each}0/100]" for each in range(1, 11)]
    assert ended.lines[10:] == ["Training finished."]
    losses = [float(line.rpartition(" ")[2]) for line in ended.lines[:10]]
    assert losses[-1] < losses[0], "it has learned"
    assert len([line for line in ended.said if "`bash` is given the text of a Python program" in line]) == 1
    pod = cluster.read("/api/v1/namespaces/default/pods/pytorch-single-master-0")
    assert '"command": ["bash"], "args": ["import torch' in pod["metadata"]["annotations"]["paddock.dev/substituted"]


@pytest.mark.parametrize("shape", ["bash -c SOURCE", "python train.py"])
def test_the_distributed_job_trains_with_three_ranks_that_end_with_the_same_parameters(
    cluster: Cluster, tmp_path: Path, shape: str
) -> None:
    command = {"bash -c SOURCE": ["bash", "-c"], "python train.py": ["python"]}[shape]
    directory = tmp_path if shape == "python train.py" else None
    ended = cluster.paddock("run", cluster.write(build_distributed("ddp", command, directory)), seconds=300)
    assert ended.code == 0, str(ended)
    assert re.findall(r"^(\S+) +│ Rank: (\d), World Size: 3$", sorted_lines(ended.out), re.M) == [
        ("master-0", "0"), ("worker-0", "1"), ("worker-1", "2")
    ]  # fmt: skip
    assert len(re.findall(r"uses gloo in place of nccl", ended.out + ended.err)) == 1
    assert len(re.findall(r"^master-0 │ Epoch \d, Loss: \d", ended.out, re.M)) == 10
    sums = re.findall(r"rank \d of 3 ends with (\S+)$", ended.out, re.M)
    assert len(sums) == 3 and len(set(sums)) == 1, str(ended)
    assert "warning: master-0 printed" not in ended.err


def sorted_lines(text: str) -> str:
    """The ranks print in any order."""
    return "\n".join(sorted(text.splitlines()))


def test_with_substitutions_off_the_swallowed_error_is_named_with_its_rank_and_line(cluster: Cluster) -> None:
    job = build_distributed("off", ["python3", "-c"], **{"paddock.dev/substitute": "false"})
    ended = cluster.paddock("run", cluster.write(job), seconds=300)
    assert ended.code == 0, str(ended)
    swallowed = "Error initializing process group: Distributed package doesn't have NCCL built in"
    said = re.search(rf"warning: master-0 printed an error .* line (\d+) of its log: “{swallowed}”", ended.err)
    assert said, str(ended)
    lines = cluster.paddock("logs", "off", "--role", "master", "--raw").lines
    assert lines[int(said[1]) - 1].endswith(swallowed)
    assert "take the annotation paddock.dev/substitute off it" in ended.err
    for verb in "explain", "describe":
        assert f"“{swallowed}”" in cluster.paddock(verb, "off").out
    assert swallowed in cluster.paddock("wait", "off").err


def test_with_substitutions_off_bash_is_given_what_is_written_and_the_job_fails(cluster: Cluster) -> None:
    manifest = yaml.safe_load(SINGLE.read_text(encoding="utf-8"))
    manifest["metadata"]["annotations"] = {"paddock.dev/substitute": "false"}
    manifest["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Never"
    ended = cluster.paddock("run", cluster.write(manifest), seconds=300)
    assert ended.code == 1, str(ended)
    assert "master-0 ended with exit code 126, its last line: : File name too long" in ended.err


FAILS = """
import os, signal
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
for step in range(5):
    if dist.get_rank() == 1 and step == 2:
        END
    dist.all_reduce(torch.ones(1))
"""


@pytest.mark.parametrize(
    ("end", "error"),
    [
        pytest.param(
            "raise ValueError(f'the label {step} is out of range')",
            "ValueError: the label 2 is out of range",
            marks=pytest.mark.sample,  # torchrun: it starts, substitutes nccl, sums, fails, and its cause is found
        ),
        # its peer raises an exception, and this process none
        ("os.kill(os.getpid(), signal.SIGKILL)", "Signal 9 (SIGKILL) received by PID "),
    ],
    ids=["raises", "is killed"],
)
def test_of_a_torchrun_the_end_of_its_process_is_the_cause(
    cluster: Cluster, tmp_path: Path, end: str, error: str
) -> None:
    (tmp_path / "train.py").write_text(FAILS.replace("END", end), encoding="utf-8")
    words = ("--name", "fails", "--workdir", str(tmp_path), "--", "torchrun", "--nproc_per_node=2", "train.py")
    ended = cluster.paddock("run", *words, seconds=300)
    assert ended.code == 1, str(ended)
    cause = f"master-0 failed: {error}"
    assert cause in ended.err, str(ended)
    assert len(re.findall(r"uses gloo in place of nccl", ended.out + ended.err)) == 1
    assert cause in cluster.paddock("get").out
    assert cause in cluster.paddock("history", "fails").out
    job = cluster.read("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/fails")
    assert job["status"]["why"].startswith(cause)
