"""The page of a job: the culprit first, ranks and durations that outlive their pods, and what may be done with it."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from console.test_pages import JOB, read_page, text_of
from paddock.console.addresses import read_whole
from paddock.console.backend import Backend, Identity
from paddock.console.feed import Cache
from paddock.console.heads import find_job, list_job_topics
from paddock.console.logs.errors import ErrorLine
from paddock.console.logs.lanes import Lane, Lanes
from paddock.console.page_context import PageContext
from paddock.console.rank_table import arrange_rows
from paddock.console.screens.job_rows import draw_bar, show_role
from paddock.history.records import Attempt, Cause
from paddock.kube.errors import Forbidden, NotFound
from paddock.kube.meta import Manifest, key_of
from paddock.kube.times import format_time
from paddock.views.ranks import RankRow, RoleRow
from paddock.views.timeline import AttemptRow
from support.consoles import PADDLE, Written, keep_log, keep_run, serve_console
from support.written import build_pod, build_written_job

FAILED: dict[str, Any] = {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 1}}
OWN = 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\nValueError: no <b>room</b>\n'
ECHO = "RuntimeError: Connection closed by peer [127.0.0.1]:2379\n"


def ranks_of(page: str) -> list[str]:
    """The ranks of its tables, in their order."""
    return re.findall(r'<tr id="rank-([^"]+)" data-row', page)


def build_gang(size: int, **status: Any) -> Manifest:
    job = build_written_job(**status)
    del job["spec"]["ps"]
    job["spec"]["worker"]["replicas"] = size
    return job


async def test_of_fifty_ranks_the_one_that_failed_first_is_the_first_row_and_its_echoes_are_folded(
    tmp_path: Path,
) -> None:
    for index in range(50):
        keep_log(tmp_path, f"worker-{index}", "step 1\n" + (OWN if index == 37 else ECHO))
    cause = {"reason": "RankFailed", "args": {"ranks": ["worker-37"], "code": 1, "error": "ValueError: no room"}}
    pods = [build_pod("worker", index, "Failed", attempt=0, message="Boom") for index in range(50)]
    page = await read_page(tmp_path, JOB, [build_gang(50, phase="Failed", cause=cause), *pods])
    ranks = ranks_of(page)
    assert ranks[0] == "worker-37" and len(ranks) == 50
    assert page.index('id="rank-worker-37"') < page.index('<details id="echoes">') < page.index('id="rank-worker-0"')
    assert "49 ranks only lost a peer" in page and "failed first" in page
    title = "Open the log of worker-37 at line 4"
    assert f'href="{JOB}/logs?rank=worker-37&amp;at=0&amp;line=4">{title}</a>' in page


async def test_the_ranks_of_a_job_that_has_ended_stay_when_their_pods_are_gone(tmp_path: Path) -> None:
    keep_run(tmp_path, attempts=(Attempt(0, 100.0, None, 103.0, 110.0),), finished=True, phase="Completed")
    for rank in ("ps-0", "worker-0", "worker-1"):
        keep_log(tmp_path, rank, "step 1\n", when=170.0)
    job = build_written_job(phase="Completed", cause={"reason": "Completed", "args": {"succeeded": 2}})
    job["status"]["completionTime"] = format_time(180.0)
    page = await read_page(tmp_path, JOB, [job])
    assert sorted(ranks_of(page)) == ["ps-0", "worker-0", "worker-1"]
    assert page.count('class="phase" data-phase="Completed"') == 4, "the job, and each rank"
    assert f'href="{JOB}/logs?rank=worker-1"' in page and f'href="{JOB}/logs/download?rank=worker-1"' in page
    assert "No pod is there now" not in page
    said = text_of(page)
    assert "worker-0 Completed 60s" in said, "since its programs ran, to its last line"
    assert "queued 3s" in said and "prepared 7s" in said, "durations are recorded"


async def test_the_ranks_of_an_earlier_attempt_are_shown_with_how_they_ended(tmp_path: Path) -> None:
    why = Cause("RankRestarted", {"ranks": ["worker-1"], "code": 3, "error": "ValueError: no room"})
    keep_run(tmp_path, attempts=(Attempt(0, 100.0, None, 101.0, 102.0), Attempt(1, 160.0, why)))
    for attempt in (0, 1):
        for rank in ("worker-0", "worker-1"):
            keep_log(tmp_path, rank, "step 1\n", attempt=attempt, when=150.0 + 50 * attempt)
    job = build_written_job(phase="Running", attempt=1, restarts=1)
    objects = [job, build_pod("worker", 0), build_pod("worker", 1), build_pod("ps", 0)]
    page = await read_page(tmp_path, JOB + "?at=0", objects)
    assert ranks_of(page) == ["worker-1", "worker-0"]
    said = text_of(page)
    assert "worker-1 failed first Error ValueError: no room (exit code 3)" in said
    assert "worker-0 Ended" in said
    assert f'href="{JOB}/logs?rank=worker-1&amp;at=0"' in page
    newest = await read_page(tmp_path, JOB, objects)
    assert 'href="?at=0#ranks">attempt 0</a>' in newest
    assert 'aria-current="true">attempt 1</a>' in newest
    assert sorted(ranks_of(newest)) == ["ps-0", "worker-0", "worker-1"]


async def test_until_the_next_attempt_has_pods_the_ranks_are_those_that_the_cause_speaks_of(tmp_path: Path) -> None:
    why = {"reason": "RankRestarted", "args": {"ranks": ["worker-1"], "code": 3, "error": "ValueError: no room"}}
    keep_run(tmp_path, attempts=(Attempt(0, 100.0, None, 101.0, 102.0),))
    for index in range(2):
        keep_log(tmp_path, f"worker-{index}", OWN if index == 1 else "step 1\n", when=150.0)
    job = build_gang(2, phase="Restarting", attempt=1, restarts=1, cause=why)
    said = text_of(await read_page(tmp_path, JOB, [job]))
    assert "attempt 0 attempt 1 Rank State" in said
    assert "worker-1 failed first Error ValueError: no room (exit code 3)" in said and "no pod" not in said
    pods = [build_pod("worker", index, "Pending") for index in range(2)]
    said = text_of(await read_page(tmp_path, JOB, [job, *pods]))
    assert "worker-0 Pending" in said and "failed first" not in said, "what it waits for now is what is looked for"


def lanes_of(first: str, echoes: tuple[str, ...], *others: str) -> Lanes:
    echo, own = ErrorLine(3, "RuntimeError: Connection closed by peer", True), ErrorLine(5, "ValueError: x", False)
    opened = (Lane(first, error=own, is_first=True), *map(Lane, others))
    return Lanes(opened, tuple(Lane(each, error=echo) for each in echoes))


@pytest.mark.parametrize(
    ("rows", "lanes", "shown", "folded"),
    [
        (["a-0", "a-1"], Lanes((Lane("a-1"), Lane("a-0"))), "a-0 a-1", ""),  # nobody failed: as they are
        (["a-0", "a-1", "a-2"], lanes_of("a-2", (), "a-1", "a-0"), "a-2 a-1 a-0", ""),
        (["a-0", "a-1", "a-2", "a-3"], lanes_of("a-3", ("a-0", "a-1"), "a-2"), "a-3 a-2", "a-0 a-1"),
        (["a-0", "b-7"], lanes_of("b-7", ()), "b-7 a-0", ""),  # a rank without a log
    ],
)
def test_rows_have_the_order_of_the_page_of_logs(rows: list[str], lanes: Lanes, shown: str, folded: str) -> None:
    found = arrange_rows([RankRow(each, None) for each in rows], lanes)
    assert " ".join(each.rank for each in found.rows) == shown
    assert " ".join(each.rank for each in found.echoes) == folded


def test_of_a_rank_that_failed_in_a_way_that_nobody_recorded_its_log_tells() -> None:
    rows = [RankRow("a-0", None, state="Ended"), RankRow("a-1", None, state="Ended")]
    first, other = arrange_rows(rows, lanes_of("a-1", ())).rows
    assert (first.rank, first.state, str(first.said)) == ("a-1", "Error", "ValueError: x")
    assert (other.state, other.said) == ("Ended", None)


def test_a_pod_of_an_earlier_attempt_stays_behind_and_is_not_folded() -> None:
    rows = [RankRow("a-0", None, old=True), RankRow("a-0", None), RankRow("a-1", None)]
    found = arrange_rows(rows, lanes_of("a-1", ("a-0",)))
    assert [(row.rank, row.old) for row in found.rows] == [("a-1", False), ("a-0", True)]
    assert [(row.rank, row.old) for row in found.echoes] == [("a-0", False)]


async def test_a_job_whose_script_was_not_there_is_run_again_in_a_directory(tmp_path: Path) -> None:
    last = "python: can't open file '/tmp/x/train.py': [Errno 2] No such file or directory"
    cause = {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 2, "last": last}}
    page = await read_page(tmp_path, JOB, [build_written_job(phase="Failed", cause=cause)])
    again = f"/new?from={JOB.removeprefix('/jobs/')}&amp;again=1#f:directory"
    buttons = page[page.index('<div class="cause"') : page.index('class="tab-row"')]
    assert re.findall(r'class="button" href="([^"]+)', buttons)[0] == again
    assert "Set the working directory and run again" in buttons


async def test_what_a_job_is_for_stands_under_its_name_as_text(tmp_path: Path) -> None:
    job = build_written_job(phase="Running")
    job["metadata"]["annotations"] = {"kubernetes.io/description": "First try <script>alert(1)</script> \u202eeno"}
    for part in ("", "/events", "/manifest"):
        page = await read_page(tmp_path, JOB + part, [job])
        assert "<script>alert" not in page and "\u202e" not in page
        assert '<p class="quiet description">First try &lt;script&gt;alert(1)&lt;/script&gt; ' in page


async def test_a_description_without_an_end_is_cut(tmp_path: Path) -> None:
    job = build_written_job(phase="Running")
    job["metadata"]["annotations"] = {"kubernetes.io/description": "x" * 200_000}
    assert len(await read_page(tmp_path, JOB, [job])) < 60_000


async def test_plan_and_pods_are_no_tabs_but_behind_more(tmp_path: Path) -> None:
    page = await read_page(tmp_path, JOB, [build_written_job(phase="Running")])
    tabs = page[page.index('<nav class="tabs"') : page.index('<details class="drop more"')]
    assert f'href="{JOB}/plan"' not in tabs and f'href="{JOB}/pods"' not in tabs
    assert f'href="{JOB}/plan" data-key="p"' in page and f'href="{JOB}/pods"' in page


async def test_what_the_operator_packs_for_itself_is_not_shown_in_the_manifest(tmp_path: Path) -> None:
    job = build_written_job(phase="Running", lastValidSpec="eNqrVkrL…")
    page = await read_page(tmp_path, f"{JOB}/manifest", [job])
    assert "lastValidSpec" not in page and "phase: Running" in page
    assert "lastValidSpec" in await read_page(tmp_path, f"{JOB}/manifest?managed=1", [job])


async def test_a_script_of_a_role_keeps_its_lines(tmp_path: Path) -> None:
    job = build_written_job(phase="Running")
    container = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    container |= {"command": ["python", "-c"], "args": ["import os\nprint('<b>')\n", "--lr", "0.1 0.2"]}
    page = await read_page(tmp_path, JOB, [job])
    assert "<code>python -c --lr &#39;0.1 0.2&#39;</code>" in page
    assert "a script of 2 lines</summary><pre>import os\nprint(&#39;&lt;b&gt;&#39;)\n</pre>" in page


@pytest.mark.parametrize(
    ("command", "typed", "lines"),
    [((), "", 0), (("python", "train.py"), "python train.py", 0), (("bash", "-c", "a\nb\n"), "bash -c", 2),
     (("echo", "\n"), "echo '\n'", 0)],
)  # fmt: skip
def test_a_command_is_one_line_and_its_scripts_are_apart(command: tuple[str, ...], typed: str, lines: int) -> None:
    shown = show_role(RoleRow("worker", 1, "1/1", (), "Never", "x", command, "", ""))
    assert (shown["typed"], shown["lines"]) == (typed, lines)


@pytest.mark.parametrize(
    ("text", "attempt"), [("2", 2), ("", None), ("-1", None), ("9" * 30, None), ("٣", None), ("<b>", None)]
)
def test_an_attempt_of_an_address_is_a_number_or_nothing(text: str, attempt: int | None) -> None:
    assert read_whole(text) == attempt


@pytest.mark.parametrize(
    ("parts", "longest", "bar"),
    [
        ((None, None, None), 100.0, []),
        ((10.0, 40.0, 50.0), 100.0, [("queued", 0.0, 10.0), ("prepared", 10.0, 40.0), ("ran", 50.0, 50.0)]),
        ((10.0, 40.0, 50.0), 200.0, [("queued", 0.0, 5.0), ("prepared", 5.0, 20.0), ("ran", 25.0, 25.0)]),
        ((0.0, 0.01, 99.99), 100.0, [("prepared", 0.0, 1.0), ("ran", 1.0, 99.0)]),  # what took any time is seen
        ((5.0, None, None), 0.0, []),
    ],
)
def test_an_attempt_is_drawn_in_parts_of_the_longest(parts: Any, longest: float, bar: Any) -> None:
    assert draw_bar(AttemptRow(0, 100.0, None, *parts, now="", cause=None), longest) == bar


async def test_a_job_that_is_deleted_while_it_is_looked_at_leads_to_its_logs(tmp_path: Path) -> None:
    keep_run(tmp_path, deleted=5.0)
    keep_log(tmp_path, "worker-0", "step 1\n")
    async with serve_console(tmp_path) as served, served.session.get(JOB + "?at=99&page=7") as answer:
        assert answer.status == 200
        said = html.unescape(await answer.text())
    assert "This job was deleted." in said and f'href="{JOB}/logs"' in said


async def test_the_ranks_of_a_job_that_was_deleted_stay_with_the_culprit_first(tmp_path: Path) -> None:
    why = Cause("RankRestarted", {"ranks": ["worker-1"], "code": 3, "error": "ValueError: <b>"})
    keep_run(
        tmp_path, attempts=(Attempt(0, 100.0, None, 101.0, 102.0), Attempt(1, 160.0, why, 161.0, 162.0)), deleted=300.0
    )
    for attempt in (0, 1):
        for rank in ("worker-0", "worker-1"):
            is_first = rank == "worker-1" and attempt == 0
            keep_log(tmp_path, rank, OWN if is_first else "step 1\n", attempt=attempt, when=150.0 + 50 * attempt)
    page = await read_page(tmp_path, JOB, [])
    assert ranks_of(page) == ["worker-0", "worker-1"] and "worker-0 Ended 38s" in text_of(page)
    assert f'href="{JOB}/logs?rank=worker-1"' in page
    assert f'href="{JOB}/charts"' in page and f'href="{JOB}/manifest"' not in page, "what is not there is no link"
    page = await read_page(tmp_path, JOB + "?at=0", [])
    assert ranks_of(page) == ["worker-1", "worker-0"]
    assert "worker-1 failed first Error ValueError: <b> (exit code 3) 48s" in text_of(page)
    assert f'href="{JOB}/logs?rank=worker-1&amp;at=0"' in page and "Run again" not in page


async def test_a_job_is_one_file_that_fetches_nothing_and_leads_nowhere(tmp_path: Path) -> None:
    keep_run(tmp_path, attempts=(Attempt(0, 100.0, None, 101.0, 102.0),))
    for index in range(3):
        keep_log(tmp_path, f"worker-{index}", "\x1b[31mstep 1\x1b[0m\n" + (OWN if index == 1 else ECHO), when=150.0)
    cause = {"reason": "RankFailed", "args": {"ranks": ["worker-1"], "code": 1, "error": "ValueError: no <b>room</b>"}}
    job = build_gang(3, phase="Failed", cause=cause)
    job["metadata"]["annotations"] = {"kubernetes.io/description": "<img src=x onerror=alert(1)> \u202eeno"}
    async with serve_console(tmp_path, [job]) as served, served.session.get(f"{JOB}/share") as answer:
        assert answer.headers["Content-Disposition"] == 'attachment; filename="demo.html"'
        page = await answer.text()
    assert page.startswith("<!doctype html>") and not re.search(r"<(?:script|link|img|a|form|iframe)\b", page)
    assert not re.search(r"(?:src|href|action)=|url\(|@import", page.replace("&lt;img src=x", ""))
    assert "/s/" not in page, "no place of a session"
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "&lt;img src=x onerror" in page and "\u202e" not in page and "\x1b" not in page
    said = re.sub(r"<[^>]+>", "", page[page.index("<main") :])
    assert "Log of worker-1, to its first error in line 4" in html.unescape(said)
    assert "<mark>ValueError: no &lt;b&gt;room&lt;/b&gt;</mark>" in page
    assert page.count('<span class="line">') == 4, "each line is one of its own"
    assert "2 ranks only lost a peer" in page and '<rect class="ran"' in page


async def test_a_long_log_is_cut_to_what_is_around_its_error(tmp_path: Path) -> None:
    keep_log(tmp_path, "worker-1", "step 1\n" * 5_000 + OWN + "x" * 9_000 + "\n" + "after\n" * 5_000)
    page = await read_page(tmp_path, f"{JOB}/share", [build_gang(2, phase="Failed", cause=FAILED)])
    assert page.count('class="line-number"') == 80
    assert "<mark>ValueError" in page and "x" * 501 not in page


async def test_a_job_that_is_gone_is_no_file(tmp_path: Path) -> None:
    keep_run(tmp_path, deleted=5.0)
    assert "there is no job demo in default" in await read_page(tmp_path, f"{JOB}/share", [], status=404)


def look_at(cache: Cache) -> PageContext:
    """A page of the job `demo`, of which this is known."""
    path = {"namespace": "default", "kind": PADDLE.qualified, "name": "demo"}
    backend = Backend("test", True, lambda _: Written({}))
    topic = list_job_topics(path, {})[0]
    return PageContext(backend, Identity(), Written({}), "en", path, {}, {topic: cache}, 200.0)


def test_a_reader_who_may_not_see_a_job_any_more_is_not_told_that_it_was_deleted() -> None:
    job = build_written_job(phase="Running")
    assert find_job(look_at(Cache({key_of(job): job}))) == (PADDLE, job)
    for objects in ({}, {key_of(job): job}):  # opened anew, and while it was looked at
        with pytest.raises(Forbidden):
            find_job(look_at(Cache(dict(objects), error=Forbidden("you may not"))))
    assert find_job(look_at(Cache(error=NotFound("not served")))) == (PADDLE, None)


async def test_of_many_services_the_first_ranks_are_named_and_the_others_counted(tmp_path: Path) -> None:
    page = text_of(await read_page(tmp_path, JOB, [build_written_job(), *map(build_service, range(12))]))
    assert "demo-worker-2:2379 demo-worker-3:2379" in page
    assert "demo-worker-7:2379 and 4 more" in page and "demo-worker-8:2379" not in page


def build_service(index: int) -> Manifest:
    """Of a worker of the job `demo`."""
    pod = build_pod("worker", index)
    return {"apiVersion": "v1", "kind": "Service", "metadata": pod["metadata"], "spec": {"ports": [{"port": 2379}]}}
