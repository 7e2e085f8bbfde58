"""The list, and the pages of one job: what they show of objects that somebody wrote down, over HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paddock.console.pages import speak
from paddock.console.screens.guide import STATES
from paddock.console.screens.job import tell_once
from paddock.console.screens.listed import link_to
from paddock.console.screens.manifest import hide_managed
from paddock.jobs.model import Phase
from paddock.kube.environments import DEFAULT_CONDITION
from paddock.kube.meta import Manifest
from paddock.views.phases import CANCELLED
from paddock.words.problems import Problem
from support.consoles import serve_console
from support.written import build_event, build_pod, build_written_job

JOB = "/jobs/default/paddlejobs.batch.paddlepaddle.org/demo"


async def read_page(directory: Path, address: str, objects: Sequence[Manifest], status: int = 200) -> str:
    async with serve_console(directory, objects) as served, served.session.get(address) as answer:
        assert answer.status == status, await answer.text()
        return await answer.text()


def text_of(page: str) -> str:
    """What a reader sees of <main>."""
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def jobs(*states: tuple[str, str], **metadata: Any) -> list[Manifest]:
    found = []
    for name, phase in states:
        job = build_written_job(name, phase=phase, mode="PS")
        job["metadata"].update(uid=f"u-{name}", **metadata)
        found.append(job)
    return found


async def test_an_address_takes_the_kind_as_people_write_it(tmp_path: Path) -> None:
    other, torch = ({**build_written_job(name), "apiVersion": "kubeflow.org/v1"} for name in ("mine", "yours"))
    torch |= {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": torch["spec"]["ps"]}}}
    async with serve_console(tmp_path, [build_written_job(), other, torch]) as served:
        for typed, kind in (
            ("PaddleJob/demo", "paddlejobs.batch.paddlepaddle.org/demo"),
            ("pdj/demo/plan?x=%2F", "paddlejobs.batch.paddlepaddle.org/demo/plan?x=/"),
            ("paddlejobs/mine", "paddlejobs.kubeflow.org/mine"),
            ("paddlejob.kubeflow.org/mine", "paddlejobs.kubeflow.org/mine"),
            ("ptj/yours", "pytorchjobs/yours"),
            ("PyTorchJobs/yours/events", "pytorchjobs/yours/events"),
            ("pytorchjob/gone", ""),
            ("Deployment/demo", ""),
        ):
            async with served.session.get(f"/jobs/default/{typed}") as answer:
                assert (answer.status, bool(answer.history)) == (200, True) if kind else answer.status == 404, typed
                assert not kind or str(answer.url).endswith(f"/jobs/default/{kind}"), answer.url


async def test_a_completed_job_whose_rank_failed_says_which_and_with_what_in_red(tmp_path: Path) -> None:
    args = {"succeeded": 1, "failed": ["worker-0"], "code": 1, "error": "ValueError: no room"}
    job = build_written_job(phase="Completed", cause={"reason": "Completed", "args": args})
    red = '<span class="bad">completed, but worker-0 failed: ValueError: no room (exit code 1)</span>'
    assert red in await read_page(tmp_path, "/", [job])
    page = await read_page(tmp_path, JOB, [job])
    assert red in page
    assert "paddock logs paddlejob/demo --role worker --rank 0" in text_of(page)


async def test_the_list_and_the_page_of_a_job_say_how_far_it_is(tmp_path: Path) -> None:
    job = build_written_job(phase="Running")
    job["status"]["progress"] = {"percent": 42, "remaining": 720, "metrics": {"loss": 0.52131, "<b>": 1}}
    assert "42 %, 12m left" in text_of(await read_page(tmp_path, "/", [job]))
    page = await read_page(tmp_path, JOB, [job])
    assert "Progress 42 %, 12m left loss 0.5213 <b> 1" in text_of(page)
    assert "<b> 1" not in page, "the name of a metric is text"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("phase=Failed", {"b"}),
        ("q=C", {"c"}),
        ("kind=PyTorchJob", set()),
        ("namespace=default", {"a", "b", "c"}),
        ("namespace=other", set()),
        ("page=99999999999999999999", {"a", "b", "c"}),
        ("phase=%3Cscript%3E", set()),
    ],
)
async def test_filters_are_in_the_address(tmp_path: Path, query: str, shown: set[str]) -> None:
    page = await read_page(tmp_path, f"/?{query}", jobs(("a", "Running"), ("b", "Failed"), ("c", "Running")))
    assert {name for name in "abc" if f"/{name}/logs" in page} == shown
    assert "<script>" not in page
    assert shown or "No job fits what was asked for." in page


async def test_heads_of_the_list_sort_it_by_links_that_say_in_which_order(tmp_path: Path) -> None:
    many = jobs(("b", "Running"), ("c", "Failed"), ("a", "Running"))
    page = await read_page(tmp_path, "/?sort=name&q=&phase=", many)
    assert re.findall(r'data-key="Enter">(\w)</a>', page) == ["a", "b", "c"]
    assert '<th scope="col" class="c-name" aria-sort="ascending"><a href="?sort=-name" data-here>Name</a></th>' in page
    assert page.count("aria-sort") == 1
    assert 'href="?sort=-created"' in page, "the first click on an age shows the newest"
    assert '<input type="hidden" name="sort" value="name">' in page, "the filter keeps the order"
    for nonsense in ("sort=%3Cscript%3E", "sort=--name", "sort=" + "x" * 2000, "columns=%3Cb%3E"):
        page = await read_page(tmp_path, f"/?{nonsense}", many)
        assert re.findall(r'data-key="Enter">(\w)</a>', page)[0] == "c" and "aria-sort" not in page


async def test_columns_of_the_list_are_in_the_address(tmp_path: Path) -> None:
    (job,) = jobs(("a", "Running"), annotations={"paddock.dev/owner": "Ann <b>"}, labels={"team": "ads"})
    page = await read_page(tmp_path, "/?columns=name,owner,resources,created", [job])
    assert '<td class="owner">Ann &lt;b&gt;</td>' in page
    assert '<td class="asked">3 CPUs, 6.0 GiB</td>' in page
    assert '<th scope="col" class="c-ready">' not in page and '<th scope="col" class="c-created">' in page
    page = await read_page(tmp_path, "/?columns=name", [job])
    assert "c-owner" not in page and "c-time" not in page, "none is a choice as well"
    assert 'value="age" checked' not in page and 'value="age" checked' in await read_page(tmp_path, "/", [job])


async def test_the_list_finds_jobs_by_description_label_and_owner(tmp_path: Path) -> None:
    many = jobs(("b", "Running"))
    many += jobs(
        ("a", "Running"), annotations={"kubernetes.io/description": 'The "nightly" run'}, labels={"team": "ads"}
    )
    for text in ("NIGHTLY", "team%3Dads"):
        page = await read_page(tmp_path, f"/?q={text}", many)
        assert "/a/logs" in page and "/b/logs" not in page
        assert 'title="The &#34;nightly&#34; run"' in page


async def test_a_filter_that_nothing_fits_can_be_cleared_at_once(tmp_path: Path) -> None:
    page = await read_page(tmp_path, "/?q=nothing&sort=name", jobs(("a", "Running")))
    assert "No job fits what was asked for." in page
    assert '<a class="button" href="?sort=name" data-here>Clear filter</a>' in page


async def test_the_list_says_for_the_tab_how_many_jobs_have_failed_and_run(tmp_path: Path) -> None:
    many = jobs(("a", "Running"), ("b", "Running"), ("c", "Failed"), ("d", "Completed"))
    assert '<span id="told" hidden data-mark="(1✕ 2▶)" data-icon="failed" data-lives' in await read_page(
        tmp_path, "/", many
    )
    assert 'data-mark="" data-icon="" data-refused' in await read_page(tmp_path, "/", many[3:])


async def test_each_row_can_be_chosen_by_its_uid_without_scripts(tmp_path: Path) -> None:
    page = await read_page(tmp_path, "/", jobs(("a", "Running")))
    assert 'form="chosen" name="job:default/paddlejobs.batch.paddlepaddle.org/a" value="u-a"' in page
    assert '<form id="chosen" method="post"' in page
    for verb in ("suspend", "resume", "cancel", "delete", "compare"):
        assert f'<button formaction="/chosen/{verb}">' in page


async def test_a_hundred_jobs_are_on_a_page(tmp_path: Path) -> None:
    many = jobs(*((f"j{number:03}", "Running") for number in range(250)))
    async with serve_console(tmp_path, many) as served:
        pages = []
        for number in (1, 2, 3):
            async with served.session.get(f"/?page={number}&phase=Running") as answer:
                pages.append(await answer.text())
    assert [page.count("<tr id=") for page in pages] == [100, 100, 50]
    assert "101 to 200 of 250" in pages[1]
    assert 'href="?phase=Running&amp;page=3"' in pages[1]


async def test_without_a_job_a_way_to_make_one_is_shown(tmp_path: Path) -> None:
    said = text_of(await read_page(tmp_path, "/", []))
    assert "There is no job yet." in said
    assert "paddock run -- python train.py" in said


async def test_names_and_messages_are_text(tmp_path: Path) -> None:
    job = build_written_job(
        phase="Failed", cause={"reason": "RankFailed", "args": {"ranks": ["<b>x</b>-0"], "code": 1}}
    )
    pods = [build_pod("worker", 0, "Failed", message="<script>alert(1)</script> \u202etxt.exe \x9b31m")]
    for page in ("", "/pods", "/events", "/manifest"):
        shown = await read_page(tmp_path, JOB + page, [job, *pods, build_event("<img>")])
        assert "<script>alert" not in shown and "<b>x" not in shown and "<img>" not in shown
        assert "\u202e" not in shown and "\x9b" not in shown, "no text turns a line round"


async def test_a_rank_without_a_pod_stands_beside_those_that_have_one(tmp_path: Path) -> None:
    pods = [build_pod("worker", 0), build_pod("worker", 1, "Failed", message="Boom")]
    page = await read_page(tmp_path, JOB, [build_written_job(phase="Running"), *pods])
    assert "Boom (exit code 1)" in text_of(page) and "ps-0 no pod" in text_of(page)
    assert f'<form method="post" action="{JOB}/suspend">' in page


async def test_a_job_shows_that_its_image_chose_no_environment(tmp_path: Path) -> None:
    pods = [build_pod("worker", 0), build_pod("worker", 1)]
    pods[1]["status"]["conditions"] = [{"type": DEFAULT_CONDITION, "status": "True", "message": "it runs in <paddle>"}]
    page = await read_page(tmp_path, JOB, [build_written_job(), *pods])
    assert "<dt>Environment</dt><dd>it runs in &lt;paddle&gt;</dd>" in page


async def test_events_are_of_the_job_and_its_pods(tmp_path: Path) -> None:
    events = [build_event("Mine"), build_event("OfPod", uid="p-worker-0"), build_event("Foreign", uid="x")]
    said = text_of(await read_page(tmp_path, f"{JOB}/events", [build_written_job(), build_pod("worker", 0), *events]))
    assert "Mine" in said and "OfPod" in said and "Foreign" not in said


async def test_a_thousand_events_are_counted_by_reason(tmp_path: Path) -> None:
    events = [build_event("BackOff", last=float(number)) for number in range(1, 1001)]
    page = await read_page(tmp_path, f"{JOB}/events", [build_written_job(), *events])
    assert page.count("<tr data-row>") == 1 and ">1000<" in page
    chosen = await read_page(tmp_path, f"{JOB}/events?reason=BackOff", [build_written_job(), *events])
    assert chosen.count("<tr data-row>") == 200 and "1 to 200 of 1000" in chosen


async def test_a_manifest_is_shown_and_downloaded_without_its_managers(tmp_path: Path) -> None:
    async with serve_console(tmp_path, [build_written_job()]) as served:
        async with served.session.get(f"{JOB}/manifest") as answer:
            page = await answer.text()
        async with served.session.get(f"{JOB}/manifest?managed=1") as answer:
            whole = await answer.text()
        async with served.session.get(f"{JOB}/manifest/file") as answer:
            assert 'filename="demo.yaml"' in answer.headers["Content-Disposition"]
            assert (await answer.text()).startswith("apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\n")
    assert "managedFields:" not in page and "managedFields:" in whole


def test_hiding_who_wrote_what_changes_nothing_else() -> None:
    job = build_written_job()
    assert "managedFields" not in hide_managed(job)["metadata"]
    assert "managedFields" in job["metadata"]


async def test_colours_are_chosen_without_scripts(tmp_path: Path) -> None:
    async with serve_console(tmp_path) as served:
        async with served.session.get("/?theme=dark") as answer:
            assert 'data-theme="dark"' in await answer.text()
        async with served.session.get("/") as answer:
            assert 'data-theme="dark"' in await answer.text()
        async with served.session.get("/?theme=%22%3E") as answer:
            assert 'data-theme="auto"' in await answer.text()


def test_a_link_keeps_the_filters_and_leaves_the_page_of_the_table() -> None:
    link = link_to({"q": "a b", "page": "3", "lang": "zh", "theme": "dark", "phase": ""})
    assert link(phase="Failed") == "?q=a+b&phase=Failed"
    assert link(page=2) == "?q=a+b&page=2"
    assert link(q="") == "?"


async def test_the_plan_of_a_new_job_is_what_the_operator_would_do(tmp_path: Path) -> None:
    said = text_of(await read_page(tmp_path, f"{JOB}/plan", [build_written_job()]))
    assert "State Pending" in said
    assert "demo-worker-1 create Pod" in said
    assert "computed here, by paddock" in said


async def test_no_plan_is_made_of_a_manifest_that_is_wrong(tmp_path: Path) -> None:
    job = build_written_job()
    job["spec"]["worker"]["replicas"] = -1
    said = text_of(await read_page(tmp_path, f"{JOB}/plan", [job]))
    assert "the manifest is wrong, so nothing is done with the job until it is edited" in said
    assert "spec.worker.replicas" in said


def test_what_is_put_into_a_text_of_a_page_is_escaped() -> None:
    say = speak("en")
    assert say("Logs of %(name)s", name="<b>") == "Logs of &lt;b&gt;"
    assert say("%(num)s%% of <b>", num=3) == "3% of <b>", "a text of ours stays as it is"


def test_the_help_explains_each_state_that_a_list_shows() -> None:
    assert {state for state, _ in STATES} == {*filter(None, map(str, Phase)), CANCELLED}


def test_a_warning_of_several_roles_stands_once_with_the_field_of_each() -> None:
    found = [Problem("spec.Master.args", "is Python"), Problem("", "old"), Problem("spec.Worker.args", "is Python")]
    assert tell_once(found, "en") == ["spec.Master.args and spec.Worker.args: is Python", "old"]
    assert tell_once(found, "zh") == ["spec.Master.args 和 spec.Worker.args: is Python", "old"]
    assert tell_once([], "en") == []
