"""Files that are no manifests: what each is, and the command that makes a job of it."""

from __future__ import annotations

import pytest

from paddock.cli.submit.report import build_lines
from paddock.submission.reading import read_manifests, read_script

JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"


def tell(file: str, text: str) -> list[str]:
    reading = read_script(file, text.encode()) or read_manifests(file, text.encode(), "default")
    return [str(each.said) for each in reading.problems]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("sky.yaml", "num_nodes: 2\nrun: python t.py\n", "a task of SkyPilot: `paddock init --from sky.yaml`"),
        ("a b.yml", "type: task\ncommands: [python t.py]\n",
         "a configuration of dstack: `paddock init --from 'a b.yml'`"),
        ("f.yml", "type: fleet\nnodes: 2\n",
         "a configuration of dstack that starts no training: `paddock init -- python train.py`"),
        ("i.yml", "type: dev-environment\nide: vscode\n", "dstack that starts no training"),
        ("s.yml", "resources: {accelerators: A100}\nsetup: ls\n", "a task of SkyPilot that starts no training"),
        ("q.sh", "#!/bin/sh\n#$ -N a\npython t.py\n",
         "a batch script of Grid Engine: `paddock init --from q.sh`"),
        ("t.sbatch", "#!/bin/sh\n#SBATCH -N 2\nsrun x\n", "a batch script of Slurm: `paddock init --from t.sbatch`"),
        ("submit", "arena submit tfjob --name=a 'python t.py'\n", "a command of arena: `paddock init --from submit`"),
        ("run.fish", "set -x A 1\necho it's\n", "a script of fish, and only those of sh and bash are read"),
        ("run.sh", "#!/usr/bin/env fish\npython t.py\n", "a script of fish"),
        ("RUN.PS1", "$env:A = 1\n# don't\n", "a script of PowerShell"),
        ("run", "#!/usr/bin/pwsh\n", "a script of PowerShell"),
        ("run.bat", "@echo off\nREM don't\n", "a script of cmd"),
        ("run.csh", "setenv A 1\nif ($?A) then\nendif\n", "a script of csh"),
        ("run", "#!/bin/tcsh -f\n", "a script of tcsh"),
        ("k/kustomization.yaml", "resources: [a.yaml]\n", "`kubectl kustomize k | paddock run -`"),
        ("kustomization.yml", "", "`kubectl kustomize . | paddock run -`"),
        ("k.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "name it kustomization.yaml"),
        ("k.yaml", "resources: [a.yaml]\nnamePrefix: a-\n", "name it kustomization.yaml"),
        ("a.jsonnet", "{a: 'v1'}\n", "`jsonnet a.jsonnet | paddock run -`"),
        ("a.yaml", "local x = 1;\n{\n a: x }\n", "a program of Jsonnet"),
        ("Dockerfile", "FROM x\nRUN y\n", "this is a Dockerfile"),
        ("gpu.yaml", "FROM x\nRUN y\nCMD z\n", "`docker build -t IMAGE -f gpu.yaml .`"),
        ("Makefile", "all: x\n\tls\ntrain:\n\tpython t.py\n", "`paddock run -- make train`"),
        ("a.mk", "x:\n\tls\n", "`paddock run -- make -f a.mk x`"),
        ("a.ipynb", '{"cells": [], "nbformat": 4}', "`jupyter nbconvert --to script a.ipynb`"),
        ("requirements-dev.txt", "torch\n", "`paddock run -r requirements-dev.txt -- python train.py`"),
        ("f.yaml", "pytorchReplicaSpecs: {Master: {replicas: 1}}\n",
         "are missing: apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata.name, spec;"),
        ("w.yml", "on: [push]\njobs: {a: {runs-on: x, steps: [{run: ls}]}}\n", "a workflow of GitHub, and no job of"),
        (".gitlab-ci.yml", "train: {script: [ls]}\n", "a pipeline of GitLab, and no job of"),
        ("c.yml", "stages: [a]\ntrain: {stage: a, script: [ls]}\n", "a pipeline of GitLab"),
        ("acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n",
         "`paddock run -- accelerate launch --config_file acc.yaml train.py` trains with it"),
        ("ds.json", '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}', "a configuration of DeepSpeed"),
        ("f.yaml", "spec: {jaxReplicaSpecs: {}}\n", "kind: JAXJob, metadata.name;"),
        ("f.yaml", "metadata: {name: a}\nspec: {worker: {replicas: 1}}\n",
         "batch.paddlepaddle.org/v1, kind: PaddleJob;"),
        ("f.yaml", "worker: {replicas: 1, template: {}}\n", "kind: PaddleJob, metadata.name, spec;"),
        ("f.yaml", "Master: {replicas: 1}\n", "kind: PyTorchJob, metadata.name, spec.pytorchReplicaSpecs;"),
        ("f.yaml", "replicas: 2\ntemplate: {}\n", "spec.pytorchReplicaSpecs.Worker;"),
        ("f.yaml", "containers: [{image: x}]\n", "spec.pytorchReplicaSpecs.Worker.template.spec;"),
        ("g.yaml", JOB + "metadata: {name: {{ .Name }}}\n", "a template of Go"),
        ("g.yaml", JOB + "{{- range .Items }}\nx: y\n{{- end }}\n", "a template of Go"),
        ("g.yaml", JOB + "metadata: {name: {{ .Values.name }}}\n", "a template of Helm"),
        ("g.yaml", JOB + "metadata: {name: {{ name }}}\n", "a template of Jinja"),
    ],
)  # fmt: skip
def test_a_file_is_named_with_the_next_command(file: str, text: str, said: str) -> None:
    assert [each for each in tell(file, text) if said in each]


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n",
        "spec: {replicas: 1}\n",
        "resources: {limits: {}}\n",
        "run: x\n",
        "type: task\n",
        "kind: PyTorchJob\nspec: {pytorchReplicaSpecs: {}}\n",
        "x",
        "key: value\n\tx\n",
    ],
)
def test_nothing_is_said_of_a_text_that_nobody_knows(text: str) -> None:
    assert not [each for each in tell("f.yaml", text) if "this is a" in each]


@pytest.mark.parametrize(
    "text",
    [
        JOB + "spec: {pytorchReplicaSpecs: {Worker: {}}}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {Makefile: 'a:\n\tls', run: x}\n",
    ],
)
def test_a_manifest_is_a_manifest_whatever_it_holds(text: str) -> None:
    assert not [each for each in tell("f.yaml", text) if "this is a" in each]


def test_a_text_without_a_name_is_called_file() -> None:
    assert "--from -`" in tell("stdin", "num_nodes: 2\nrun: x\n")[0]


@pytest.mark.parametrize("text", ["{}", "{} x", "{}\n---\n{}\n"])
def test_an_empty_mapping_lacks_what_every_manifest_has(text: str) -> None:
    said = tell("f.yaml", text)
    assert [each for each in said if "is missing" in each]


def test_the_first_line_says_more_than_the_name() -> None:
    assert read_script("run.csh", b"#!/bin/bash\nfleetrun t.py\n") is not None


def test_a_count_of_kinds_is_a_word() -> None:
    priority = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: %s}\nvalue: 1\n"
    reading = read_manifests("p.yaml", "---\n".join(priority % name for name in "ab").encode(), "default")
    assert build_lines([reading], "en") == ["p.yaml: 2 PriorityClass objects, no problems"]


SCRIPT = "#!/bin/bash\npython -m paddle.distributed.launch --np=4 t.py\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SCRIPT.encode("utf-16"), ["UTF-16, which no shell reads"]),
        (SCRIPT.encode("utf-8-sig"), ["mark of its byte order"]),
        (SCRIPT.replace("\n", "\r\n").encode("utf-8-sig"), ["mark of its byte order", "end with CRLF"]),
        (SCRIPT.encode(), []),
    ],
)
def test_a_script_of_another_system_is_read_and_told_what_a_shell_does_with_it(data: bytes, said: list[str]) -> None:
    reading = read_script("run.sh", data)
    assert reading is not None and reading.launches == 1
    found = [str(each.said) for each in reading.problems]
    assert [text for text in found if "--np is refused" in text]
    others = [text for text in found if "--np" not in text]
    assert len(others) == len(said) and all(words in text for words, text in zip(said, others, strict=True))
