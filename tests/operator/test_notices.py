"""A job that ends is told once to each route that takes it; whoever does not listen holds up nobody."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from client.tls_server import make_certificate
from paddock.app.notices import Poster, build_notices, read_file
from paddock.jobs import causes
from paddock.jobs.model import Phase, Status
from paddock.jobs.sentences.chat_bodies import LARGEST
from paddock.kube.meta import EVENTS
from paddock.operator.metrics import Measures, Noticed
from paddock.operator.notice_routes import Route, read_routes
from paddock.operator.notices import DELAYS, Answer, Notices, explain_answer, read_end
from paddock.operator.tally import Tally
from support.answers import serve_answers
from support.operator_seam import JOBS, build_job, have_pods, open_cluster, running, set_phase
from support.waiting import rest, until

JOB = {"metadata": {"name": "demo", "namespace": "team", "uid": "u", "labels": {"tier": "prod"},
                    "creationTimestamp": "2026-01-01T00:00:00Z"}}  # fmt: skip
CAUSE = causes.RankFailed(("worker-0",)).record(1_767_225_610.0)
FAILED = Status(Phase.FAILED, started=1_767_225_601.0, finished=1_767_225_610.0, cause=CAUSE)


class Counted(Measures):
    def __init__(self) -> None:
        self.results: Counter[str] = Counter()

    def noticed(self, result: Noticed) -> None:
        self.results[result] += 1


class Told:
    """Notices with these routes, and what becomes of them. `answers`: by the address, the last one for ever."""

    def __init__(self, routes: Any, answers: Mapping[str, list[Answer]] | None = None, most: int = 100) -> None:
        self.text: str | None = routes if isinstance(routes, str) or routes is None else json.dumps(routes)
        self.answers = {url: list(found) for url, found in (answers or {}).items()}
        self.sent: list[tuple[str, Any]] = []
        self.slept: list[float] = []
        self.events: list[tuple[str, str]] = []
        self.measures = Counted()
        self.notices = Notices(lambda: self.text, self.post, measures=self.measures, sleep=self.sleep, most=most)
        self.notices.publish = lambda _job, reason, said, _type: self.events.append((reason, said))

    async def post(self, url: str, body: bytes) -> Answer:
        self.sent.append((url, json.loads(body)))
        found = self.answers.get(url, [Answer(200)])
        return found.pop(0) if len(found) > 1 else found[0]

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def settle(self) -> None:
        running = asyncio.create_task(self.notices.run())
        await until_told(self.notices)
        await self.notices.end(running, 1.0)


async def until_told(notices: Notices) -> None:
    await notices._waiting.join()
    await until(lambda: not notices._lanes)


HOOK, OTHER = "https://hooks.slack.com/services/SECRET", "https://example.org/SECRET"


async def test_each_route_that_takes_the_job_is_told_in_its_own_form() -> None:
    told = Told([{"url": HOOK}, {"url": OTHER, "match": {"labels": {"tier": "prod"}}},
                 {"url": "https://no.example", "namespace": "another"}])  # fmt: skip
    told.notices.offer(JOB, FAILED)
    await told.settle()
    end = read_end(JOB, FAILED)
    assert (end.phase, end.seconds, end.cause != "") == ("Failed", 10.0, True)
    assert told.sent == [
        (HOOK, {"text": f"Paddock team/demo: Failed (10s): {end.cause}"}),
        (OTHER, {"job": "demo", "namespace": "team", "phase": "Failed", "cause": end.cause, "seconds": 10.0}),
    ]
    assert told.measures.results == {"sent": 2} and told.events == []


def test_who_cancelled_a_job_reads_cancelled_and_a_good_end_has_no_cause() -> None:
    cancelled = FAILED.with_(cause=causes.Cancelled().record(1.0))
    assert read_end(JOB, cancelled).phase == "Cancelled"
    assert read_end(JOB, Status(Phase.COMPLETED)).cause == ""


@pytest.mark.parametrize(
    ("answers", "attempts", "result"),
    [
        ([Answer(200)], 1, "sent"),
        ([Answer(503), Answer(problem="Connection refused"), Answer(204)], 3, "sent"),
        ([Answer(500)], 1 + len(DELAYS), "failed"),
        ([Answer(404)], 1, "failed"),
        ([Answer(302)], 1, "failed"),
        ([Answer(429), Answer(400)], 2, "failed"),
        ([Answer(200, b'{"code": 19024, "msg": "no https://hooks.slack.com/services/SECRET"}')], 1, "failed"),
    ],
)
async def test_attempts_are_few_and_only_where_another_may_help(
    answers: list[Answer], attempts: int, result: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told([{"name": "night shift", "url": HOOK}], {HOOK: answers})
    with caplog.at_level(logging.INFO):
        told.notices.offer(JOB, FAILED)
        await told.settle()
    assert (len(told.sent), told.measures.results) == (attempts, {result: 1})
    assert told.slept == list(DELAYS[: attempts - 1])
    assert [reason for reason, _ in told.events] == (["NoticeFailed"] if result == "failed" else [])
    assert all(said.startswith("night shift was not told that the job has ended: ") for _, said in told.events)
    assert "SECRET" not in caplog.text + str(told.events)


async def test_what_has_no_room_is_dropped_counted_and_told() -> None:
    told = Told([{"url": OTHER}], most=2)
    for _ in range(5):
        told.notices.offer(JOB, FAILED)
    assert told.measures.results == {"dropped": 3}
    assert [reason for reason, _ in told.events] == ["NoticeDropped"] * 3
    await told.settle()
    assert told.measures.results == {"dropped": 3, "sent": 2}


async def never(*_: Any) -> Any:
    await asyncio.Event().wait()


async def test_a_receiver_that_is_down_for_long_holds_up_no_other() -> None:
    told = Told([{"url": HOOK, "namespace": "team"}, {"url": OTHER}], {HOOK: [Answer(503)]})
    told.notices._sleep = never
    for _ in range(50):
        told.notices.offer(JOB, FAILED)
    running = asyncio.create_task(told.notices.run())
    await until(lambda: len(told.sent) == 100)
    await told.notices.end(running, 0.0)
    assert told.measures.results == {"sent": 50, "dropped": 50}  # the process ends


async def test_receivers_that_do_not_answer_hold_up_no_other_and_what_is_on_its_way_counts_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told([{"url": f"{HOOK}/{number}"} for number in range(20)] + [{"url": OTHER}])
    started: Counter[str] = Counter()

    async def post(url: str, body: bytes) -> Answer:
        started[url] += 1
        return await never() if url != OTHER else Answer(200)

    told.notices._post = post
    running = asyncio.create_task(told.notices.run())
    for _ in range(16):
        told.notices.offer(JOB, FAILED)
    await until(lambda: told.measures.results["sent"] == 16)
    assert all(started[f"{HOOK}/{number}"] == 1 for number in range(20))  # one at a time
    await told.notices.end(running, 0.0)
    assert told.measures.results == {"sent": 16, "dropped": 320}
    assert caplog.text.count("320 notices may not have been sent: this process ends: of team/demo") == 1
    assert "SECRET" not in caplog.text


async def test_a_job_whose_routes_are_being_read_at_the_end_is_counted() -> None:
    told, reading, go = Told([{"url": OTHER}]), threading.Event(), threading.Event()

    def read() -> str | None:
        reading.set()
        go.wait(60)
        return told.text

    told.notices._read = read
    running = asyncio.create_task(told.notices.run())
    told.notices.offer(JOB, FAILED)
    await until(reading.is_set)  # the event loop turns meanwhile
    await told.notices.end(running, 0.0)
    go.set()
    assert told.measures.results == {"dropped": 1}


async def test_an_attempt_without_an_answer_counts_for_all_that_wait_for_it() -> None:
    told, posted = Told([{"url": HOOK}]), list[int]()

    async def post(*_: Any) -> Answer:
        if not posted:
            await until(lambda: len(told.notices._lanes[HOOK].held) == 50)
        posted.append(len(told.notices._lanes[HOOK].held))
        return Answer(problem="no answer in 10 s")

    told.notices._post = post
    for _ in range(50):
        told.notices.offer(JOB, FAILED)
    await told.settle()
    assert posted == [50] * (1 + len(DELAYS)) and told.slept == list(DELAYS)
    assert told.measures.results == {"failed": 50} and len(told.events) == 50


async def test_a_message_that_alone_is_refused_for_now_takes_no_other_with_it() -> None:
    told = Told([{"url": OTHER}])

    async def post(_: str, body: bytes) -> Answer:
        await until(lambda: told.measures.results or len(told.notices._lanes[OTHER].held) == 3)
        return Answer(500 if json.loads(body)["job"] == "odd" else 200)

    told.notices._post = post
    told.notices.offer({"metadata": {**JOB["metadata"], "name": "odd"}}, FAILED)
    for _ in range(2):
        told.notices.offer(JOB, FAILED)
    await told.settle()
    assert told.measures.results == {"sent": 2, "failed": 1}


async def test_each_address_has_a_share_of_what_is_held_and_no_more() -> None:
    told = Told([{"name": "away", "url": HOOK}, {"url": OTHER}], {HOOK: [Answer(503)]}, most=3)
    told.notices._sleep = never
    running = asyncio.create_task(told.notices.run())
    for number in range(1, 6):
        told.notices.offer(JOB, FAILED)
        await until(lambda sent=number: told.measures.results["sent"] == sent)  # type: ignore[misc]
    assert told.events == [("NoticeDropped", "away was not told that the job has ended: too many notices waited to "
                            "be sent")] * 2  # fmt: skip
    await told.notices.end(running, 0.0)
    assert told.measures.results == {"sent": 5, "dropped": 5}


async def test_no_whole_manifest_waits_and_an_event_is_still_about_the_job() -> None:
    told, about = Told("- SECRET"), list[Mapping[str, Any]]()
    told.notices.publish = lambda job, *_: about.append(job)
    told.notices.offer({"apiVersion": "v1", "kind": "PaddleJob", "spec": {"large": 1}, **JOB}, FAILED)
    await told.settle()
    assert about == [{"apiVersion": "v1", "kind": "PaddleJob",
                      "metadata": {"name": "demo", "namespace": "team", "uid": "u"}}]  # fmt: skip


async def test_wrong_routes_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[tuple[str, bool]] = []

    def read(text: str) -> tuple[Route, ...]:
        parsed.append((text, threading.current_thread() is threading.main_thread()))
        return read_routes(text)

    monkeypatch.setattr("paddock.operator.notices.read_routes", read)
    told = Told("- SECRET")
    for text in ("- SECRET", f"- url: {OTHER}", "- SECRET"):
        told.text = text
        for _ in range(3):
            told.notices.offer(JOB, FAILED)
        await told.settle()
    assert parsed == [("- SECRET", False), (f"- url: {OTHER}", False), ("- SECRET", False)]
    assert told.measures.results == {"failed": 3, "sent": 6}


async def test_routes_are_read_again_and_wrong_ones_leave_the_last(caplog: pytest.LogCaptureFixture) -> None:
    told = Told(None)
    with caplog.at_level(logging.INFO):
        for text, sent in (
            (None, 0), (f"- url: {OTHER}", 1), ("- SECRET", 2), ("- SECRET", 3), ("[]", 3), (f"- url: {HOOK}", 4)
        ):  # fmt: skip
            told.text = text
            told.notices.offer(JOB, FAILED)
            await told.settle()
            assert len(told.sent) == sent, text
    assert caplog.text.count("the routes of notices cannot be used") == 1 and "SECRET" not in caplog.text


async def test_routes_that_were_never_right_are_told_on_the_job() -> None:
    told = Told("- SECRET")
    told.notices.offer(JOB, FAILED)
    await told.settle()
    assert told.measures.results == {"failed": 1}
    assert [reason for reason, _ in told.events] == ["NoticeFailed"] and "SECRET" not in str(told.events)


def test_an_answer_of_a_chat_program_that_took_it_is_well() -> None:
    assert explain_answer("open.feishu.cn", Answer(200, b'{"code": 0}')) == ("", False)


def test_a_job_is_offered_once_where_its_end_is_counted() -> None:
    from paddock.jobs.apis.registry import PADDLEPADDLE
    from paddock.kube.errors import Unavailable
    from paddock.kube.meta import Key

    ended: list[Status] = []
    tally = Tally(Measures(), lambda _: 1, lambda _, status: ended.append(status))
    ref, running = (PADDLEPADDLE.resource, Key("team", "demo")), Status(Phase.RUNNING, started=1.0)
    with tally.writing(ref, JOB, running, running.with_(restarts=1)):
        pass
    assert ended == []
    with pytest.raises(Unavailable), tally.writing(ref, JOB, running, FAILED):
        raise Unavailable("no answer")
    assert ended == []
    tally.settle(ref, JOB, FAILED)
    tally.settle(ref, JOB, FAILED)
    with tally.writing(ref, JOB, FAILED, FAILED):
        pass
    assert ended == [FAILED]


# With a real server, on this machine.


async def test_a_message_arrives_and_a_redirect_is_not_followed(tmp_path: Path) -> None:
    got: list[tuple[str, str, Any]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        got.append((request.method, request.path, await request.json()))
        if request.path == "/moved":
            raise web.HTTPTemporaryRedirect("/elsewhere")
        return web.Response(text="ok")

    poster, counted, file, events = Poster(), Counted(), tmp_path / "routes.yaml", list[str]()
    notices = build_notices(file, poster, counted)
    notices.publish = lambda _job, _reason, said, _type: events.append(said)
    running = asyncio.create_task(notices.run())
    async with serve_answers(answer) as url:
        assert read_file(file) is None
        notices.offer(JOB, FAILED)
        await until_told(notices)
        file.write_text(f"- url: {url}/hook\n- url: {url}/moved\n")
        notices.offer(JOB, FAILED)
        await until_told(notices)
        await notices.end(running, 1.0)
        await poster.close()
    assert {(method, path) for method, path, _ in got} == {("POST", "/hook"), ("POST", "/moved")} and len(got) == 2
    assert got[0][2]["job"] == "demo" and counted.results == {"sent": 1, "failed": 1}
    assert events == ["route 2 was not told that the job has ended: it answered 307"]


async def answer_well(_: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")


async def test_a_message_goes_by_the_proxy_of_the_environment_and_takes_no_password_of_netrc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login other password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    asked = list[tuple[str, str | None]]()

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append((request.host, request.headers.get("Authorization")))
        return web.Response(text="ok")

    poster = Poster()
    try:
        async with serve_answers(answer) as url:
            monkeypatch.setenv("http_proxy", url)
            assert await poster.post("http://chat.invalid/SECRET", b"{}") == Answer(200, b"ok")
        monkeypatch.setenv("http_proxy", "http://p:x")
        assert (await poster.post("http://chat.invalid/SECRET", b"{}")).problem == "InvalidURL"
    finally:
        await poster.close()
    assert asked == [("chat.invalid", None)]


async def test_a_certificate_counts(tmp_path: Path) -> None:
    path, _ = make_certificate(tmp_path)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(path)
    trusting, strange = Poster(lambda: ssl.create_default_context(cafile=str(path))), Poster()
    async with serve_answers(answer_well, tls=own) as url:
        try:
            assert await trusting.post(f"{url}/SECRET", b"{}") == Answer(200, b"ok")
            refused = await strange.post(f"{url}/SECRET", b"{}")
        finally:
            await trusting.close()
            await strange.close()
    assert refused.problem.startswith("its certificate is not trusted: ") and "SECRET" not in refused.problem


async def test_a_refusal_that_comes_in_parts_is_read_to_its_end() -> None:
    refusal = b'{"code": 19024, "msg": "no"}'
    first, asked = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(refusal[:5])
        first.set()
        await asked.wait()
        await response.write(refusal[5:])
        return response

    poster = Poster()
    try:
        async with serve_answers(answer) as url:
            posting = asyncio.create_task(poster.post(f"{url}/SECRET", b"{}"))
            await first.wait()
            await rest(posting.done, 0.1)
            asked.set()
            found = await posting
    finally:
        await poster.close()
    assert found == Answer(200, refusal) and explain_answer("open.feishu.cn", found)[0] == "19024: no"


async def test_an_answer_is_read_to_a_bound_and_one_that_breaks_off_has_its_code() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if request.path == "/broken":
            response.content_length = 10
        await response.prepare(request)
        await response.write(b"x" * (3 if request.path == "/broken" else 2 * LARGEST))
        if request.path == "/broken" and request.transport is not None:
            request.transport.close()
        return response

    poster = Poster()
    try:
        async with serve_answers(answer) as url:
            assert await poster.post(f"{url}/long", b"{}") == Answer(200, b"x" * LARGEST)
            assert await poster.post(f"{url}/broken", b"{}") == Answer(200, b"xxx")
    finally:
        await poster.close()


async def test_what_goes_wrong_on_the_way_has_no_address() -> None:
    poster = Poster()
    try:
        async with serve_answers(answer_well) as url:
            tls = await poster.post(f"{url.replace('http', 'https')}/SECRET", b"{}")  # it speaks no TLS
        refused = await poster.post(f"{url}/SECRET", b"{}")
        unknown = await poster.post("https://no.invalid/SECRET", b"{}")
    finally:
        await poster.close()
    assert refused == Answer(problem="Connection refused") and tls.problem.startswith("no TLS: ")
    for each in (tls, refused, unknown):
        assert not each.code and each.problem
        assert not any(word in each.problem for word in ("SECRET", "invalid", "127.0.0.1"))


async def test_the_operator_tells_of_a_job_that_ends_on_a_real_api_server(tmp_path: Path) -> None:
    got: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        got.append((request.path, await request.json()))
        return web.Response(status=404 if request.path == "/refused" else 200)

    file, poster, counted = tmp_path / "routes.yaml", Poster(), Counted()
    async with open_cluster(tmp_path / "api") as api, serve_answers(answer) as url:
        file.write_text(f"- url: {url}/hook\n- {{name: lost, url: '{url}/refused'}}\n")
        async with running(api, notices=build_notices(file, poster, counted)):
            await api.create(JOBS, build_job(ps=0, worker=1))
            await until(lambda: have_pods(api, 1))
            await set_phase(api, "demo-worker-0", "Running")
            await set_phase(api, "demo-worker-0", "Succeeded")

            async def find() -> list[str]:
                return [str(each["message"]) for each in (await api.list(EVENTS)).items
                        if each["reason"] == "NoticeFailed"]  # fmt: skip

            (said,) = await until(find)
        await poster.close()
    assert sorted(path for path, _ in got) == ["/hook", "/refused"]
    assert (got[0][1]["job"], got[0][1]["phase"], got[0][1]["cause"]) == ("demo", "Completed", "")
    assert said == "lost was not told that the job has ended: it answered 404"
    assert counted.results == {"sent": 1, "failed": 1}


async def test_wrong_routes_are_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    told = Told([{"url": HOOK, "match": {"phases": ["Cancelledd"]}}])
    running = asyncio.create_task(told.notices.run())
    await until(lambda: "the routes of notices cannot be used" in caplog.text)
    await told.notices.end(running, 1.0)
    assert "Cancelledd" in caplog.text and "SECRET" not in caplog.text
