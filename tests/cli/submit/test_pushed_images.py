"""--push: what is refused where it is typed, what a job becomes, and what goes into the image of a directory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.apiserver.objects.in_process import LocalApi
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.push_options import Push, explain_push
from paddock.cli.submit.pushed_code import LARGEST, explain_unsent, read_code
from paddock.cli.submit.pushed_images import PushedImages, explain_progress, explain_sent, fetch_architectures
from paddock.cli.submit.pushed_manifest import (
    explain_variables,
    find_architecture,
    find_images,
    has_pull_secrets,
    with_images,
)
from paddock.cli.submit.storage import USUAL
from paddock.cli.submit.ways_of_sending import Sending, add_sent
from paddock.images.sending import Sent
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import Job
from paddock.kube.errors import Forbidden
from paddock.kube.meta import NODES, Manifest
from paddock.manifests.yaml_nodes import Document, Position
from paddock.submission.documents import Checked, place_document
from paddock.words.phrases import Phrase, render
from support.registries import RealRegistry, build_archive, serve_registry

NEW = "registry.example.com/team/x@sha256:1"


@pytest.mark.parametrize(
    ("target", "python", "is_local", "said"),
    [
        ("registry.example.com/team/x", "", False, None),
        ("registry.example.com/team/x:v1", "3.11", False, None),
        ("registry.example.com/team/x", "", True, "--push is for a cluster"),
        ("registry.example.com/team/x", "3", False, "--image-python 3: a version as in 3.11 is wanted"),
        ("registry.example.com/team/x", "3.11.4", False, "--image-python 3.11.4"),
        ("mnist", "", False, "a registry and a name in it are wanted"),
        ("registry.example.com/Team/x", "", False, "did you mean team/x?"),
    ],
)
def test_what_is_typed_is_checked_first(target: str, python: str, is_local: bool, said: str | None) -> None:
    problem = explain_push(target, python, is_local=is_local)
    assert (said in str(problem)) if said else problem is None


def build_checked(**template: Any) -> Checked:
    manifest = build_manifest(ps=1)
    for role in ("worker", "ps"):
        manifest["spec"][role] = {**manifest["spec"][role], "template": {"spec": {"containers": [
            {"name": "sidecar", "image": "other"},
            {"name": "paddle", "image": "base:1", "command": ["python3.9", "train.py"]} | template.get("container", {}),
        ], **{key: value for key, value in template.items() if key != "container"}}}}  # fmt: skip
    return place_document("demo.yaml", Document(manifest, {"": Position(1, 1, 1)}), "team")


def job_of(checked: Checked) -> Job:
    assert checked.job is not None
    return checked.job


def containers_of(manifest: Manifest, role: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = manifest["spec"][role]["template"]["spec"]["containers"]
    return found


def test_the_containers_that_train_run_in_the_new_image_and_no_other() -> None:
    checked = build_checked()
    changed = with_images(checked.manifest, job_of(checked), {"base:1": NEW}, starts_in_code=True)
    for role in ("worker", "ps"):
        sidecar, trained = containers_of(changed, role)
        assert sidecar == {"name": "sidecar", "image": "other"}
        assert trained["image"] == NEW and "workingDir" not in trained, "the image says where it starts"
        assert {"name": "PADDLE_LOG_DIR", "value": "/tmp/paddock-log"} in trained["env"]
    assert containers_of(checked.manifest, "ps")[1]["image"] == "base:1", "the argument is as it was"
    assert KINDS[RESOURCE].read_job(changed).key == job_of(checked).key
    plain = with_images(checked.manifest, job_of(checked), {"base:1": NEW}, starts_in_code=False)
    assert "env" not in containers_of(plain, "worker")[1]


def test_what_a_job_says_of_its_images_and_nodes() -> None:
    job = job_of(build_checked())
    assert find_images(job) == {"base:1": "python3.9"}
    assert find_architecture(job) == "" and not has_pull_secrets(job)
    arm = job_of(build_checked(nodeSelector={"kubernetes.io/arch": "arm64"}, imagePullSecrets=[{"name": "r"}]))
    assert find_architecture(arm) == "arm64" and has_pull_secrets(arm)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ([], []),
        ([{"name": "PYTHONPATH", "value": "/app"}], ["PYTHONPATH itself", "/paddock/packages too"]),
        ([{"name": "PATH", "value": "/bin"}], ["PATH itself", "/paddock/packages/bin too"]),
        ([{"name": "PYTHONPATH", "value": "/app:/paddock/packages"}], []),
    ],
)
def test_a_container_that_hides_the_packages_is_told(env: list[dict[str, str]], said: list[str]) -> None:
    told = [str(each) for each in explain_variables(job_of(build_checked(container={"env": env})))]
    assert len(told) == (2 if said else 0), "of each role"
    assert all(part in each for part in said for each in told)


def test_progress_and_the_end_are_told_with_their_bytes() -> None:
    assert str(explain_progress("sending", 2**20, 2**21)) == "sending 1.0 MiB of 2.0 MiB (50 %)"
    assert str(explain_progress("downloading", 0, 2**21)) == "reading the base image: 0 B of 2.0 MiB (0 %)"
    assert str(explain_progress("building (numpy), 3 %", 0, 0)) == "packages: building (numpy), 3 %"
    assert str(explain_sent(NEW, Sent(2048, 2, 5))).endswith("2.0 KiB sent (2 of 7 parts; the others were there)")
    assert str(explain_sent(NEW, Sent(2048, 2))).endswith("2.0 KiB sent, which is all of it")
    assert str(explain_sent(NEW, Sent(there=5))) == f"{NEW} is in the registry already: nothing is sent"
    assert render(explain_sent(NEW, Sent(there=5)), "zh") == f"镜像仓库中已有 {NEW}：不发送任何内容"


def write(directory: Path, **files: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("_", ".")).write_text(text)
    return directory


def test_a_directory_goes_into_the_image_as_it_would_into_a_config_map(tmp_path: Path) -> None:
    code = write(tmp_path / "code", train_py="", big_log="x", _gitignore="*.log\n")
    found, entries = read_code(code, ".")
    assert [entry.path for entry in entries] == ["paddock/workdir/train.py"]
    assert [file.path for file in found.files] == ["train.py"]


def test_a_secret_does_not_go_into_an_image(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"who may pull the image could read it:\n  server\.key"):
        read_code(write(tmp_path / "code", server_key="x"), ".")


def test_a_file_of_any_size_of_a_program_goes_and_data_does_not(tmp_path: Path) -> None:
    code = write(tmp_path / "code", train_py="")
    with (code / "weights").open("wb") as file:
        file.truncate(LARGEST // 2)
    found, _ = read_code(code, ".")
    assert explain_unsent(found, ".") is None
    with (code / "data").open("wb") as file:
        file.truncate(LARGEST)
    with pytest.raises(UserError, match=r"is too large to travel in an image: 3 files, 3\.0 GiB, and at most 2\.0 GiB"):
        read_code(code, ".")
    with pytest.raises(UserError, match="there is no file to send"):
        read_code(write(tmp_path / "none"), ".")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    place = tmp_path_factory.mktemp("registry")
    with serve_registry(place) as served:
        served.put("base:1", build_archive(place / "base.tar", {"bin/sh": "x"}))
        yield served


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(tmp_path / "store")
    await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}})
    status = {"status": {"nodeInfo": {"architecture": "amd64"}}}
    await api.patch(NODES, "", "one", status, subresource="status")
    yield api
    await api.close()


class Said(list[str]):
    def __call__(self, text: Phrase) -> None:
        self.append(str(text))


def open_pushes(said: Said, target: str, workdir: Path | None, **push: Any) -> PushedImages:
    return PushedImages(Push(target, **push), str(workdir) if workdir else None, said)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))


async def test_a_job_gets_the_digest_before_anything_is_sent(
    registry: RealRegistry, api: LocalApi, tmp_path: Path
) -> None:
    said = Said()
    pushes = open_pushes(said, f"{registry.host}/team/x", write(tmp_path / "code", train_py="print(1)\n"))
    checked = build_checked(container={"image": f"{registry.host}/base:1"})
    try:
        (made,), fills = await add_sent(api, checked, Sending(None, None, USUAL, said, pushes))
        assert not fills
        image = containers_of(made.manifest, "worker")[1]["image"]
        assert image.startswith(f"{registry.host}/team/x@sha256:")
        await pushes.send()
        assert registry.inspect(image.removeprefix(f"{registry.host}/"))["Digest"] in image
    finally:
        pushes.close()
    assert said[0].startswith("1 file, 9 B, of ") and said[1:] == [
        f"{registry.host} is an address of this machine: only nodes that run here pull from it",
        f"pushed {image}: {said[-1].partition(': ')[2]}",
    ]
    assert not list((tmp_path / "cache/paddock/images").glob("work-*"))


@pytest.mark.slow
async def test_each_of_two_jobs_has_its_own_code(registry: RealRegistry, api: LocalApi, tmp_path: Path) -> None:
    pushes, images = open_pushes(Said(), f"{registry.host}/team/two", None), []
    try:
        for name in ("a", "b"):
            pushes.workdir = str(write(tmp_path / name, train_py=f"print('{name}')\n"))
            made = await pushes.add(api, build_checked(container={"image": f"{registry.host}/base:1"}))
            images.append(containers_of(made.manifest, "worker")[1]["image"].removeprefix(f"{registry.host}/"))
        await pushes.send()
    finally:
        pushes.close()
    for name, image in zip("ab", images, strict=True):
        (tmp_path / f"of-{name}").mkdir()
        root = registry.unpack(image, tmp_path / f"of-{name}")
        assert (root / "paddock/workdir/train.py").read_text() == f"print('{name}')\n"


async def test_a_push_of_nothing_and_a_second_directory_are_refused(
    registry: RealRegistry, api: LocalApi, tmp_path: Path
) -> None:
    checked = build_checked(container={"image": f"{registry.host}/base:1"})
    with pytest.raises(UserError, match=r"a directory .* and the packages of .*\(-r FILE of .*, and neither is named"):
        await open_pushes(Said(), f"{registry.host}/team/x", None).add(api, checked)
    own = build_checked(container={"image": f"{registry.host}/base:1", "workingDir": "/app"})
    with pytest.raises(UserError, match="starts in /app, its container's workingDir"):
        await open_pushes(Said(), f"{registry.host}/team/x", write(tmp_path / "code", a_py="")).add(api, own)


@pytest.mark.parametrize(
    ("target", "image", "error", "said"),
    [
        ("{host}/x", "{host}/base:2", UserError, "has no {host}/base:2"),
        pytest.param("{host}/x", "no image", UserError, "is no name of an image", marks=pytest.mark.slow),
        pytest.param(
            "127.0.0.1:1/x",
            "{host}/base:1",
            Failed,
            "127.0.0.1:1 is not reached: Connection refused",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_what_fails_is_a_sentence_of_the_command(
    registry: RealRegistry, api: LocalApi, tmp_path: Path, target: str, image: str, error: type[Exception], said: str
) -> None:
    checked = build_checked(container={"image": image.format(host=registry.host)})
    pushes = open_pushes(Said(), target.format(host=registry.host), write(tmp_path / "code", a_py=""))
    try:
        with pytest.raises(error) as raised:
            await pushes.add(api, checked)
        told, last = str(raised.value).splitlines()
        assert said.format(host=registry.host) in told and last == "nothing was submitted"
    finally:
        pushes.close()


async def test_a_registry_that_is_not_named_is_that_of_docker_hub_and_said(api: LocalApi, tmp_path: Path) -> None:
    meant = "names no registry: that of Docker Hub is meant"
    for target, said in {"team/x": [f"--push team/x {meant}, docker.io/team/x"],
                         "https://team/x:v1": [f"--push https://team/x:v1 {meant}, docker.io/team/x:v1"],
                         "docker.io/team/x": []}.items():  # fmt: skip
        told = Said()
        pushes = open_pushes(told, target, None, requirements=tmp_path / "none.txt")
        with pytest.raises(UserError, match=r"none\.txt"):
            await pushes.add(api, build_checked(container={"image": "python:3.11"}))
        assert told == said


async def test_requirements_with_a_mistake_are_refused_with_their_line(
    registry: RealRegistry, api: LocalApi, tmp_path: Path
) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("-e .\n")
    (tmp_path / "setup.py").touch()
    pushes = open_pushes(Said(), f"{registry.host}/x", None, requirements=requirements)
    checked = build_checked(container={"image": f"{registry.host}/base:1"})
    with pytest.raises(UserError, match=r"requirements\.txt:1: found '-e \.'"):
        await pushes.add(api, checked)


class _Refusing:
    async def list(self, *words: Any, **options: Any) -> Any:
        raise Forbidden("nodes is forbidden")


async def test_nodes_that_may_not_be_read_are_unknown(api: LocalApi) -> None:
    assert await fetch_architectures(api) == ["amd64"]
    assert await fetch_architectures(_Refusing()) is None  # type: ignore[arg-type]
