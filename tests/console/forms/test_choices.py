"""The names that a form offers for queue, priority and environment: those of the embedded API, with kinds of Kueue."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.kinds import apply_crds, build_crds
from paddock.console.backend import Backend
from paddock.console.forms.choices import LOCAL_QUEUES, VOLCANO_QUEUES, WORKLOAD_PRIORITIES, Choices
from paddock.console.forms.fields import read_form, write_fields
from paddock.console.forms.templates import TEMPLATES
from paddock.console.server import Console
from paddock.kube.api import Api, Event
from paddock.kube.calls import Call, List, T
from paddock.kube.errors import Forbidden
from paddock.kube.meta import PRIORITY_CLASSES, SECRETS, Manifest, Resource
from support.readers import Reader, visiting

TEXT = TEMPLATES["pytorch-single"].text
LABELLED = TEXT.replace(
    "  name: pytorch-single\n",
    "  name: pytorch-single\n  labels: {kueue.x-k8s.io/queue-name: a, kueue.x-k8s.io/priority-class: b}\n",
)
ALL = Choices(["env"], ["high"], ["root"], ["urgent"], {"default": ["team"], "other": ["theirs"]})


@pytest.mark.parametrize(
    ("choices", "namespace", "by_label", "offered"),
    [
        (Choices(), "default", ["queue"], {}),
        (ALL, "default", ["queue"], {"environment": ["env"], "queue": ["team"], "priority": ["high"]}),
        (ALL, "other", ["queue", "priority"], {"environment": ["env"], "queue": ["theirs"], "priority": ["urgent"]}),
        (ALL, "empty", ["queue"], {"environment": ["env"], "priority": ["high"]}),
        (ALL, "default", [], {"environment": ["env"], "queue": ["root"], "priority": ["high"]}),
    ],
)
def test_what_fits_the_place_of_the_value_is_offered(
    choices: Choices, namespace: str, by_label: Sequence[str], offered: Mapping[str, Sequence[str]]
) -> None:
    assert choices.offer(namespace, by_label) == offered


@pytest.mark.parametrize(
    ("text", "choices", "written"),
    [
        (TEXT, Choices(), "    schedulingPolicy:\n      queue: mine\n      priorityClass: first\n"),
        (TEXT, ALL, "  labels:\n    kueue.x-k8s.io/queue-name: mine\n    kueue.x-k8s.io/priority-class: first\n"),
        (LABELLED, Choices(), "  labels: {kueue.x-k8s.io/queue-name: mine, kueue.x-k8s.io/priority-class: first}\n"),
        (TEMPLATES["paddle"].text, ALL, "  schedulingPolicy:\n    queue: mine\n    priorityClass: first\n"),
    ],
    ids=["volcano", "kueue", "labels are there", "Kueue takes no paddlepaddle.org"],
)
def test_a_queue_is_written_where_the_cluster_reads_it(text: str, choices: Choices, written: str) -> None:
    made = write_fields(text, {"queue": "mine", "priority": "first"}, choices.labelled)
    assert written in made
    shown = {each.id: each.shown for each in read_form(made).fields}
    assert (shown["queue"], shown["priority"]) == ("mine", "first"), "once written it is found without the cluster"


class Rights(Api):
    """Of a reader who may list LocalQueues in one namespace only."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.asked = set[str]()

    async def send(self, call: Call[T]) -> T:
        self.asked |= {getattr(call, "namespace", "")} if call.resource == LOCAL_QUEUES else set()
        if call.resource == LOCAL_QUEUES and getattr(call, "namespace", "") != "default":
            raise Forbidden("not all namespaces")
        return await self._api.send(call)

    async def follow(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Event]:
        if resource == LOCAL_QUEUES:
            raise Forbidden("not all namespaces")
        async for event in self._api.follow(resource, namespace, labels=labels, fields=fields):
            yield event


def build_crd(kind: Resource) -> Manifest:
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [{"name": kind.version, "served": True, "storage": True, "schema": schema}],
        },
    }


def build(kind: Resource, name: str, namespace: str = "") -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    value = {"value": 5} if kind == PRIORITY_CLASSES else {}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **place}, **value}


@asynccontextmanager
async def serve(api: Api) -> AsyncIterator[Reader]:
    async with visiting(Console(Backend("here", False, lambda _: api), b"k" * 32)) as client:
        yield client


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    api = await LocalApi.open(tmp_path / "cluster")
    await apply_crds(api, build_crds())
    yield api
    await api.close()


async def read_offered(client: Reader, path: str) -> dict[str, list[str]]:
    async with client.get(path) as answer:
        page = html.unescape(await answer.text())
    lists = re.findall(r'<datalist id="of:(\w+)">(.*?)</datalist>', page)
    assert {name for name, _ in lists} == set(re.findall(r' list="of:(\w+)"', page))
    return {name: re.findall('value="([^"]*)"', options) for name, options in lists}


async def test_nothing_is_offered_where_nothing_is_there(api: LocalApi) -> None:
    async with serve(api) as client:
        assert await read_offered(client, "/new?template=pytorch-single") == {}


@pytest.mark.parametrize("narrow", [False, True], ids=["all namespaces", "one namespace"])
async def test_what_the_cluster_has_is_offered(api: LocalApi, narrow: bool) -> None:
    await apply_crds(api, [build_crd(each) for each in (LOCAL_QUEUES, WORKLOAD_PRIORITIES, VOLCANO_QUEUES)])
    there = [
        (LOCAL_QUEUES, "team-b", "default"), (LOCAL_QUEUES, "team-a", "default"), (PRIORITY_CLASSES, "high", ""),
        (VOLCANO_QUEUES, "root", ""),  # and the two classes of the system, as everywhere
        (WORKLOAD_PRIORITIES, "urgent", ""),
    ]  # fmt: skip
    for kind, name, namespace in there:
        await api.create(kind, build(kind, name, namespace))
    async with serve(Rights(api) if narrow else api) as client:
        found = await read_offered(client, "/new?template=pytorch-single")
        assert found == {"queue": ["team-a", "team-b"], "priority": ["urgent"]}
        found = await read_offered(client, "/new?template=paddle")
        assert found == {"queue": ["root"], "priority": ["high"]}


async def test_a_namespace_that_can_be_none_is_no_part_of_a_path_of_the_api(api: LocalApi) -> None:
    narrow = Rights(api)
    async with serve(narrow) as client:
        for typed in ("../../../api/v1/secrets?", "Team A", "team"):
            posted = {"text": TEXT, "f:namespace": typed}
            async with client.post("/new", data=posted, headers={"Sec-Fetch-Site": "same-origin"}) as answer:
                assert answer.status == 200
    assert narrow.asked == {"team"}


class Listening(Rights):
    async def send(self, call: Call[T]) -> T:
        self.asked.add(str(call))
        return await super().send(call)


async def test_of_secrets_those_of_a_person_are_asked_for_and_their_values_are_not_held(api: LocalApi) -> None:
    for name, kind in (("tokens", "Opaque"), ("sh.helm.release.v1.x.v1", "helm.sh/release.v1")):
        made = {"metadata": {"name": name, "namespace": "default"}, "type": kind, "stringData": {"TOKEN": "s3cret"}}
        await api.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **made})
    heard = Lists(api)
    async with serve(heard) as client, client.get("/new?template=pytorch-single") as answer:
        page = await answer.text()
    (call,) = (each for each in heard.calls if each.resource == SECRETS)
    assert call.fields == "type=Opaque" and call.keep is not None
    (kept,) = map(call.keep, (await api.send(call)).items)
    assert kept == {"metadata": {"name": "tokens"}, "data": {"TOKEN": ""}}
    assert 'value="tokens"' in page and "sh.helm" not in page


class Lists(Listening):
    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.calls = list[List]()

    async def send(self, call: Call[T]) -> T:
        if isinstance(call, List):
            self.calls.append(call)
        return await self._api.send(call)


@pytest.mark.parametrize("job", ["..%2Fx", "x%3Fy", "X"])
async def test_a_clone_of_what_can_be_no_job_is_not_asked_for(api: LocalApi, job: str) -> None:
    heard = Listening(api)
    async with serve(heard) as client, client.get(f"/new?from=default/pytorchjobs/{job}") as answer:
        assert answer.status == 404 and "there is no job" in await answer.text()
    assert not heard.asked
