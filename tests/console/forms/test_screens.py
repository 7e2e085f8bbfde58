"""The pages for a new job and for an edit, over HTTP, on the embedded API."""

from __future__ import annotations

import html
import io
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import FormData

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.kinds import apply_crds, build_crds
from paddock.app.why_not import fetch_waits
from paddock.console.backend import Backend
from paddock.console.forms.templates import TEMPLATES
from paddock.console.server import Console
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, Replace, T
from paddock.kube.errors import Forbidden, Unavailable
from paddock.kube.meta import Resource
from support.readers import Reader, visiting

JOBS = KUBEFLOW_PYTORCH.resource
TEXT = TEMPLATES["pytorch-single"].text
EDIT = "/jobs/default/pytorchjobs/pytorch-single/edit"


@dataclass
class Browser:
    """Without scripts: what a page's form has, and what is typed in it."""

    client: Reader
    api: Api

    async def get(self, path: str) -> str:
        async with self.client.get(path) as answer:
            return html.unescape(await answer.text())

    async def post(self, path: str, form: Mapping[str, str]) -> tuple[int, str]:
        origin = {"Sec-Fetch-Site": "same-origin"}
        async with self.client.post(path, data=dict(form), headers=origin, allow_redirects=False) as answer:
            return answer.status, answer.following if answer.status == 303 else html.unescape(await answer.text())


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    api = await LocalApi.open(tmp_path / "cluster")
    await apply_crds(api, build_crds())
    backend = Backend("here", True, lambda _: api, why_not=fetch_waits)
    console = Console(backend, b"k" * 32)
    async with visiting(console) as client:
        yield Browser(client, api)
    await api.close()


def read_base(page: str) -> str:
    """The job's text that the page knows."""
    (found,) = re.findall(r'<textarea name="base" hidden>\n(.*?)</textarea>', page, re.S)
    return str(found)


def test_the_comments_of_a_template_are_in_the_readers_language() -> None:
    for name, each in TEMPLATES.items():
        assert each.write("en") == each.text, name
        comments = {
            comment for here in (False, True) for comment in re.findall("# (.*)", each.write("zh", on_laptop=here))
        }
        assert len(comments) == len(each.comments), name
        assert all(re.search("[\u4e00-\u9fff]", comment) for comment in comments), (name, comments)


async def test_a_form_is_checked_and_created_without_scripts(browser: Browser) -> None:
    page = await browser.get("/new?template=pytorch-single")
    assert "the server takes it (dry run)" in page
    assert re.search('id="asked"[^>]*>0.5 CPUs, 1.0 GiB<', page), re.findall('id="asked".*', page)
    typed = {"text": TEXT, "f:name": "mine", "was:name": "pytorch-single", "do": "create"}
    assert await browser.post("/new?template=pytorch-single", typed) == (303, "/jobs/default/pytorchjobs/mine")
    assert (await browser.api.get(JOBS, "default", "mine"))["metadata"]["name"] == "mine"


async def test_both_sides_may_have_been_typed_in(browser: Browser) -> None:
    text = TEXT.replace("spec:\n", "# mine\nspec:\n", 1)
    _, page = await browser.post("/new", {"text": text, "f:name": "other", "was:name": "pytorch-single", "do": "check"})
    assert "# mine" in page
    assert "name: other" in page
    assert "name: pytorch-single" not in page


async def test_a_typo_is_told_with_its_line_and_fixed_by_its_button(browser: Browser) -> None:
    wrong = TEXT.replace("replicas: 1", "replica: 1")
    _, page = await browser.post("/new", {"text": wrong, "do": "create"})
    assert 'did you mean "replicas"?' in page
    (place,) = re.findall(r'value="(fix:[0-9:]+)"', page)
    _, page = await browser.post("/new", {"text": wrong, "do": place})
    assert "replicas: 1" in page
    assert "the server takes it" in page


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("spec:\n", "spec:\n  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n", "nobody else runs jobs on"),
        ("- name: pytorch\n", "- name: pytorch\n              envFrom: [{secretRef: {name: keys}}]\n",
         "there is no Secret keys for envFrom"),
    ],
)  # fmt: skip
async def test_what_run_would_refuse_is_said_and_not_created(browser: Browser, old: str, new: str, said: str) -> None:
    text = re.sub(r"  runPolicy:\n(    .*\n)+", "", TEXT).replace(old, new, 1)
    for do in ("check", "create"):
        status, page = await browser.post("/new", {"text": text, "do": do})
        assert status == 200
        assert "PyTorchJob default/pytorch-single would be refused: " in page and said in page, page
    assert (await browser.api.list(JOBS)).items == []


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-x}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: board, namespace: team-x}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
"""


async def test_a_namespace_of_the_text_is_made_first_and_what_a_laptop_does_not_run_is_left_out(
    browser: Browser,
) -> None:
    job = TEXT.replace("name: pytorch-single\n", "name: pytorch-single\n  namespace: team-x\n", 1)
    _, page = await browser.post("/new", {"text": job, "do": "check"})
    assert "the server refuses it" in page and "team-x" in page
    text = "---\n".join([job, DEPLOYMENT, NAMESPACE])
    _, page = await browser.post("/new", {"text": text, "do": "check"})
    assert "the server takes it" in page and "the server refuses it" not in page
    assert "Deployment team-x/board is left out: a laptop runs no Deployment" in page
    status, address = await browser.post("/new", {"text": text, "do": "create"})
    assert (status, address) == (303, "/jobs/team-x/pytorchjobs/pytorch-single")


async def test_a_name_that_is_taken_is_said_with_what_can_be_done(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    _, page = await browser.post("/new", {"text": TEXT, "do": "create"})
    assert "exists already: give this one another name (pytorch-single-2)" in page


async def test_a_clone_has_the_next_name(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    page = await browser.get("/new?from=default/pytorchjobs/pytorch-single")
    assert "name: pytorch-single-2" in page
    assert "resourceVersion" not in page
    for absent in ("default/pytorchjobs/nobody", "x", "a/b/c"):
        assert "there is no job" in await browser.get(f"/new?from={absent}")


async def test_a_clone_of_a_cancelled_and_suspended_job_starts_under_a_free_name(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    await browser.post("/new", {"text": TEXT.replace("name: pytorch-single", "name: pytorch-single-2"), "do": "create"})
    change = {"metadata": {"annotations": {CANCEL_ANNOTATION: "ada"}}, "spec": {"runPolicy": {"suspend": True}}}
    await browser.api.patch(JOBS, "default", "pytorch-single", change)
    page = await browser.get("/new?from=default/pytorchjobs/pytorch-single")
    assert "name: pytorch-single-3" in page
    assert CANCEL_ANNOTATION not in page and "suspend: true" not in page


async def test_a_job_is_run_again_with_everything_kept_under_a_free_name(browser: Browser) -> None:
    mine = TEXT.replace("memory: 1Gi", "memory: 1234Mi")
    await browser.post("/new", {"text": mine, "do": "create"})
    page = await browser.get("/new?from=default/pytorchjobs/pytorch-single&again=1")
    assert "<h1>Run pytorch-single again</h1>" in page
    assert "name: pytorch-single-2" in page and 'memory: "1234Mi"' in page
    text = re.findall(r'<textarea id="text".*?>\n(.*?)</textarea>', page, re.S)[0]
    status, address = await browser.post("/new?from=default/pytorchjobs/pytorch-single&again=1",
                                         {"text": text, "do": "create"})  # fmt: skip
    assert (status, address) == (303, "/jobs/default/pytorchjobs/pytorch-single-2")


async def test_a_clone_without_gpus_asks_for_none_and_keeps_everything_else(browser: Browser) -> None:
    asking = TEXT.replace("requests: {cpu: 500m, memory: 1Gi}",
                          "{requests: {cpu: 500m, nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}")  # fmt: skip
    await browser.post("/new", {"text": asking, "do": "create"})
    page = await browser.get("/new?from=default/pytorchjobs/pytorch-single&without=nvidia.com/gpu,nvidia.com/gpus")
    text = re.findall(r'<textarea id="text".*?>\n(.*?)</textarea>', page, re.S)[0]
    assert 'cpu: "500m"' in text
    assert not re.search(r"^ *nvidia.com/gpu:", text, re.M), text
    assert "the job does not ask for nvidia.com/gpus" in page


async def test_a_field_of_a_text_that_is_being_typed_is_told(browser: Browser) -> None:
    volumes = "volumes: [{name: d, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]"
    mounts = "volumeMounts: [{name: d, mountPath: /dev/shm}, 5]"
    text = TEXT.replace("containers:", f"{volumes}\n          containers:").replace(
        "- name: pytorch\n", f"- name: pytorch\n              {mounts}\n"
    )
    for typed in ("2Gi", ""):
        status, page = await browser.post("/new", {"text": text, "f:shm": typed, "was:shm": "x"})
        assert status == 200 and "5]" in page


async def test_what_is_typed_is_kept_where_a_field_cannot_be_written(browser: Browser) -> None:
    _, page = await browser.post("/new", {"text": TEXT, "f:command": "python 'x", "was:command": "python -c"})
    assert "Start command: a quote is not closed" in page
    assert "python 'x</textarea>" in page


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\t",
        "<script>alert(1)</script>",
        "{",
        "a: *b",
        "x" * 1_000_000,
        "- " * 3000,
        "kind: List\nitems: [1]",
        TEXT.replace("          containers:", "          volumes: 1.5\n          containers:", 1),
        TEXT.replace(
            "          containers:",
            "          volumes: [{name: [], persistentVolumeClaim: 1}]\n          containers:",
            1,
        ),
        "\x00",
    ],
)
async def test_bad_input_is_told_and_no_text_is_markup(browser: Browser, text: str) -> None:
    status, page = await browser.post("/new", {"text": text, "do": "create"})
    assert status == 200
    assert 'class="problems"' in page
    async with browser.client.post(
        "/new", data={"text": text}, headers={"Sec-Fetch-Site": "same-origin"}
    ) as answer:  # as it was sent
        assert "<script>alert" not in await answer.text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TEXT.encode(), "the server takes it (dry run)"),
        (b"\xff\xfe\x00", 'class="problems"'),
        (b"", 'class="problems"'),
    ],
)
async def test_a_file_is_opened_in_the_form_without_scripts(browser: Browser, content: bytes, said: str) -> None:
    assert 'type="file"' in await browser.get("/new")
    form = FormData({"do": "check"})
    form.add_field("file", io.BytesIO(content), filename="job.yaml")
    async with browser.client.post("/new", data=form, headers={"Sec-Fetch-Site": "same-origin"}) as answer:
        assert said in await answer.text()


async def test_a_form_from_elsewhere_does_nothing(browser: Browser) -> None:
    async with browser.client.post("/new", data={"text": TEXT, "do": "create"}) as answer:
        assert answer.status == 403
    assert not (await browser.api.list(JOBS)).items


async def test_an_edit_shows_its_difference_and_its_cost_and_is_saved(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    typed = {"text": TEXT, "base": read_base(await browser.get(EDIT)), "f:image": "other:1", "was:image": "x"}
    _, page = await browser.post(EDIT, {**typed, "do": "check"})
    assert 'data-sign="+"' in page
    assert "the server takes it (dry run)" in page
    assert "no pod runs: the job starts with what is saved here" in page
    stored = await browser.api.get(JOBS, "default", "pytorch-single")
    assert "other:1" not in str(stored), "a check saves nothing"
    assert await browser.post(EDIT, {**typed, "do": "save"}) == (303, "/jobs/default/pytorchjobs/pytorch-single")
    saved = await browser.api.get(JOBS, "default", "pytorch-single")
    assert saved["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["image"] == "other:1"


async def test_an_edit_of_what_somebody_changed_meanwhile_saves_nothing_and_loses_nothing(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    base = read_base(await browser.get(EDIT))
    patch = {"spec": {"runPolicy": {"backoffLimit": 7}}}
    await browser.api.patch(JOBS, "default", "pytorch-single", patch)
    mine = TEXT.replace("spec:\n", "spec:\n  # mine\n  nprocPerNode: auto\n", 1)
    _, page = await browser.post(EDIT, {"text": mine, "base": base, "do": "save"})
    assert "somebody changed this job while you edited it" in page
    assert "# mine" in page
    assert "backoffLimit: 7" in page
    assert "nprocPerNode" not in (await browser.api.get(JOBS, "default", "pytorch-single"))["spec"]
    assert page.index('data-sign="+">+     backoffLimit: 7') < page.index('data-sign="-">-     backoffLimit: 7'), (
        "theirs first"
    )
    again = read_base(page)
    assert (await browser.post(EDIT, {"text": mine, "base": again, "do": "save"}))[0] == 303


async def test_an_edit_that_the_server_refuses_is_told_before_it_is_saved(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    console = Console(Backend("here", True, lambda _: Quota(browser.api)), b"k" * 32)
    async with visiting(console) as client:
        other = Browser(client, browser.api)
        typed = {"text": TEXT, "base": read_base(await other.get(EDIT)), "f:labels": "a=b", "was:labels": ""}
        for do in ("check", "save"):
            status, page = await other.post(EDIT, {**typed, "do": do})
            assert (status, "the server refuses it: exceeded quota" in page, "takes it" in page) == (200, True, False)


async def test_a_text_outlives_the_job_that_was_deleted_meanwhile(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    typed = {"text": TEXT + "# mine\n", "base": read_base(await browser.get(EDIT)), "do": "save"}
    await browser.api.delete(JOBS, "default", "pytorch-single")
    status, page = await browser.post(EDIT, typed)
    assert (status, "there is no job pytorch-single in default" in page, "# mine" in page) == (200, True, True)


async def test_an_edit_cannot_rename(browser: Browser) -> None:
    await browser.post("/new", {"text": TEXT, "do": "create"})
    base = read_base(await browser.get(EDIT))
    _, page = await browser.post(EDIT, {"text": TEXT.replace("pytorch-single", "b"), "base": base, "do": "save"})
    assert "an edit leaves it pytorch-single: clone the job" in page


async def test_an_edit_of_a_job_that_is_not_there_is_told(browser: Browser) -> None:
    assert "there is no job pytorch-single in default" in await browser.get(EDIT)


class Quota(Api):
    """Another API, which lets nothing be changed."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, Replace):
            raise Forbidden("exceeded quota")
        return await self._api.send(call)

    def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        return self._api.follow(resource, namespace, labels=labels, fields=fields)


class Broken(Api):
    """An API that answers nothing but one error."""

    async def send(self, call: Call[T]) -> T:
        raise Unavailable("the server is being upgraded")

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        raise Unavailable("the server is being upgraded")
        yield


async def test_an_api_that_does_not_answer_is_told_and_the_text_stays() -> None:
    console = Console(Backend("here", True, lambda _: Broken()), b"k" * 32)
    async with visiting(console) as client:
        browser = Browser(client, Broken())
        status, page = await browser.post("/new", {"text": TEXT + "# mine\n", "do": "create"})
        assert (status, "the server is being upgraded" in page, "# mine" in page) == (200, True, True)
        assert "the cluster's API answered: the server is being upgraded" in await browser.get(EDIT)
        status, page = await browser.post(EDIT, {"text": TEXT + "# mine\n", "do": "save"})
        assert (status, "the server is being upgraded" in page, "# mine" in page) == (200, True, True)
