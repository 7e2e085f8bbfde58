"""Where the script that a job starts comes from: its image, the directory of the command, or nowhere."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.views import RESOURCE, build_manifest
from paddock.app.submitted.directories import Script, plan_scripts, read_scripts, with_path
from paddock.app.submitted.nearby import find_nearby
from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.workdir import add_working_directories
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.kube.calls import Listing
from paddock.kube.environments import PATH_ANNOTATION
from paddock.kube.meta import ENVIRONMENTS, Resource
from paddock.preflight import Document
from paddock.submission.documents import Checked, build_checked

HERE = Path("/home/mine")
PADDLE = "registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu"
WIDE_AND_DEEP = "registry.baidubce.com/paddle-operator/demo-wide-and-deep:v1"


def read(image: str, local: bool = True, **container: Any) -> list[Script]:
    manifest = build_manifest(workers=1)
    manifest["spec"]["worker"]["template"]["spec"]["containers"] = [{"name": "paddle", "image": image, **container}]
    return list(read_scripts(KINDS[RESOURCE].read_job(manifest), build_defaults(), local=local))


@pytest.mark.parametrize(
    ("image", "container", "found"),
    [
        (PADDLE, {"command": ["python", "train.py"]}, [("train.py", False)]),
        (PADDLE, {"command": ["python", "/mnt/train.py"]}, []),
        (PADDLE, {"command": ["python", "train.py"], "workingDir": "/mnt"}, []),
        (PADDLE, {"command": ["python", "-m", "paddle.distributed.launch", "run_check"]}, []),
        (WIDE_AND_DEEP, {}, [("train.py", True)]),
        (WIDE_AND_DEEP, {"args": ["--epochs=1"]}, [("train.py", True)]),
        (WIDE_AND_DEEP, {"command": ["python3", "mine.py"]}, [("mine.py", False)]),
        ("nobody/knows:v1", {"command": ["python", "train.py"]}, [("train.py", False)]),
        ("nobody/knows:v1", {"args": ["python", "train.py"]}, [("train.py", None)]),
        ("nobody/knows:v1", {"command": ["python", "train.py"], "local": False}, [("train.py", None)]),
        ("busybox", {"command": ["sh", "-c", "cd /mnt; python train.py"]}, []),
    ],
)
def test_the_image_has_the_script_or_not(image: str, container: Any, found: list[tuple[str, bool | None]]) -> None:
    assert [(script.path, script.brought) for script in read(image, **container)] == found


def test_a_job_has_the_path_of_the_shell_that_submits_it_unless_it_names_one() -> None:
    manifest = build_manifest(workers=1)
    job = build_checked("job.yaml", Document(manifest), manifest, RESOURCE)
    (changed,) = (with_path(job, "/venv/bin:/usr/bin"),)
    assert changed.manifest["metadata"]["annotations"][PATH_ANNOTATION] == "/venv/bin:/usr/bin"
    assert with_path(changed, "/other").manifest == changed.manifest
    for path in ("", "/a:\udcff"):
        assert with_path(job, path).manifest == manifest, "an empty one, and what is no text"


BROUGHT, MISSING, UNKNOWN, UNPULLED = (
    Script("a.py", "image", True), Script("b.py", "image", False), Script("c.py", "image", None),
    Script("d.py", "image", False, is_default=True),
)  # fmt: skip


@pytest.mark.parametrize(
    ("scripts", "there", "taken", "refused"),
    [
        ([], set(), (), ""),
        ([BROUGHT], set(), (), ""),
        ([UNKNOWN], {"c.py"}, ("c.py",), ""),
        ([UNKNOWN], set(), (), ""),
        ([BROUGHT], {"a.py"}, ("a.py",), ""),  # the user's own file wins
        ([MISSING], {"b.py"}, ("b.py",), ""),
        ([MISSING, MISSING], {"b.py"}, ("b.py",), ""),
        (
            [MISSING],
            set(),
            (),
            "b.py is not in the image image nor in /home/mine: call paddock where it lies, or mount",
        ),
        ([UNPULLED], {"d.py"}, ("d.py",), ""),
        (
            [UNPULLED],
            set(),
            (),
            "d.py is not in /home/mine, and the files of image image are not on this",
        ),
        ([BROUGHT, MISSING], {"a.py", "b.py"}, ("a.py", "b.py"), ""),
        ([UNKNOWN, MISSING], {"b.py"}, ("b.py",), ""),
        # all roles start in one directory
        ([BROUGHT, MISSING], {"b.py"}, (), "b.py of /home/mine is run, and all roles start there: a.py"),
    ],
)
def test_it_is_taken_from_here_or_refused(
    scripts: list[Script], there: set[str], taken: tuple[str, ...], refused: str
) -> None:
    found, refusal = plan_scripts(scripts, HERE, there.__contains__, lambda _: "")
    assert found == taken
    assert str(refusal or "").startswith(refused) and bool(refusal) == bool(refused)


class Environments:
    """As much of an API as is asked: the environments that there are."""

    async def list(self, resource: Resource) -> Listing:
        assert resource == ENVIRONMENTS
        return Listing(list(build_defaults()), "1")


def check(*, image: str = PADDLE, **annotations: str) -> Checked:
    manifest = build_manifest(workers=1)
    container = {"name": "paddle", "image": image, "command": ["python", "train.py"]}
    manifest["spec"]["worker"]["template"]["spec"]["containers"] = [container]
    manifest["metadata"]["annotations"] = annotations
    return build_checked("job.yaml", Document(manifest), manifest, RESOURCE)


async def add(each: Checked, directory: Path, *, named: bool = False) -> str | None:
    """The directory in the job's annotation."""
    api: Any = Environments()
    (placed,) = await add_working_directories(api, [each], directory, named=named)
    found: str | None = placed.manifest["metadata"]["annotations"].get(WORKING_DIRECTORY_ANNOTATION)
    return found


async def test_the_job_names_the_directory_that_has_its_script(tmp_path: Path) -> None:
    here = tmp_path / "alone" / "here"
    here.mkdir(parents=True)
    with pytest.raises(
        UserError, match=f"^job.yaml: train.py is not in the image {PADDLE} nor in {here}: call paddock"
    ):
        await add(check(), here)
    (here / "train.py").touch()
    assert await add(check(), here) == str(here)


async def test_the_users_own_script_comes_before_a_program_of_ours(tmp_path: Path) -> None:
    assert await add(check(image=WIDE_AND_DEEP), tmp_path) is None
    (tmp_path / "train.py").touch()
    assert await add(check(image=WIDE_AND_DEEP), tmp_path) == str(tmp_path)


async def test_what_lies_beside_the_manifest_comes_next_and_before_a_program_of_ours(tmp_path: Path) -> None:
    beside, here = tmp_path / "examples", tmp_path / "here"
    for directory in (beside, here):
        directory.mkdir()
    (beside / "train.py").touch()
    for image in (PADDLE, WIDE_AND_DEEP):
        each = replace(check(image=image), file="../examples/job.yaml")
        assert await add(each, here) == str(beside)
    (here / "train.py").touch()
    assert await add(replace(check(), file="../examples/job.yaml"), here) == str(here)


async def test_an_annotation_that_is_there_wins(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for directory in (tmp_path, elsewhere):
        (directory / "train.py").touch()
    assert await add(check(**{WORKING_DIRECTORY_ANNOTATION: str(elsewhere)}), tmp_path) == str(elsewhere)


async def test_the_directory_of_an_annotation_must_be_there_and_have_the_script(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the working directory /elsewhere is not on this machine"):
        await add(check(**{WORKING_DIRECTORY_ANNOTATION: "/elsewhere"}), tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "train.py").touch()
    with pytest.raises(UserError, match=f"train.py is not in the working directory .*, but in {tmp_path}: name that"):
        await add(check(**{WORKING_DIRECTORY_ANNOTATION: str(tmp_path / "empty")}), tmp_path)


async def test_a_directory_that_is_named_comes_before_the_annotation_and_must_have_the_script(tmp_path: Path) -> None:
    each = check(image=WIDE_AND_DEEP, **{WORKING_DIRECTORY_ANNOTATION: "/elsewhere"})
    with pytest.raises(UserError, match=r"train\.py is not in the image"):
        await add(each, tmp_path, named=True)
    (tmp_path / "train.py").touch()
    assert await add(each, tmp_path, named=True) == str(tmp_path)


def test_the_root_of_the_machine_is_no_working_directory() -> None:
    assert plan_scripts([MISSING], Path("/"), lambda _: True, lambda _: "")[1] is not None


def test_a_directory_near_by_that_has_it_is_named_as_one_types_it() -> None:
    _, refusal = plan_scripts([MISSING], HERE, lambda _: False, {"b.py": "../my data"}.__getitem__)
    said = "b.py is not in the image image nor in /home/mine, but in '../my data': `--workdir '../my data'` starts it"
    assert str(refusal) == f"{said} there"


@pytest.mark.parametrize(
    ("files", "script", "found"),
    [
        (["here/mnist/train.py"], "train.py", "here/mnist"),
        (["mnist/train.py"], "train.py", "mnist"),
        (["train.py"], "train.py", "."),
        (["here/src/train.py"], "here/src/train.py", "."),
        (["mnist/train.py", "train.py", "here/b/train.py", "here/a/train.py"], "train.py", "here/a"),
        (["here/.hidden/train.py", "here/deep/er/train.py", "here/train.py/x", "other/train.pyc"], "train.py", ""),
        (["mnist/train.py"], "/train.py", ""),
        ([], "train.py", ""),
    ],
)
def test_the_directories_around_are_looked_into(files: list[str], script: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert find_nearby(tmp_path / "here", script) == (found and os.path.relpath(tmp_path / found))


def test_at_the_root_only_its_own_directories_are_looked_into() -> None:
    assert find_nearby(Path("/"), "no-such-script.py") == ""
