"""The Environment of a requirements file, over the embedded API: made, changed with the file, never without need."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.submit.file_environments import (
    prepare_environment,
    read_files_of,
    refresh_environments,
    replace_environment,
)
from paddock.environments.crd import build_crd
from paddock.environments.from_files import has_changed
from paddock.environments.needed import Needed, environment_name
from paddock.environments.sources import read_source
from paddock.kube.meta import CRDS, ENVIRONMENTS, Manifest
from paddock.words.phrases import Phrase


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await opened.create(CRDS, build_crd(), strict=True)
    yield opened
    await opened.close()


class Project:
    """A directory with requirements.txt, and what was said while its Environment was prepared."""

    def __init__(self, api: LocalApi, directory: Path) -> None:
        self.api, self.file, self.said = api, directory / "my project" / "requirements.txt", list[str]()
        self.file.parent.mkdir()

    def _note(self, said: Phrase) -> None:
        self.said.append(str(said))

    async def prepare(self, text: str, *, servers: bool = False, framework: str = "paddle") -> Manifest:
        self.file.write_text(text)
        self.said.clear()
        name = await prepare_environment(self.api, Needed(self.file, framework, servers), self._note)
        return await self.api.get(ENVIRONMENTS, "", name)

    async def refresh(self, environment: Manifest) -> Manifest:
        self.said.clear()
        await refresh_environments(self.api, [environment], self._note)
        return await self.api.get(ENVIRONMENTS, "", environment["metadata"]["name"])


@pytest.fixture
def project(api: LocalApi, tmp_path: Path) -> Project:
    return Project(api, tmp_path)


def test_the_name_is_one_of_the_api_and_stable() -> None:
    name = environment_name(Path("/home/me/My Model_1/requirements.txt"))
    assert name.startswith("my-model-1-") and len(name) == len("my-model-1-") + 8
    assert environment_name(Path("/home/me/x/../My Model_1/requirements.txt")) == name
    assert environment_name(Path("/home/you/My Model_1/requirements.txt")) != name
    assert environment_name(Path("/home/me/My Model_1/requirements-dev.txt")).startswith("my-model-1-requirements-dev-")
    assert Needed(Path("/home/me/My Model_1/requirements.txt")).name == name
    assert Needed(Path("/home/me/My Model_1/requirements.txt"), servers=True).name == f"{name}-ps"
    assert Needed(Path("/home/me/My Model_1/requirements.txt"), "pytorch").name == f"{name}-pytorch"
    assert environment_name(Path("/数据/requirements.txt"))[0].isalnum()


async def test_paddlepaddle_is_added_where_the_file_names_none(project: Project) -> None:
    made = await project.prepare("pyyaml  # to read settings\n")
    assert made["spec"]["requirements"] == ["paddlepaddle==3.3.1", "pyyaml"]
    assert made["spec"]["verify"] == "import paddle"
    assert project.said == ["paddlepaddle 3.3.1 is added: requirements.txt names none"]
    source = read_source(made)
    assert source is not None and source.files == (str(project.file),) and source.read and source.paddle
    made = await project.prepare("pyyaml\npaddlepaddle==3.2.2\n")
    assert made["spec"]["requirements"] == ["pyyaml", "paddlepaddle==3.2.2"]


async def test_to_the_file_of_a_torch_program_pytorch_is_added_and_paddlepaddle_is_not(project: Project) -> None:
    made = await project.prepare("pyyaml\n", framework="pytorch")
    assert made["spec"]["requirements"] == ["torch", "pyyaml"]
    assert made["spec"]["verify"] == "import torch"
    assert project.said == ["torch is added: requirements.txt names none"]
    source = read_source(made)
    assert source is not None and source.torch and not source.paddle
    named = await project.prepare("pyyaml\ntorch==2.8.0\ntorchvision\n", framework="pytorch")
    assert named["spec"]["requirements"] == ["pyyaml", "torch==2.8.0", "torchvision"]
    other = await project.prepare("pyyaml\n")
    assert other["metadata"]["uid"] != named["metadata"]["uid"], "a program of PaddlePaddle beside it has its own"


async def test_a_changed_file_changes_the_environment_with_one_line(project: Project) -> None:
    first = await project.prepare("pyyaml\npandas\n")
    same = await project.prepare("# a comment\npyyaml\npandas\n")
    assert project.said == [] and same["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    changed = await project.prepare("pyyaml\neinops\n--index-url https://index.example/simple\n")
    name = changed["metadata"]["name"]
    assert changed["metadata"]["uid"] == first["metadata"]["uid"]
    assert project.said == [f"requirements.txt has changed: environment {name} is rebuilt (+einops and -pandas)"]
    assert changed["spec"]["indexURL"] == "https://index.example/simple"
    assert "indexURL" not in (await project.prepare("pyyaml\neinops\n"))["spec"]
    assert project.said == [f"requirements.txt has changed: environment {name} is rebuilt (another package index)"]


async def test_a_changed_file_is_taken_though_its_builder_writes_at_the_same_moment(project: Project) -> None:
    read = await project.prepare("pyyaml\n")
    await project.api.replace(ENVIRONMENTS, {**read, "status": {"phase": "Ready"}}, subresource="status")
    project.file.write_text("pyyaml\neinops\n")
    changed = await project.refresh(read)
    assert changed["spec"]["requirements"][-1] == "einops" and changed["status"] == {"phase": "Ready"}
    assert len(project.said) == 1


async def test_what_the_user_has_set_stays_when_the_file_changes(project: Project) -> None:
    made = await project.prepare("pyyaml\n")
    made["spec"]["python"] = ">=3.11"
    made["spec"]["env"].append({"name": "MINE", "value": "1"})
    await project.api.replace(ENVIRONMENTS, made)
    changed = await project.prepare("pyyaml\neinops\n")
    assert changed["spec"] == made["spec"] | {"requirements": ["paddlepaddle==3.3.1", "pyyaml", "einops"]}


async def test_parameter_servers_have_an_environment_of_their_own(project: Project) -> None:
    made = await project.prepare("pyyaml\n", servers=True)
    assert made["spec"]["requirements"] == ["paddlepaddle==3.0.0", "pyyaml", "protobuf<7"]
    assert {"name": "FLAGS_enable_pir_api", "value": "0"} in made["spec"]["env"]
    assert "DistFleetWrapper" in made["spec"]["verify"]
    assert project.said == ["paddlepaddle 3.0.0 is added: requirements.txt names none"]
    made = await project.prepare("pyyaml\npaddlepaddle\n", servers=True)
    assert made["spec"]["requirements"] == ["pyyaml", "paddlepaddle", "paddlepaddle<=3.0.0", "protobuf<7"]
    with pytest.raises(UserError) as refused:
        await project.prepare("pyyaml\npaddlepaddle==3.3.1\n", servers=True)
    first, last = str(refused.value).splitlines()
    assert first == (
        f"{project.file}:2: found paddlepaddle==3.3.1; PaddlePaddle's packages after 3.0.0 have no parameter servers: "
        "write paddlepaddle==3.0.0"
    )
    assert last == "nothing was submitted"
    assert (await project.prepare("pyyaml\npaddlepaddle==3.3.1\n"))["spec"]["requirements"][1] == "paddlepaddle==3.3.1"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"pyyaml\nnumpy = 2\n", ":2: found 'numpy = 2'; one = is none: did you mean numpy==2?"),
        (b"\xff\x00", ": not a text in UTF-8; a requirements.txt is wanted, as pip reads it"),
        (b"# nothing\n", ": no package is named in it; one for each line is wanted, as in numpy==1.26.4"),
        (None, "a directory"),
    ],
)
async def test_a_bad_file_is_refused_in_one_sentence(project: Project, content: bytes | None, said: str) -> None:
    project.file.mkdir() if content is None else project.file.write_bytes(content)
    with pytest.raises(UserError) as refused:
        await prepare_environment(project.api, Needed(project.file), lambda _: None)
    assert said in str(refused.value).splitlines()[0] and str(project.file) in str(refused.value)
    assert (await project.api.list(ENVIRONMENTS)).items == []


async def test_a_missing_file_is_refused(project: Project) -> None:
    with pytest.raises(UserError, match=r"requirements\.txt: .*; a requirements\.txt is wanted"):
        await prepare_environment(project.api, Needed(project.file), lambda _: None)


async def test_a_job_that_is_run_again_reads_the_file_again(project: Project) -> None:
    made = await project.prepare("pyyaml\n")
    assert (await project.refresh(made))["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    project.file.write_text("pyyaml\neinops\n")
    assert has_changed(made, read_files_of(made))
    changed = await project.refresh(made)
    assert changed["spec"]["requirements"][-1] == "einops" and len(project.said) == 1
    project.file.unlink()
    assert (await project.refresh(changed))["spec"] == changed["spec"]
    assert project.said[0].startswith(f"{project.file} is gone, from which environment ")


@pytest.mark.parametrize(("writes", "ends"), [(0, True), (2, True), (100, False)])
async def test_a_change_is_made_to_an_environment_whose_status_is_being_written(
    project: Project, writes: int, ends: bool
) -> None:
    """`writes`: how often its builder is faster."""
    name = (await project.prepare("numpy==1.26.4\n"))["metadata"]["name"]
    fetched = 0

    async def fetch() -> Manifest:
        nonlocal fetched
        fetched += 1
        found = await project.api.get(ENVIRONMENTS, "", name)
        if fetched <= writes:
            status = {"status": {"phase": "Building", "message": f"step {fetched}"}}
            await project.api.patch(ENVIRONMENTS, "", name, status, subresource="status")
        return found

    def change(before: Manifest) -> Manifest:
        return {**before, "spec": {**before["spec"], "python": ">=3.11"}}

    if ends:
        before, after = await replace_environment(project.api, fetch, change)
        assert (before["spec"].get("python"), after["spec"]["python"]) == (None, ">=3.11")
    else:
        with pytest.raises(Failed, match="is being changed by somebody else: try again"):
            await replace_environment(project.api, fetch, change)
    assert ((await project.api.get(ENVIRONMENTS, "", name))["spec"].get("python") == ">=3.11") is ends
