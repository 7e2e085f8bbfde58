"""A fault of a manifest is named by all that read manifests: one table, a fault for each check.

What a file says needs no cluster: the commands are called as they are typed. What a place says is asked of an API, by
the checks that `run`, `submit`, the Python calls and `explain --why-not` make (`cli.submit.checks`), and by the
console's form.
"""

from __future__ import annotations

import html
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import paddock
from jobs.samples import read_text
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError, explain_error
from paddock.cli.cluster.places import Local
from paddock.cli.main import cli
from paddock.cli.submit.checks import (
    CHECKS,
    DIRECTORIES,
    NAMES,
    PLACE,
    REQUIREMENTS,
    ROOM,
    SECRETS,
    SERVER,
    Check,
    Submission,
    find_refusals,
    refuse,
)
from paddock.cli.submit.checks import DATASETS as DATASETS_CHECK
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.environments.defaults import build_defaults
from paddock.kube.errors import Forbidden
from paddock.kube.meta import DATASETS, ENVIRONMENTS, Manifest
from paddock.submission.missing_classes import find_missing_classes
from paddock.submission.reading import read_manifests
from support.readers import visiting
from support.tiers import keep_light

GOOD = read_text("wide_and_deep")
DATASET = """---
apiVersion: paddock.dev/v1alpha1
kind: Dataset
metadata: {name: words}
spec: {source: {uri: "https://example.com/words.txt"}}
"""
CLAIM = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%s}\n"
TEXTS = {
    "a value": (GOOD.replace("replicas: 2", "replicas: two"), "spec.worker.replicas"),
    "a field's name": (GOOD.replace("replicas: 2", "replica: 2"), "replica"),
    "a kind": (GOOD.replace("kind: PaddleJob", "kind: PadleJob"), "there is no kind of this name"),
    "an object twice": (f"{GOOD}\n---\n{GOOD}", "a PaddleJob of this name stands in line"),
    "an object twice by its namespace": (
        f"{GOOD}\n{CLAIM % ''}{CLAIM % ', namespace: default'}", "a ConfigMap of this name stands in line",
    ),
    "a dataset": (GOOD + "\n" + DATASET.replace("https:", "ftp:"), "spec.source.uri"),
    "a placeholder": (GOOD.replace("replicas: 2", "replicas: {{ .Values.workers }}"), ""),
}  # fmt: skip
"""A fault of a file -> a manifest with it, and what is said."""


def call(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words), standalone_mode=False, env={"LC_ALL": "C", "COLUMNS": "400"})
    error = result.exception
    explained = explain_error(error) if isinstance(error, Exception) else None
    return result.output + (explained.message if explained else "")


def run_in_python(file: str) -> str:
    with pytest.raises(paddock.PaddockError) as caught:
        paddock.run(file)
    return str(caught.value)


READERS: dict[str, Callable[[str], str]] = {
    "run": lambda file: call("run", file),
    "submit": lambda file: call("submit", file),
    "validate": lambda file: call("validate", file),
    "explain --why-not": lambda file: call("explain", "--why-not", file),
    "render": lambda file: call("render", file, "--to", "docker", "--hosts", "a,b"),
    "paddock.run": run_in_python,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("fault", TEXTS)
def test_every_reader_names_what_is_wrong_with_a_file(
    fault: str, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_HOME", str(tmp_path / "home"))
    text, said = TEXTS[fault]
    file = tmp_path / "job.yaml"
    file.write_text(text)
    problems = read_manifests("", text.encode(), "default").problems
    line = next(each.line for each in problems if each.severity == "error")
    printed = READERS[reader](str(file))
    assert f"{file}:{line}:" in printed, printed
    assert said in printed
    assert not (tmp_path / "home").exists(), "no cluster is started for it"


@pytest.mark.parametrize("fault", TEXTS)
async def test_the_console_names_what_is_wrong_with_a_text(fault: str, api: LocalApi) -> None:
    assert TEXTS[fault][1] in await post(api, TEXTS[fault][0])


def with_metadata(line: str) -> str:
    return GOOD.replace("metadata:\n", f"metadata:\n  {line}\n", 1)


def with_container(line: str) -> str:
    return GOOD.replace("image: ", f"{line}\n            image: ")


TAKEN = GOOD.replace("name: wide-ande-deep", "name: taken", 1)
MANAGED = GOOD.replace("spec:\n", "spec:\n  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n", 1)
PLACES: dict[str, tuple[Check, str, str, bool]] = {
    "another manager": (PLACE, MANAGED, "nobody else runs jobs on the local cluster", True),
    "a requirements file": (
        REQUIREMENTS, with_metadata("annotations: {paddock.dev/requirements: none.txt}"), "none.txt is not there", False
    ),
    "a dataset of another spec": (DATASETS_CHECK, f"{GOOD}\n{DATASET}", "exists already", True),
    "a script": (
        DIRECTORIES, with_container("command: [python, nowhere.py]"), "nowhere.py is not in the image", False
    ),
    "a name": (NAMES, TAKEN, "exists already", True),
    "a namespace": (SERVER, with_metadata("namespace: nowhere"), "nowhere", True),
    "a limit": (
        ROOM,
        with_metadata("namespace: small").replace("image: ", "resources: {limits: {memory: 2Gi}}\n            image: "),
        "resources.limits.memory is 2.0 GiB: the LimitRange bounds of small allows 1.0 GiB at most",
        True,
    ),
    "a secret": (SECRETS, with_container("envFrom: [{secretRef: {name: keys}}]"), "there is no Secret keys", True),
}  # fmt: skip
"""A fault of a place -> its check, a manifest with it, what is said, and whether the console can see it."""
OF_OPTIONS = {
    "DEVICES": "--without", "FOREIGN_SECRETS": "--secret", "DATA": "--data", "SPACES": "a Namespace",
    "CODE": "the files of the directory", "RESUMED": "--resume=N", "UNHONOURED": "refuses nothing",
    "CLASSES": "refuses nothing", "CLAIMS": "-r on a cluster, and --workdir", "QUEUES": "--queue",
    "OUTPUTS": "a claim of a cluster", "VOLUMES": "a machine without bubblewrap",
}  # fmt: skip
"""Checks of what no manifest says."""
SMALL = """
apiVersion: v1
kind: Namespace
metadata: {name: small}
---
apiVersion: v1
kind: LimitRange
metadata: {name: bounds, namespace: small}
spec: {limits: [{type: Container, max: {memory: 1Gi}}]}
"""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    (taken,) = read("", TAKEN)
    await opened.create(taken.resource, taken.manifest)
    for made in read("", SMALL):
        await opened.create(made.resource, made.manifest)
    for each in build_defaults():
        await opened.create(ENVIRONMENTS, each)
    await opened.create(DATASETS, dataset("https://example.com/other.txt"))
    yield opened
    await opened.close()


def dataset(uri: str) -> Manifest:
    metadata, spec = {"name": "words", "namespace": "default"}, {"source": {"uri": uri}}
    return {"apiVersion": DATASETS.api_version, "kind": DATASETS.kind, "metadata": metadata, "spec": spec}


def read(file: str, text: str) -> list[Any]:
    reading = read_manifests(file, text.encode(), "default")
    assert not reading.wrong, reading.problems
    return list(reading.placed)


def build(api: LocalApi, root: Path, fault: str, *, runs: bool) -> Submission:
    place = Local(Home(root / "home", root / "cache"))
    return Submission(api, place, read(str(root / "job.yaml"), PLACES[fault][1]), lambda _: None, runs=runs)


@pytest.mark.parametrize(
    "runs", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["run and paddock.run", "submit"]
)
@pytest.mark.parametrize("fault", PLACES)
async def test_a_place_refuses_what_is_submitted(
    fault: str, runs: bool, api: LocalApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check, _, said, _ = PLACES[fault]
    with pytest.raises(UserError) as caught:
        await refuse(build(api, tmp_path, fault, runs=runs))
    assert said in str(caught.value)
    assert await check.find(build(api, tmp_path, fault, runs=runs)), "it is this check that refuses"


@pytest.mark.parametrize("fault", keep_light(PLACES, [*PLACES][::3]))
async def test_why_not_names_what_a_place_refuses(
    fault: str, api: LocalApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = await find_refusals(build(api, tmp_path, fault, runs=True))
    assert [said for each in found if PLACES[fault][2] in (said := str(each.why))], found


IN_FORM = [fault for fault, row in PLACES.items() if row[3]]


@pytest.mark.parametrize("fault", keep_light(IN_FORM, IN_FORM[::3]))
async def test_the_console_names_what_a_place_refuses(fault: str, api: LocalApi) -> None:
    _, text, said, _ = PLACES[fault]
    assert said in await post(api, text)


async def test_two_faults_are_both_named_by_why_not_and_the_first_by_run(
    api: LocalApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PLACES["a secret"][1].replace("name: wide-ande-deep", "name: taken", 1)
    place = Local(Home(tmp_path / "home", tmp_path / "cache"))
    found = await find_refusals(Submission(api, place, read("job.yaml", text), lambda _: None, runs=True))
    assert ["exists already" in str(each.why) for each in found] == [True, False]
    with pytest.raises(UserError) as caught:
        await refuse(Submission(api, place, read("job.yaml", text), lambda _: None, runs=True))
    assert "exists already" in str(caught.value) and "Secret" not in str(caught.value)


SECURED = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: who}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: &t {spec: {securityContext: {fsGroup: 7}, containers: [
      {name: pytorch, image: "python:3.11", command: [python, -c, "1"]}]}}}
    Worker: {replicas: 2, template: *t}
"""
UNHONOURED = (
    "spec.pytorchReplicaSpecs.Master.template.spec.securityContext.fsGroup is not honoured on this machine: programs "
    f"run as you (uid {os.getuid()})"
)


async def test_what_a_laptop_does_not_honour_is_told_once_by_each_door(
    api: LocalApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    place = Local(Home(tmp_path / "home", tmp_path / "cache"))
    await refuse(Submission(api, place, read("job.yaml", SECURED), lambda said: told.append(str(said)), runs=True))
    assert [line for line in told if "honoured" in line] == [f"PyTorchJob default/who: {UNHONOURED}"]
    assert (await post(api, SECURED)).count(UNHONOURED) == 1


RANKED = GOOD.replace("      spec:\n", "      spec:\n        priorityClassName: high\n", 1)
HIGH = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n"
NO_CLASS = "there is no PriorityClass high: "
MAKES_IT = "create priorityclass high --value=1000` makes it"


async def test_a_priority_class_that_is_not_there_is_told_by_each_door(
    api: LocalApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def tell(text: str, api: Any = api) -> list[str]:
        told: list[str] = []
        place = Local(Home(tmp_path / "home", tmp_path / "cache"))
        await refuse(Submission(api, place, read("job.yaml", text), lambda said: told.append(str(said)), runs=True))
        return [line for line in told if "PriorityClass" in line]

    (line,) = await tell(RANKED)
    assert line.startswith(f"PaddleJob default/wide-ande-deep: {NO_CLASS}") and line.endswith(MAKES_IT)
    printed = await post(api, RANKED)
    assert printed.count(NO_CLASS) == 1 and MAKES_IT in printed
    assert not await tell(f"{RANKED}\n{HIGH}"), "it is in the file"
    assert not await tell(RANKED.replace("high", "system-node-critical"))
    (high,) = read("", HIGH)
    await api.create(high.resource, high.manifest)
    assert not await tell(RANKED)
    assert NO_CLASS not in await post(api, RANKED)


async def test_who_may_not_read_priority_classes_is_told_nothing(tmp_path: Path) -> None:
    class Blind:
        async def get(self, *_: object) -> Manifest:
            raise Forbidden("no")

    (job,) = read("", RANKED)
    assert not await find_missing_classes(cast("Any", Blind()), [job.job], ())


def test_every_check_has_a_row() -> None:
    from paddock.cli.submit import checks

    of_options = {id(getattr(checks, name)) for name in OF_OPTIONS}
    assert {id(each) for each in CHECKS} == {id(row[0]) for row in PLACES.values()} | of_options


async def post(api: LocalApi, text: str) -> str:
    """The page of a new job with this text, without its foot, which says the last of it once more."""
    console = Console(Backend("here", True, lambda _: api), b"k" * 32)
    origin = {"Sec-Fetch-Site": "same-origin"}
    async with (
        visiting(console) as client,
        client.post("/new", data={"text": text, "do": "check"}, headers=origin) as answer,
    ):
        return html.unescape(await answer.text()).partition('<div class="foot">')[0]
