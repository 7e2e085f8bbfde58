"""--share-gpu: what is refused before anything starts, and what the job then has."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from paddock.cli.main import run
from paddock.kube.gpu_shares import SHARE_ANNOTATION

JOB = """\
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: x}
spec:
  worker:
    replicas: %d
    template:
      spec:
        containers:
          - {name: main, image: "python:3", command: [python, t.py], resources: {limits: {%s: %d}}}
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text("print(1)\n")
    return tmp_path


@pytest.mark.parametrize("number", ["0", "1", "-1", "x", "65", "1000", "2.5", ""])
@pytest.mark.parametrize(
    "words", [["run", "--share-gpu", "N", "--", "python", "t.py"], ["submit", "job.yaml", "--share-gpu", "N"]]
)
def test_a_number_that_means_nothing_is_refused(
    words: list[str], number: str, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "job.yaml").write_text(JOB % (1, "nvidia.com/gpu", 1))
    assert run([number if word == "N" else word for word in words]) == 2
    assert "Invalid value for '--share-gpu'" in capfd.readouterr().err
    assert not (work / "home").exists(), "nothing was started"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--gpus", "2", "--", "python", "t.py"], "asks for one, and --gpus 2 for several: leave one out"),
        (["run", "--without", "nvidia.com/gpu", "--", "python", "t.py"], "--without nvidia.com/gpu asks for none"),
        (["run", "two.yaml"], "two.yaml: --share-gpu: a rank that shares a GPU (annotation paddock.dev/share-gpu)"),
        (["submit", "two.yaml"], "two.yaml: --share-gpu: a rank that shares a GPU (annotation paddock.dev/share-gpu)"),
        (["run", "none.yaml"], "none.yaml: --share-gpu: no rank of PaddleJob default/x asks for nvidia.com/gpu"),
        (["submit", "none.yaml"], "none.yaml: --share-gpu: no rank of PaddleJob default/x asks for nvidia.com/gpu"),
        (["submit", "map.yaml"], "--share-gpu is for jobs, and there is none here: leave it out"),
    ],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(
    words: list[str], said: str, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "two.yaml").write_text(JOB % (1, "nvidia.com/gpu", 2))
    (work / "none.yaml").write_text(JOB % (1, "cpu", 1))
    (work / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    assert run([words[0], "--share-gpu", "4", *words[1:]]) == 2
    assert said in capfd.readouterr().err
    assert not (work / "home").exists(), "nothing was started"


@pytest.mark.parametrize("words", [["--", "python", "t.py"], ["job.yaml"]])
def test_the_job_has_the_annotation_and_one_gpu(
    words: list[str], work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "job.yaml").write_text(JOB % (1, "nvidia.com/gpu", 1))
    assert run(["run", "--print", "--share-gpu", "4", *words]) == 0
    job = yaml.safe_load(capfd.readouterr().out)
    assert job["metadata"]["annotations"][SHARE_ANNOTATION] == "4"
    (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (["--workers", "2", "--", "torchrun", "t.py"], True),
        (["--workers", "2", "--env", "BACKEND=gloo", "--", "torchrun", "t.py"], False),
        (["--", "torchrun", "t.py"], False),
        (["--workers", "2", "--", "python", "t.py"], False),  # of no framework
        (["job.yaml"], True),
    ],
)
def test_ranks_of_one_job_that_may_share_a_gpu_are_told_of_nccl(
    words: list[str], warned: bool, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "job.yaml").write_text(JOB % (2, "nvidia.com/gpu", 1))
    assert run(["run", "--print", "--share-gpu", "4", *words]) == 0
    assert ("NCCL refuses two ranks on one GPU" in capfd.readouterr().err) is warned


def test_cp_leads_to_files_and_not_to_another_job(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["cp", "train:/x", "."]) == 2
    said = capfd.readouterr().err
    assert "`paddock outputs train`" in said and "`paddock exec train -- cat FILE`" in said and "clone" not in said
