"""What a submission that is refused leaves behind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path

import pytest

from jobs.samples import read_manifest
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import DEVICES, Submission, refuse
from paddock.cli.submit.script.requests import build_documents
from paddock.cli.submit.submitter import submit
from paddock.environments.from_files import describe_requirements
from paddock.environments.needed import Needed
from paddock.environments.sources import Source, read_source
from paddock.jobs.apis.registry import PADDLEPADDLE
from paddock.kube.meta import ENVIRONMENTS, NODES, Manifest, annotations_of
from paddock.node.runtime.machine import Machine, build_node
from paddock.preflight import Document
from paddock.script.request import ScriptRequest
from paddock.submission.devices import read_devices
from paddock.submission.documents import Checked, place_document


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await apply_crds(opened, build_crds())
    yield opened
    await opened.close()


class Project:
    """A directory with a script and requirements.txt."""

    def __init__(self, api: LocalApi, root: Path) -> None:
        self.api, self.root, self.file = api, root, root / "project/requirements.txt"
        self.file.parent.mkdir()
        (self.file.parent / "train.py").write_text("")

    def build(self, namespace: str = "default") -> list[Checked]:
        environment, directory = Needed(self.file).name, str(self.file.parent)
        words = ["python", "train.py"]
        return build_documents(
            ScriptRequest(words, name="train", namespace=namespace, environment=environment, directory=directory)
        )

    async def run(self, requirements: str, namespace: str = "default") -> None:
        self.file.write_text(requirements)
        place = Local(Home(self.root / "home", self.root / "cache"))
        submission = Submission(
            self.api, place, self.build(namespace), lambda _: None, str(self.file.parent),
            needed=[Needed(self.file)], runs=True, typed=True,
        )  # fmt: skip
        await submit(submission)

    async def environments(self) -> list[Manifest]:
        return (await self.api.list(ENVIRONMENTS)).items


@pytest.fixture
def project(api: LocalApi, tmp_path: Path) -> Project:
    return Project(api, tmp_path)


async def test_a_taken_name_leaves_the_environment_as_it_is(project: Project) -> None:
    await project.run("pyyaml")
    before = await project.environments()
    with pytest.raises(UserError, match="train"):
        await project.run("pyyaml==6.0")
    assert await project.environments() == before
    await project.api.delete(PADDLEPADDLE.resource, "default", "train")
    await project.run("pyyaml==6.0")
    assert await project.environments() != before


@pytest.mark.parametrize(("node_selector", "left_out"), [({}, True), ({"zone": "elsewhere"}, False)])
async def test_a_device_is_left_out_also_while_a_claim_is_missing(
    project: Project, node_selector: dict[str, str], left_out: bool
) -> None:
    """Else the job would wait for the device once the claim is there. One that fits nowhere else either keeps it."""
    manifest = read_manifest("pytorch_mnist")
    for role in manifest["spec"]["pytorchReplicaSpecs"].values():
        pod = role["template"]["spec"]
        pod["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        pod["nodeSelector"] = node_selector
        pod["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    await project.api.create(NODES, build_node(Machine("laptop", Fraction(8), 2**34), {}, 0.0, sandbox="none"))
    said: list[str] = []
    place = Local(Home(project.root / "home", project.root / "cache"))
    checked = [place_document("job.yaml", Document(manifest), "default")]
    submission = Submission(project.api, place, checked, lambda each: said.append(str(each)), runs=True)
    await refuse(submission, [DEVICES])
    (adapted,) = submission.checked
    assert adapted.job is not None
    assert [("--without nvidia.com/gpu" in each) for each in said] == [True] * left_out
    assert bool(read_devices([adapted.job])) is not left_out


async def test_what_the_server_refuses_makes_no_environment(project: Project) -> None:
    with pytest.raises(UserError, match="namespace"):
        await project.run("pyyaml", namespace="nowhere")
    assert await project.environments() == []


async def test_a_job_has_what_its_requirements_file_said_so_that_history_sees_a_change(project: Project) -> None:
    said = []
    for requirements in ("six==1.16.0\n", "six==1.16.0  # the same\n", "six==1.17.0\n"):
        await project.run(requirements)
        job = await project.api.get(PADDLEPADDLE.resource, "default", "train")
        said.append(json.loads(annotations_of(job)["paddock.dev/requirements-digest"]))
        await project.api.delete(PADDLEPADDLE.resource, "default", "train")
    (environment,) = await project.environments()
    source = read_source(environment)
    assert source is not None and said[2] == {"requirements.txt": source.digest}
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ([], {}),
        ([Source(())], {}),
        ([Source(("/p/requirements.txt",), "d1")], {"requirements.txt": "d1"}),
        ([Source(("/p/requirements.txt",), "d1", added=("tqdm", "six"))],
         {"requirements.txt": "d1", "--add": "six, tqdm"}),
        ([Source((), added=("tqdm @ https://me:secret@example.org/tqdm.whl?token=t",))],
         {"--add": "tqdm @ https://example.org"}),
        ([Source(("/p/a.txt",), "d1"), Source(("/p/b.txt",), "d2")], {"a.txt": "d1", "b.txt": "d2"}),
        ([Source(("/p/a.txt",), "d1"), Source(("/q/a.txt",), "d2")], {"/p/a.txt": "d1", "/q/a.txt": "d2"}),
    ],
)  # fmt: skip
def test_what_requirements_files_said_is_kept_by_their_names(sources: list[Source], said: dict[str, str]) -> None:
    assert describe_requirements(sources) == said
