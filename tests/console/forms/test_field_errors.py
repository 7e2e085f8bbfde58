"""An error stands at its field: which field it is, what is said there, and what a page without scripts has of it."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.kinds import apply_crds, build_crds
from paddock.console.backend import Backend
from paddock.console.forms.checking import check_text
from paddock.console.forms.field_errors import build_places, explain_bytes, find_errors, find_field
from paddock.console.forms.fields import read_form
from paddock.console.forms.templates import TEMPLATES
from paddock.console.server import Console
from paddock.kube.meta import SECRETS
from support.readers import Reader, visiting
from support.steps import count_steps

TEXT = TEMPLATES["pytorch-single"].text
CONTAINER = "spec.pytorchReplicaSpecs.Master.template.spec.containers[0]"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("metadata.name", "name"),
        ("metadata.annotations[paddock.dev/datasets]", "datasets"),
        ("metadata.annotations[paddock.dev/other]", None),
        ("spec.pytorchReplicaSpecs.Master.replicas", "Master.replicas"),
        (f"{CONTAINER}.resources.requests.memory", "Master.memory"),
        (f"{CONTAINER}.resources.limits[nvidia.com/gpu]", "Master.gpu"),
        (f"{CONTAINER}.resources.requests", None),
        (f"{CONTAINER}.command[0]", "command"),
        (f"{CONTAINER}.volumeMounts[0].mountPath", "storage"),
        ("spec.pytorchReplicaSpecs.Master.template.spec.volumes[0].name", "storage"),
        ("spec.runPolicy.backoffLimit", "restarts"),
        ("spec.nobody", None),
        ("", None),
    ],
)
def test_a_problem_is_at_the_field_whose_value_it_is_about(path: str, field: str | None) -> None:
    found = find_field(build_places(read_form(TEXT).fields), path)
    assert (found.id if found else None) == field


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2GB", '"2GB" is not understood: write 2G or 2Gi'),
        ("512 mb", '"512 mb" is not understood: write 512M or 512Mi'),
        ("1.5TiB", '"1.5TiB" is not understood: write 1.5T or 1.5Ti'),
        ("8kb", '"8kb" is not understood: write 8k or 8Ki'),
        ("2Gi", None),
        ("two", None),
        ("", None),
    ],
)
def test_an_amount_as_one_says_it_is_told_as_it_is_written(typed: str, said: str | None) -> None:
    found = explain_bytes(typed)
    assert (str(found) if found else None) == said


def test_warnings_are_not_under_fields() -> None:
    (problem,) = check_text(TEXT.replace("cpu: 500m", "cpu: two")).problems
    places = build_places(read_form(TEXT).fields)
    assert list(find_errors(places, [problem])) == ["Master.cpu"]
    assert not find_errors(places, [replace(problem, severity="warning")])


def test_twice_the_roles_with_an_error_in_each_cost_twice_as_much() -> None:
    def count(roles: int) -> int:
        text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n"
        container = "{name: pytorch, image: a, resources: {requests: {memory: 2GB}}}"
        role = f"{{replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}"
        text += "".join(f"    Role{number}: {role}\n" for number in range(roles))
        fields, problems = read_form(text).fields, check_text(text).problems
        assert len(problems) >= roles and len(fields) > roles
        return count_steps(lambda: find_errors(build_places(fields), problems))

    assert count(40) < 3 * count(20)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Reader]:
    api = await LocalApi.open(tmp_path / "cluster")
    await apply_crds(api, build_crds())
    metadata = {"name": "keys", "namespace": "default"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"token": "c2VjcmV0"}}
    await api.create(SECRETS, secret)
    async with visiting(Console(Backend("here", True, lambda _: api), b"k" * 32)) as reader:
        yield reader
    await api.close()


async def post(client: Reader, **form: str) -> str:
    origin = {"Sec-Fetch-Site": "same-origin"}
    async with client.post("/new", data=form, headers=origin, allow_redirects=False) as answer:
        assert answer.status == 200
        return html.unescape(await answer.text())


def take_field(page: str, name: str) -> str:
    (found,) = re.findall(rf'<div id="field:{re.escape(name)}".*?<div class="about".*?</div>', page, re.S)
    return str(found)


@pytest.mark.parametrize(
    ("field", "was", "typed", "said"),
    [
        ("Master.memory", "1Gi", "2GB", '"2GB" is not understood: write 2G or 2Gi'),
        ("Master.replicas", "1", "two", 'found "two"'),
        ("name", "pytorch-single", "A_b", 'found "A_b"'),
        ("env", "", "no pair", "line 1: NAME=value is wanted"),
        ("command", "python -c", "python 'x", "a quote is not closed"),
        ("datasets", "", "words:data", "does not begin with /"),
        ("storage", "", "claim:here", "line 1: CLAIM:/path"),
    ],
)
async def test_what_is_wrong_with_a_field_stands_under_it_and_marks_it(
    field: str, was: str, typed: str, said: str, client: Reader
) -> None:
    page = await post(client, text=TEXT, do="create", **{f"f:{field}": typed, f"was:{field}": was})
    shown = take_field(page, field)
    assert f'<p class="wrong">{said}' in shown or (said in shown and 'class="wrong"' in shown), shown
    assert 'aria-invalid="true"' in shown
    assert f'aria-describedby="about:{field}"' in shown and f'id="about:{field}"' in shown
    assert page.count('aria-invalid="true"') == 1, "no other field"
    assert re.search(r'id="verdict"[^>]*class="bad">1 error: nothing is sent<', page)


async def test_the_line_of_the_text_comes_second_with_a_link_to_the_field(client: Reader) -> None:
    page = await post(client, text=TEXT.replace("memory: 1Gi", "memory: 2GB"), do="check")
    (listed,) = re.findall(r'<li class="bad">(.*?)</li>', page, re.S)
    assert re.match('<a href="#f:Master.memory" data-field="Master.memory" title="[^"]+">Master: Memory</a>', listed)
    assert listed.index("found") < listed.index("data-line="), listed


async def test_a_name_that_is_taken_is_said_at_the_name(client: Reader) -> None:
    origin = {"Sec-Fetch-Site": "same-origin"}
    async with client.post("/new", data={"text": TEXT, "do": "create"}, headers=origin, allow_redirects=False):
        pass
    page = await post(client, text=TEXT, do="create")
    assert "exists already" in take_field(page, "name")


async def test_secrets_are_offered_by_name_and_key_and_never_by_value(client: Reader) -> None:
    async with client.get("/new?template=pytorch-single") as answer:
        page = await answer.text()
    assert re.search(r'<datalist id="of:secret"><option value="keys">', page)
    assert re.search(r'<datalist id="of:key"><option value="token">', page)
    assert "c2VjcmV0" not in page and "secret</" not in page


async def test_a_dataset_and_a_secret_variable_are_typed_without_scripts(client: Reader) -> None:
    cells = {"t:datasets:0:0": "words", "t:datasets:0:1": "/data", "was:datasets": ""}
    cells |= {"t:secrets:0:0": "TOKEN", "t:secrets:0:1": "keys", "t:secrets:0:2": "token", "was:secrets": ""}
    page = await post(client, text=TEXT, do="check", **cells)
    assert "paddock.dev/datasets: words:/data" in page
    assert "secretKeyRef" in page and "key: token" in page
    assert 'name="t:datasets:1:0" value=""' in page, "a row for the next one"
    assert 'name="t:secrets:0:2" value="token"' in page


async def test_what_can_be_written_is_written_beside_what_cannot(client: Reader) -> None:
    typed = {"f:command": "python 'x", "was:command": "python -c", "f:env": "no pair", "was:env": ""}
    page = await post(client, text=TEXT, do="check", **{"f:name": "mine", "was:name": "pytorch-single"}, **typed)
    assert "name: mine" in page
    assert "a quote is not closed" in take_field(page, "command") and "python 'x" in take_field(page, "command")
    assert "NAME=value is wanted" in take_field(page, "env") and 'value="no pair"' in take_field(page, "env")
    assert "2 errors: nothing is sent" in page


MARKUP = "<img src=x onerror=alert(1)>\"'"


async def test_markup_in_fields_is_text(client: Reader) -> None:
    names = ("name", "description", "image", "command", "queue", "directory")
    typed = {f"f:{name}": MARKUP for name in names} | {f"was:{name}": "" for name in names}
    cells = {"t:env:0:0": MARKUP, "t:env:0:1": MARKUP, "t:<script>:0:0": MARKUP, "t:secrets:0:0": "A"}
    origin = {"Sec-Fetch-Site": "same-origin"}
    sent = {"text": TEXT.replace("pytorch-single", MARKUP), "do": "create", **typed, **cells}
    async with client.post("/new", data=sent, headers=origin, allow_redirects=False) as answer:
        assert answer.status == 200
        page = await answer.text()
    assert "<img src=x" not in page and "<script>:" not in page


@pytest.mark.slow
async def test_a_form_of_very_many_fields_or_bytes_is_refused_or_said(client: Reader) -> None:
    origin = {"Sec-Fetch-Site": "same-origin"}
    many = {f"t:env:{row}:{column}": f"A{row}" for row in range(490) for column in (0, 1)}
    page = await post(client, text=TEXT, do="check", **many)
    assert "A489" in page, "as many variables as rows"
    assert page.count("<input") < 200, "the answer can be sent back: a long table is a text"
    assert "Name=Value on each line" in take_field(page, "env")
    async with client.post("/new", data=dict.fromkeys(map(str, range(5_000)), "x"), headers=origin) as answer:
        assert answer.status == 413
        assert "fields" in await answer.text()
    async with client.post("/new", data={"text": "x" * (3 << 20)}, headers=origin) as answer:
        assert answer.status == 413
    page = await post(client, text="x: " + "y" * (1_900 << 10), do="create")
    assert "the console reads 128 KiB at most" in page


async def test_two_tabs_that_send_the_same_job_create_one(client: Reader) -> None:
    origin = {"Sec-Fetch-Site": "same-origin"}

    async def send() -> int:
        form = {"text": TEXT, "do": "create"}
        async with client.post("/new", data=form, headers=origin, allow_redirects=False) as answer:
            return answer.status

    assert sorted(await asyncio.gather(send(), send())) == [200, 303]
