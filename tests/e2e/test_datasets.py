"""Jobs that mount Datasets, from the command line to what a program reads.

The Datasets are directories of this machine, which need no fetching: a job waits as it does for any other.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from e2e.commands import Cluster, until

HOST = ("--image", "python:3")
READ = """import os, sys
print("read", *sorted(os.listdir(sys.argv[1])), open(sys.argv[1] + "/words.txt").read(), flush=True)
"""


@pytest.fixture
def work(shared: Cluster) -> Path:
    directory = shared.directory / "data sets"
    (directory / "words").mkdir(parents=True, exist_ok=True)
    (directory / "words" / "words.txt").write_text("one two")
    (directory / "read.py").write_text(READ)
    return directory


def create(cluster: Cluster, name: str, directory: Path) -> None:
    uri = f"file://{str(directory).replace(' ', '%20')}"
    done = cluster.paddock("dataset", "create", name, "--from", uri)
    assert done.code == 0, str(done)


def manifest_of(name: str, work: Path, text: str) -> dict[str, Any]:
    command = ["python3", "read.py", "/mounted"]
    container = {"name": "paddle", "image": "python:3", "command": command}
    annotations = {"paddock.dev/datasets": text, "paddock.dev/working-directory": str(work)}
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}},
    }


def test_a_program_reads_the_dataset_that_data_names(shared: Cluster, work: Path) -> None:
    create(shared, "words", work / "words")
    typed = ("--workdir", str(work), "--data", "words:/mounted", "--", "python3", "read.py", "/mounted")
    ended = shared.paddock("run", *HOST, "--name", "reads", *typed)
    assert ended.code == 0, str(ended)
    assert ended.lines == ["read words.txt one two"]


def test_data_that_is_not_there_is_refused_with_the_nearest_name(shared: Cluster, work: Path) -> None:
    create(shared, "imagenet", work / "words")
    typed = ("--workdir", str(work), "--data", "imagnet:/mounted", "--", "python3", "read.py", "/mounted")
    ended = shared.paddock("run", *HOST, "--name", "misspelt", *typed)
    assert ended.code == 2
    assert "there is no dataset 'imagnet' in namespace default; did you mean 'imagenet'?" in ended.err


def test_a_job_waits_for_the_dataset_that_its_manifest_names_and_says_what_to_type(shared: Cluster, work: Path) -> None:
    manifest = shared.write(manifest_of("patient", work, "later:/mounted"))
    submitted = shared.paddock("submit", manifest)
    assert submitted.code == 0, str(submitted)
    assert "the job waits for dataset later, which does not exist" in submitted.err
    until("the cause", lambda: "waiting for dataset later" in shared.paddock("get").out)
    explained = shared.paddock("explain", "patient")
    assert "next: paddock dataset create later --from URL" in explained.lines, str(explained)
    assert not shared.pods("patient")
    create(shared, "later", work / "words")
    until("the end of the job", lambda: shared.phase("patient") == "Completed")
    assert shared.paddock("logs", "patient").lines == ["read words.txt one two"]


def test_a_dataset_that_nothing_can_fetch_ends_the_wait(shared: Cluster, work: Path) -> None:
    source = {"source": {"uri": "oss://bucket/prefix"}}  # `paddock dataset create` refuses it
    dataset = {"apiVersion": "paddock.dev/v1alpha1", "kind": "Dataset", "metadata": {"name": "wrong"}, "spec": source}
    shared.create("/apis/paddock.dev/v1alpha1/namespaces/default/datasets", dataset)
    ended = shared.paddock("run", shared.write(manifest_of("hopeless", work, "wrong:/mounted")))
    assert ended.code == 1, str(ended)
    assert any("waiting: dataset wrong failed: spec.source.uri: found" in line for line in ended.said), str(ended)
    assert "next: paddock dataset describe wrong" in ended.said
    assert "waiting: dataset wrong failed" in shared.paddock("explain", "hopeless").out, "and why is kept"


@pytest.mark.slow
def test_a_job_goes_on_when_what_its_dataset_lacks_is_there(shared: Cluster, work: Path) -> None:
    lacking = work / "lacking"
    shutil.rmtree(lacking, ignore_errors=True)
    create(shared, "lacking", lacking)
    run = shared.start("run", shared.write(manifest_of("goes-on", work, "lacking:/mounted")))
    until("the failure", lambda: "waiting: dataset lacking failed: there is no directory" in run.err)
    shutil.copytree(work / "words", lacking)
    ended = run.end()
    assert ended.code == 0, str(ended)
    assert ended.lines == ["read words.txt one two"]
