"""`Environments` over the embedded API, with a real uv: what the kubelet is told, and what kubectl shows."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from environments.packages import Index, make_builder
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.images import EnvironmentImages
from paddock.environments.answers import Answer, Preparing, Ready, Unavailable
from paddock.environments.crd import build_crd
from paddock.environments.defaults import build_defaults
from paddock.environments.definition import BUILD_REQUESTED, PROGRAMS
from paddock.environments.directories import wanted_note
from paddock.environments.library import Environments
from paddock.environments.seeding import SEED, seed
from paddock.kube.errors import Invalid
from paddock.kube.meta import CRDS, ENVIRONMENTS, Manifest
from paddock.node.runtime import images as node


def environment(name: str = "tiny", **spec: Any) -> Manifest:
    spec = {"images": ["*/team/tiny:*"], "requirements": ["tiny==1.0"], "env": [{"name": "FLAG", "value": "1"}]} | spec
    return {"apiVersion": "paddock.dev/v1alpha1", "kind": "Environment", "metadata": {"name": name}, "spec": spec}


IMAGE = "registry.example/team/tiny:v1"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[LocalApi]:
    opened = await LocalApi.open(tmp_path / "api")
    await opened.create(CRDS, build_crd(), strict=True)
    yield opened
    await opened.close()


class Library:
    """`Environments` while it runs."""

    def __init__(self, api: LocalApi, directory: Path, index: str) -> None:
        self.api = api
        builder = make_builder(directory, index)
        self.environments = Environments(api, directory / "cache", environ={"PATH": "/usr/bin"}, builder=builder)

    async def __aenter__(self) -> Library:
        self._task = asyncio.create_task(self.environments.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def ask(self, image: str = IMAGE, pod: Manifest | None = None) -> Answer:
        return self.environments.resolve({"image": image}, pod or {})

    async def until(self, holds: Callable[[Answer], bool], image: str = IMAGE, pod: Manifest | None = None) -> Answer:
        """As the kubelet does: ask, wait for a change, ask again."""
        async with asyncio.timeout(180):
            while not holds(answer := self.ask(image, pod)):
                await self.environments.changed()
            return answer

    async def status(self, holds: Callable[[Manifest], bool], name: str = "tiny") -> Manifest:
        async with asyncio.timeout(180):
            async for event in self.api.follow(ENVIRONMENTS):
                if event.object and event.object["metadata"]["name"] == name:
                    status: Manifest = event.object.get("status") or {}
                    if holds(status):
                        return status
        raise AssertionError


def is_a(kind: type) -> Callable[[Answer], bool]:
    return lambda answer: isinstance(answer, kind)


def in_phase(phase: str) -> Callable[[Manifest], bool]:
    return lambda status: bool(status.get("phase") == phase)


async def test_an_image_is_built_when_a_pod_asks_and_then_runs(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny", filler=400_000)
    await api.create(ENVIRONMENTS, environment(command=["python3", "train.py"], program="wide_and_deep"), strict=True)
    index.hold = True
    async with Library(api, tmp_path, index.url) as library:
        assert (await library.status(in_phase("Pending")))["message"] == "tiny 1.0 is built when a pod needs it"
        assert not index.stalled.is_set()
        waiting = await library.until(lambda answer: isinstance(answer, Preparing) and "tiny: " in answer.message)
        assert isinstance(waiting, Preparing)
        assert waiting.message.startswith("environment tiny: building (tiny 1.0")
        building = await library.status(in_phase("Building"))
        assert building["message"].startswith("building (tiny 1.0")
        await asyncio.wait_for(index.stalled.wait(), 60)
        index.hold = False
        answer = await library.until(is_a(Ready))
        assert isinstance(answer, Ready)
        directory = answer.environment["VIRTUAL_ENV"]
        assert answer.environment == {"PATH": f"{directory}/bin:/usr/bin", "VIRTUAL_ENV": directory, "FLAG": "1"}
        assert answer.command == ("python3", "train.py")
        assert answer.files == PROGRAMS / "wide_and_deep"
        ready = await library.status(in_phase("Ready"))
        assert ready["progress"] == 100
        assert ready["path"] == directory
        assert ready["key"] == Path(directory).name
        assert ready["sizeBytes"] > 400_000


@pytest.mark.slow
async def test_the_next_cluster_finds_what_the_last_one_built(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        first = await library.until(is_a(Ready))
    async with Library(api, tmp_path, "http://127.0.0.1:9/") as library:
        assert await library.until(is_a(Ready)) == first


def pod(uid: str) -> Manifest:
    return {"metadata": {"name": uid, "uid": uid}}


async def test_a_failure_says_why_and_is_not_tried_again(tmp_path: Path, api: LocalApi, index: Index) -> None:
    """The definition is at fault: however many pods ask, nothing has changed."""
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        answer = await library.until(is_a(Unavailable))
        assert isinstance(answer, Unavailable)
        assert answer.message.startswith("environment tiny: spec.requirements: no package index here has tiny")
        assert answer.reason == "EnvironmentFailed"
        failed = await library.status(in_phase("Failed"))
        assert f"environment tiny: {failed['message']}" == answer.message
        asked = index.asked
        assert library.ask(pod=pod("a")) == answer and library.ask(pod=pod("b")) == answer
        assert index.asked == asked


@pytest.mark.slow
async def test_a_failure_is_tried_again_when_settings_change(tmp_path: Path, api: LocalApi, index: Index) -> None:
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        await library.until(is_a(Unavailable))
        index.add("tiny")
        config = tmp_path / "home/.config/pip/pip.conf"
        config.parent.mkdir(parents=True)
        config.write_text("[global]\n")
        await library.until(is_a(Ready))


async def test_of_a_failed_network_a_new_pod_asks_anew_and_the_old_one_does_not(
    tmp_path: Path, api: LocalApi, index: Index
) -> None:
    """Nobody can see from here that an index answers again; who starts a job again may know."""
    index.add("tiny")
    index.failing = 99
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        failed = await library.until(is_a(Unavailable), pod=pod("first"))
        index.failing = 0
        assert library.ask(pod=pod("first")) == failed
        assert isinstance(library.ask(pod=pod("second")), Preparing)
        await library.until(is_a(Ready), pod=pod("first"))


async def test_a_changed_object_is_tried_at_once(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment(requirements=["tiny==9"]))
    async with Library(api, tmp_path, index.url) as library:
        await library.until(is_a(Unavailable))
        await api.patch(ENVIRONMENTS, "", "tiny", {"spec": {"requirements": ["tiny==1.0"]}})
        await library.until(is_a(Ready))
        status = await library.status(in_phase("Ready"))
        assert "Python" in status["message"]


@pytest.mark.slow
async def test_a_wish_builds_what_no_pod_has_asked_for(tmp_path: Path, api: LocalApi, index: Index) -> None:
    """And tries again at once what failed a moment ago; the answer is recorded with the wish that it answers."""

    async def wish(number: str) -> None:
        await api.patch(ENVIRONMENTS, "", "tiny", {"metadata": {"annotations": {BUILD_REQUESTED: number}}})

    def answers(number: str, phase: str) -> Callable[[Manifest], bool]:
        return lambda status: (status.get("requested"), status.get("phase")) == (number, phase)

    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        await wish("1")
        await library.status(answers("1", "Failed"))
        index.add("tiny")
        await wish("2")
        ready = await library.status(answers("2", "Ready"))
        assert ready["python"].startswith("3.")
        await wish("3")
        await library.status(answers("3", "Ready"))
    downloads = index.downloads
    async with Library(api, tmp_path, index.url) as library:
        assert isinstance(await library.until(is_a(Ready)), Ready)
        assert index.downloads == downloads, "a wish is heeded once"


@pytest.mark.slow
async def test_a_deleted_object_ends_its_build(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny", filler=400_000)
    index.hold = True
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        await library.until(lambda _: index.stalled.is_set())
        await api.delete(ENVIRONMENTS, "", "tiny")
        await library.until(is_a(Unavailable))
        async with asyncio.timeout(180):
            while list((tmp_path / "cache/environments").glob("*.building-*")):  # noqa: ASYNC110 - a file, no event
                await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_one_bad_environment_does_not_harm_another(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment())
    await api.create(ENVIRONMENTS, environment("bad", images=["bad"], requirements=["absent"]))
    await api.create(ENVIRONMENTS, environment("worse", images=["worse"], program="no_such"))
    async with Library(api, tmp_path, index.url) as library:
        await library.until(is_a(Unavailable), "bad")
        worse = await library.until(is_a(Unavailable), "worse")
        assert isinstance(worse, Unavailable)
        assert 'spec.program: found "no_such"' in worse.message
        assert "allowed: " in worse.message
        assert "wide_and_deep" in worse.message
        await library.until(is_a(Ready))


@pytest.mark.slow
async def test_an_emptied_cache_is_noticed(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        await library.until(is_a(Ready))
        shutil.rmtree(tmp_path / "cache")
        assert isinstance(library.ask(), Preparing)
        answer = await library.until(is_a(Ready))
        assert isinstance(answer, Ready) and wanted_note(Path(answer.environment["VIRTUAL_ENV"]), "tiny").exists()
        await library.status(in_phase("Ready"))
        shutil.rmtree(tmp_path / "cache")
        await library.status(in_phase("Pending"))  # no pod asks


async def test_an_annotation_names_the_environment(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment())
    async with Library(api, tmp_path, index.url) as library:
        await library.until(is_a(Ready), "nginx", {"metadata": {"annotations": {"paddock.dev/environment": "tiny"}}})
        wrong = library.ask("nginx", {"metadata": {"annotations": {"paddock.dev/environment": "tinny"}}})
        assert isinstance(wrong, Unavailable)
        assert "did you mean tiny?" in wrong.message
        unknown = library.ask("nginx")
        assert isinstance(unknown, Unavailable)
        assert unknown.message.startswith('image "nginx" stands for no environment on this machine')


async def test_the_defaults_are_seeded_and_host_images_need_no_build(tmp_path: Path, api: LocalApi) -> None:
    await seed(api)
    names = {each["metadata"]["name"] for each in (await api.list(ENVIRONMENTS)).items}
    assert names == {each["metadata"]["name"] for each in build_defaults()}
    async with Library(api, tmp_path, "http://127.0.0.1:9/") as library:
        assert await library.until(is_a(Ready), "busybox:1.36") == Ready({"PATH": "/usr/bin"})
        assert library.ask("") == Ready({"PATH": "/usr/bin"})
        typed = {"metadata": {"annotations": {"paddock.dev/path": "/venv/bin:/usr/bin"}}}
        assert library.ask("busybox:1.36", typed) == Ready({"PATH": "/venv/bin:/usr/bin"}), "of the shell that typed"
        status = await library.status(in_phase("Ready"), "host")
        assert status["message"] == "the programs of this machine; nothing to build"


async def test_seeding_again_updates_ours_and_leaves_the_users(api: LocalApi) -> None:
    await seed(api)
    await api.patch(ENVIRONMENTS, "", "paddle", {"spec": {"requirements": ["paddlepaddle==3.2.2"]}})
    before = {each["metadata"]["name"]: each for each in (await api.list(ENVIRONMENTS)).items}
    await seed(api)
    assert {each["metadata"]["name"]: each for each in (await api.list(ENVIRONMENTS)).items} == before
    assert before["paddle"]["metadata"]["annotations"][SEED]


async def test_the_kubelets_words_for_the_answers(tmp_path: Path, api: LocalApi, index: Index) -> None:
    index.add("tiny")
    await api.create(ENVIRONMENTS, environment(command=["python3"]))
    async with Library(api, tmp_path, index.url) as library:
        images: node.Images = EnvironmentImages(library.environments)
        assert isinstance(images.resolve({"image": IMAGE}, {}), node.Preparing)
        await library.until(is_a(Ready))
        image = images.resolve({"image": IMAGE}, {})
        assert isinstance(image, node.Image)
        assert (image.name, image.command, image.environment["FLAG"]) == (IMAGE, ("python3",), "1")
        assert isinstance(images.resolve({"image": "nginx"}, {}), node.Unavailable)
        await api.delete(ENVIRONMENTS, "", "tiny")
        async with asyncio.timeout(180):
            await images.changed()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"python": "about 3"}, "spec.python"),
        ({"images": "x"}, "spec.images"),
        ({"requirements": [""]}, "spec.requirements"),
        ({"env": [{"value": "x"}]}, "spec.env"),
        ({"indexURL": "ftp://x"}, "spec.indexURL"),
    ],
)
async def test_the_schema_refuses_what_cannot_be_meant(api: LocalApi, spec: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        await api.create(ENVIRONMENTS, environment(**spec))
    assert any(cause.field.startswith(path) for cause in refused.value.causes)
