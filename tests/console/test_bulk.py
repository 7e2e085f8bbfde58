"""Several jobs that a reader has ticked: what is done with each, and what is said of it."""

from __future__ import annotations

import html
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from console.test_pages import text_of
from paddock.console.actions.bulk import MOST, read_chosen
from paddock.console.backend import Backend
from paddock.console.server import Console
from paddock.jobs.labels import CANCEL_ANNOTATION
from paddock.kube.calls import Call, Delete, Get, Patch, T
from paddock.kube.errors import Conflict, Forbidden, NotFound
from paddock.kube.meta import Manifest, name_of, uid_of
from support.consoles import PADDLE, Written
from support.readers import Reader, reading
from support.written import build_written_job

KIND = "paddlejobs.batch.paddlepaddle.org"
HERE = {"Sec-Fetch-Site": "same-origin"}


class Jobs(Written):
    """Jobs by name; `forbidden` may not be changed."""

    def __init__(self, jobs: Sequence[Manifest], forbidden: Sequence[str] = ()) -> None:
        super().__init__({PADDLE: jobs})
        self.jobs = {name_of(job): job for job in jobs}
        self.forbidden = forbidden
        self.written: list[str] = []

    async def send(self, call: Call[T]) -> T:
        if not isinstance(call, Get | Patch | Delete):
            raise AssertionError(call)
        job = self.jobs.get(call.name)
        if job is None:
            raise NotFound("not found")
        if isinstance(call, Get):
            return job  # type: ignore[return-value]
        if call.name in self.forbidden:
            raise Forbidden(f"{call.name} <b>may</b> not be changed")
        return self._write(call, job)  # type: ignore[return-value]

    def _write(self, call: Patch | Delete, job: Manifest) -> Manifest:
        if isinstance(call, Delete):
            if call.uid != uid_of(job):
                raise Conflict("the UID differs")
            self.written.append(f"delete {call.name}")
            return self.jobs.pop(call.name)
        patch = call.patch
        assert isinstance(patch, Mapping) and patch["metadata"]["uid"] == uid_of(job)
        if "annotations" in patch["metadata"] and patch["metadata"]["annotations"].get(CANCEL_ANNOTATION):
            job["metadata"]["annotations"] = patch["metadata"]["annotations"]
            self.written.append(f"cancel {call.name}")
        else:
            job["spec"]["runPolicy"] = patch["spec"]["runPolicy"]
            self.written.append(f"suspend={patch['spec']['runPolicy']['suspend']} {call.name}")
        return job


def mark(name: str) -> str:
    """The beginning of the UID of the job of this name."""
    return f"{name:u<8}"


@dataclass(slots=True)
class Served:
    session: Reader
    api: Jobs

    async def post(self, verb: str, names: Sequence[str], **more: str) -> str:
        posted = {f"job:default/{KIND}/{name}": mark(name) for name in names} | more
        async with self.session.post(f"/chosen/{verb}", data=posted, headers=HERE) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.text()


@asynccontextmanager
async def serve(*names: str, ended: Sequence[str] = (), forbidden: Sequence[str] = ()) -> AsyncIterator[Served]:
    jobs = []
    for name in names:
        job = build_written_job(name, phase="Failed" if name in ended else "Running")
        job["metadata"]["uid"] = f"{mark(name)}-1"
        jobs.append(job)
    api = Jobs(jobs, forbidden)
    console = Console(Backend("test", True, lambda _: api), b"k" * 32)
    runner = web.AppRunner(console.application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with reading(url) as session:
            await session.enter(console.make_link(time.time()))
            yield Served(session, api)
    finally:
        await console.close()
        await runner.cleanup()


async def test_each_chosen_job_has_its_own_answer() -> None:
    async with serve("a", "b", "c", "d", ended=["b"], forbidden=["c"]) as served:
        said = text_of(await served.post("suspend", ["a", "b", "c", "gone"]))
        assert served.api.written == ["suspend=True a"]
    assert said.startswith("1 of 4 jobs suspended Not done")
    assert "b has ended" in said
    assert "your rights on the cluster do not allow this: c <b>may</b> not be changed" in said
    assert "gone PaddleJob it is not there any more" in said
    assert " d PaddleJob" not in said, "nobody has chosen it"


async def test_what_was_suspended_can_be_resumed_from_the_answer() -> None:
    async with serve("a", "b") as served:
        page = await served.post("suspend", ["a", "b"])
        again = re.search(r'<form method="post" action="[^"]*/chosen/resume">(.*?)</form>', page, re.DOTALL)
        assert again is not None
        fields = dict(re.findall(r'name="(job:[^"]*)" value="([^"]*)"', html.unescape(again[1])))
        assert fields == {f"job:default/{KIND}/{name}": mark(name) for name in "ab"}
        assert "2 jobs resumed" in await served.post("resume", ["a", "b"])
        assert served.api.written == ["suspend=True a", "suspend=True b", "suspend=False a", "suspend=False b"]


@pytest.mark.parametrize("verb", ["cancel", "delete"])
async def test_what_cannot_be_taken_back_is_asked_for_with_all_names_and_done_where_their_number_is_typed(
    verb: str,
) -> None:
    async with serve("a", "b", "c") as served:
        page = await served.post(verb, ["a", "b"])
        assert f'<form method="post" action="/chosen/{verb}"' in page
        assert all(f">{name}</a>" in page for name in "ab") and ">c</a>" not in page
        said = text_of(await served.post(verb, ["a", "b"], count="3"))
        assert "Nothing was done: 3 is not their number." in said
        assert served.api.written == []
        said = text_of(await served.post(verb, ["a", "b"], count=" 2 "))
        assert said.startswith(f"2 jobs {'cancelled' if verb == 'cancel' else 'deleted'}")
        assert served.api.written == [f"{verb} a", f"{verb} b"]


async def test_jobs_that_cannot_be_cancelled_are_left_out_with_the_reason_and_not_counted() -> None:
    async with serve("a", "b", "c", ended=["b"]) as served:
        page = await served.post("cancel", ["a", "b", "gone"])
        assert "b has ended" in text_of(page) and "it is not there any more" in text_of(page)
        assert re.findall(r'type="hidden" name="job:([^"]*)"', page) == [f"default/{KIND}/a"]
        assert "type the number of jobs: 1" in text_of(page)
        assert "There is nothing to do." in await served.post("cancel", ["b"])


async def test_a_new_job_of_the_name_is_not_deleted_for_the_old_one() -> None:
    async with serve("a", "b") as served:
        served.api.jobs["a"]["metadata"]["uid"] = "another-1"
        said = text_of(await served.post("delete", ["a", "b"], count="2"))
        assert served.api.written == ["delete b"]
        assert "1 of 2 jobs deleted" in said and "another job of the same name" in said
        said = text_of(await served.post("suspend", ["a"]))
        assert "another job of the same name" in said and served.api.written == ["delete b"]


async def test_more_than_a_hundred_jobs_are_refused_as_a_whole() -> None:
    async with serve("a") as served:
        said = text_of(await served.post("delete", [f"j{number}" for number in range(MOST + 1)], count=str(MOST + 1)))
        assert f"{MOST + 1} jobs are chosen, and at most {MOST} go at once: nothing was done" in said


async def test_no_job_an_unknown_verb_and_a_form_of_another_site_do_nothing() -> None:
    async with serve("a") as served:
        assert "no job is chosen" in await served.post("delete", [])
        async with served.session.get("/chosen/delete") as answer:
            assert "no job is chosen" in await answer.text()
        posted = {f"job:default/{KIND}/a": mark("a"), "count": "1"}
        async with served.session.post("/chosen/explode", data=posted, headers=HERE) as answer:
            assert answer.status == 404
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        async with served.session.post("/chosen/delete", data=posted, headers=elsewhere) as answer:
            assert answer.status == 403
        assert served.api.written == []


async def test_two_to_eight_chosen_jobs_are_compared() -> None:
    async with serve("a", "b") as served:
        posted = {f"job:default/{KIND}/{name}": mark(name) for name in "ab"}
        async with served.session.post("/chosen/compare", data=posted, headers=HERE, allow_redirects=False) as answer:
            assert answer.status == 303
            place = answer.headers["Location"]
        assert place.endswith(f"/compare?job=default%2F{KIND}%2Fa&job=default%2F{KIND}%2Fb")
        assert "choose 2 to 8 jobs" in await served.post("compare", ["a"])


@given(st.dictionaries(st.text(max_size=40) | st.text(max_size=30).map("job:".__add__), st.text(max_size=10)))
def test_fields_that_name_no_job_are_left_out(posted: dict[str, str]) -> None:
    for each in read_chosen(posted):
        assert posted[each.field] == each.mark != "" and each.name and each.namespace
