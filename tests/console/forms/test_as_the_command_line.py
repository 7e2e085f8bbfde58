"""The form creates what `paddock run job.yaml --workdir DIR` creates, and says what that refuses."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.app.submitted.prepare import prepare, prepare_for_cluster
from paddock.app.why_not import fetch_waits
from paddock.cli.cluster.errors import UserError
from paddock.cli.cluster.places import Local
from paddock.cli.submit.checks import Submission
from paddock.cli.submit.submitter import submit
from paddock.console.backend import Backend
from paddock.console.forms.templates import TEMPLATES
from paddock.console.server import Console
from paddock.environments.defaults import build_defaults
from paddock.jobs.apis.registry import KINDS, KUBEFLOW_PYTORCH
from paddock.jobs.labels import WORKING_DIRECTORY_ANNOTATION
from paddock.jobs.model import Rank, Settings
from paddock.jobs.objects.pods import build_pod
from paddock.kube.api import Api
from paddock.kube.code_annotation import CODE_ANNOTATION
from paddock.kube.environments import PATH_ANNOTATION
from paddock.kube.meta import CONFIG_MAPS, ENVIRONMENTS, NODES, SECRETS, Manifest, annotations_of
from paddock.manifests.dumps import without_server_fields
from paddock.submission.documents import Checked
from paddock.submission.prepared import Prepared
from paddock.submission.reading import read_manifests
from support.readers import Reader, visiting

PADDLE = TEMPLATES["paddle"].text
LAUNCH = "command: [python, -m, paddle.distributed.launch, train.py]\n            args: [--epochs=10]\n"
TUTORIAL = re.sub(r"command: \[python, -c\]\n.*?(?= *resources:)", LAUNCH, PADDLE, flags=re.S).replace(
    "replicas: 1", "replicas: 2"
)
SCRIPT = re.sub(r" *workingDir: .*\n", "", TEMPLATES["script"].text)
GPUS = SCRIPT.replace("requests: {cpu: 1, memory: 2Gi}", "limits: {cpu: 1, nvidia.com/gpu: 2}")
SECRET = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {TOKEN: t}\n"
WITH_SECRET = SCRIPT.replace("command: ", "envFrom: [{secretRef: {name: keys}}]\n              command: ") + SECRET
TEXTS = {
    "the distributed tutorial": TUTORIAL,
    "a script": SCRIPT,
    "GPUs that no node has": GPUS,
    "a Secret beside the job": WITH_SECRET,
    "a program in the manifest": TEMPLATES["pytorch-distributed"].text,
    "another namespace is named": SCRIPT.replace("  name: train\n", "  name: train\n  namespace: default\n"),
}
NODE: Manifest = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "here"},
    "status": {
        "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "100"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "code"
    made.mkdir()
    (made / "train.py").write_text("print('loss: 1')\n")
    return made


@asynccontextmanager
async def opening(root: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(root)
    await apply_crds(api, build_crds())
    for each in build_defaults():
        await api.create(ENVIRONMENTS, each)
    await api.create(NODES, NODE)
    yield api
    await api.close()


@asynccontextmanager
async def console(api: LocalApi, *, local: bool = True) -> AsyncIterator[Reader]:
    made = prepare if local else prepare_for_cluster
    backend = Backend("here", local, lambda _: api, why_not=fetch_waits, prepare=made)
    async with visiting(Console(backend, b"k" * 32)) as client:
        yield client


async def post(client: Reader, form: Mapping[str, str], path: str = "/new") -> tuple[int, str]:
    origin = {"Sec-Fetch-Site": "same-origin"}
    async with client.post(path, data=dict(form), headers=origin, allow_redirects=False) as answer:
        return answer.status, html.unescape(await answer.text())


async def read_made(api: LocalApi) -> list[Manifest]:
    """What a user made, without what the server writes; and without PATH, which the form has of no shell."""
    found = [each for kind in (*KINDS, SECRETS, CONFIG_MAPS) for each in (await api.list(kind)).items]
    for each in found:
        notes = each["metadata"].pop("annotations", {})
        notes.pop(PATH_ANNOTATION, None)
        each["metadata"] |= {"annotations": notes} if notes else {}
    return [without_server_fields(each) for each in found]


async def run(api: LocalApi, root: Path, text: str, workdir: str | None) -> None:
    """As `paddock run job.yaml --workdir DIR`."""
    place = Local(Home(root / "home", root / "cache"))
    checked = list(read_manifests("job.yaml", text.encode(), "default").placed)
    await submit(Submission(api, place, checked, lambda _: None, workdir=workdir, runs=True))


@pytest.mark.parametrize("name", TEXTS)
async def test_the_form_creates_the_same_objects_as_the_command(name: str, tmp_path: Path, directory: Path) -> None:
    text = TEXTS[name]
    named = "a program" not in name
    async with opening(tmp_path / "a") as by_command, opening(tmp_path / "b") as by_form:
        await run(by_command, tmp_path, text, str(directory) if named else None)
        async with console(by_form) as client:
            typed = {"f:directory": str(directory), "was:directory": ""} if named else {}
            if "Secret" in name:  # two manifests have no form
                typed, note = {}, f"  annotations: {{{WORKING_DIRECTORY_ANNOTATION}: {directory}}}\n"
                text = text.replace("  name: train\n", f"  name: train\n{note}", 1)
            status, said = await post(client, {"text": text, "do": "create", **typed})
            assert status == 303, said
        made = await read_made(by_form)
        assert made == await read_made(by_command)
        (job,) = (each for each in made if each["kind"].endswith("Job"))
        assert (CODE_ANNOTATION in job["metadata"].get("annotations", {})) == named


async def test_each_rank_of_the_distributed_tutorial_by_the_form_has_logs_of_its_own(
    tmp_path: Path, directory: Path
) -> None:
    async with opening(tmp_path / "a") as api, console(api) as client:
        await post(client, {"text": TUTORIAL, "do": "create", "f:directory": str(directory), "was:directory": ""})
        ((resource, stored),) = [(kind, each) for kind in KINDS for each in (await api.list(kind)).items]
        job = KINDS[resource].read_job(stored)
        settings = Settings(output_root="/outputs", environments=True)
        (first, second) = (build_pod(job, Rank("worker", index), 0, None, settings) for index in (0, 1))
    logs = [read_variable(pod, "PADDLE_LOG_DIR") for pod in (first, second)]
    assert all(each.startswith("/outputs/") for each in logs), "not in the reader's directory"
    assert logs[0] != logs[1], "no lines of another rank"


def read_variable(pod: Manifest, name: str) -> str:
    (container,) = pod["spec"]["containers"]
    return next(str(each["value"]) for each in container["env"] if each["name"] == name)


def write_script(directory: str) -> str:
    return TEMPLATES["script"].write("en", on_laptop=True).replace("/path/to/your/code", directory)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (write_script("/path/to/your/code"), "the working directory /path/to/your/code is not on this machine"),
        (TEMPLATES["script"].text, "master starts in /path/to/your/code (workingDir), which is not on this machine"),
        (SCRIPT, "train.py is nowhere: the job has no working directory"),
        (write_script("/tmp/empty"), "train.py is not in the working directory /tmp/empty"),
        (write_script("code"), "the working directory code does not begin with /"),
    ],
    ids=["the template", "a workingDir", "no directory", "an empty directory", "a relative one"],
)  # fmt: skip
async def test_what_would_be_found_nowhere_is_said_and_nothing_starts_now(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text, said = (each.replace("/tmp/empty", str(tmp_path / "empty")) for each in (text, said))
    async with opening(tmp_path / "a") as api, console(api) as client:
        for do in ("check", "create"):
            status, page = await post(client, {"text": text, "do": do})
            assert status == 200 and said in page, page
            assert 'class="good"' not in page and "it would start now" not in page
        assert not (await api.list(KUBEFLOW_PYTORCH.resource)).items
        with pytest.raises(UserError):
            await run(api, tmp_path, text, None)


async def test_the_template_of_an_own_script_is_told_what_is_wrong_when_it_is_opened(tmp_path: Path) -> None:
    async with opening(tmp_path / "a") as api, console(api) as client, client.get("/new?template=script") as answer:
        page = html.unescape(await answer.text())
    assert WORKING_DIRECTORY_ANNOTATION in page
    assert "the working directory /path/to/your/code is not on this machine" in page
    assert 'class="good"' not in page


async def test_what_is_left_out_and_put_in_the_place_of_an_image_is_noted(tmp_path: Path, directory: Path) -> None:
    text = GPUS.replace("image: ", "image: nobody/knows:1 #")
    async with opening(tmp_path / "a") as api, console(api) as client:
        form = {"text": text, "do": "check", "f:directory": str(directory), "was:directory": ""}
        _, page = await post(client, form)
    assert "the job asks for 2 nvidia.com/gpu and this machine has none: training on the CPU" in page
    assert "nobody/knows:1" in page.partition('id="check"')[2].partition("<h2")[0]


async def test_what_a_cluster_does_not_know_is_said(tmp_path: Path) -> None:
    text = SCRIPT.replace("image: ", "image: nobody/knows:1 #")
    async with opening(tmp_path / "a") as api, console(api, local=False) as client:
        _, page = await post(client, {"text": text, "do": "check"})
    assert "whether the image nobody/knows:1 has train.py is not known here" in page
    assert "whether the cluster can pull its image is not known here" in page


@pytest.mark.parametrize("mounted", [True, False])
async def test_a_directory_of_a_volume_is_not_looked_for_on_this_machine(mounted: bool, tmp_path: Path) -> None:
    volume = "volumeMounts: [{name: v, mountPath: /path/to}]\n              workingDir:"
    text = TEMPLATES["script"].text.replace("workingDir:", volume if mounted else "workingDir:")
    text = text.replace("          containers:", "          volumes: [{name: v, emptyDir: {}}]\n          containers:")
    async with opening(tmp_path / "a") as api, console(api) as client:
        _, page = await post(client, {"text": text, "do": "check"})
    assert ("is not on this machine" in page) == (not mounted)


async def test_code_is_read_of_a_job_that_is_created_and_not_at_each_look_at_the_form(
    tmp_path: Path, directory: Path
) -> None:
    asked = list[bool]()

    async def hear(api: Api, checked: Sequence[Checked], creates: bool) -> Prepared:
        found = await prepare(api, checked, creates)
        asked.append(creates)
        assert all((CODE_ANNOTATION in annotations_of(each.manifest)) == creates for each in found.checked)
        return found

    async with opening(tmp_path / "a") as api:
        backend = Backend("here", True, lambda _: api, why_not=fetch_waits, prepare=hear)
        async with visiting(Console(backend, b"k" * 32)) as client:
            for do in ("check", "create"):
                status, page = await post(client, {"text": write_script(str(directory)), "do": do})
                assert status == (200 if do == "check" else 303), page
    assert asked == [False, True]
