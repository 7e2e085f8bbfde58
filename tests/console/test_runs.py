"""The pages of runs, the form of a note, and runs side by side, on written records."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli.views import build_manifest
from history.test_logs import write_log
from paddock.apiserver.objects.in_process import LocalApi
from paddock.app.home import Home
from paddock.app.kinds import apply_crds, build_crds
from paddock.console.addresses import address_of_job, name_kind
from paddock.console.backend import Backend
from paddock.console.screens.compared_runs import read_wanted
from paddock.console.screens.run_rows import may_print
from paddock.console.server import Console
from paddock.history.note_files import read_notes, write_note
from paddock.history.notes import Note
from paddock.history.package_sets import write_set
from paddock.history.records import Attempt, Cause, RunRecord, path_of, write_record
from paddock.history.surroundings import DatasetState, Surroundings
from paddock.kube.code_annotation import CODE_ANNOTATION, Code, write_code
from paddock.kube.described import NOTE_ANNOTATION, OWNER_ANNOTATION, TAGS_ANNOTATION
from paddock.kube.meta import Manifest
from paddock.views.runs import view_run
from support.consoles import PADDLE, Served, serve_console
from support.readers import reading

KIND = name_kind(PADDLE)
JOB = address_of_job(PADDLE, "default", "demo")
SAME = {"Sec-Fetch-Site": "same-origin"}
SCRIPT = "<script>alert(1)</script>"
FAILED = Cause("RankFailed", {"ranks": ["worker-0"], "code": 1, "error": f"ValueError: {SCRIPT}"}, 160.0)


def build_spec(*args: str, lr: str = "1") -> Mapping[str, Any]:
    spec = build_manifest()["spec"]
    container = spec["worker"]["template"]["spec"]["containers"][0]
    container |= {"command": ["python", "train.py"], "args": list(args), "env": [{"name": "LR", "value": lr}]}
    return spec


def keep_run(directory: Path, number: int, losses: list[float] | None = None, **known: Any) -> RunRecord:
    """Run `number` of `demo`, which has ended, with the log of its rank 0."""
    known = {"name": "demo", "spec": build_spec(f"--epochs={number}"), "phase": "Completed", "finished": True, **known}
    created = 100.0 * number
    known = {"ended": created + 42.0, "deleted": created + 50.0, "settled": True, **known}
    record = RunRecord(PADDLE.api_version, "PaddleJob", "default", known.pop("name"), f"uid-{number}", number, created,
                       **known)  # fmt: skip
    record = replace(record, uid=f"{record.name}-{number}")
    write_record(Home(directory, directory).history, record)
    if losses:
        text = "".join(f"step {step} loss: {loss}\n" for step, loss in enumerate(losses))
        write_log(Home(directory, directory).node, f"{record.name}-worker-0", record.uid, job=record.uid, attempt=0,
                  text=text, when=created)  # fmt: skip
    return record


async def read(served: Served, address: str, status: int = 200) -> str:
    async with served.session.get(address) as answer:
        assert answer.status == status, (address, answer.status, await answer.text())
        return await answer.text()


async def read_whole(served: Served, address: str) -> str:
    """As it is once all metrics were read from the logs."""
    while True:
        page = await read(served, address)
        if "being read" not in page:
            return page
        await asyncio.sleep(0)


def list_rows(page: str) -> list[str]:
    return re.findall(r'<tr id="run-([^"]+)"', page)


def find_row(page: str, uid: str) -> str:
    """The text of a row."""
    found = re.search(rf'<tr id="run-{uid}".*?</tr>', page, re.DOTALL)
    assert found is not None, uid
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


async def test_a_job_that_is_gone_has_all_its_runs_with_end_cause_metrics_code_and_what_changed(tmp_path: Path) -> None:
    code = [write_code(Code("3f2a1c90d7be")), write_code(Code("3f2a1c90d7be", {"train.py": "9ab23d"}))]
    keep_run(tmp_path, 1, [3.0, 1.0, 2.0], annotations={CODE_ANNOTATION: code[0]},
             metrics={"worker-0": {"step": 2, "loss": 2.0}})  # fmt: skip
    again = Attempt(1, 210.0, Cause("RankRestarted", {"ranks": ["worker-1"]}, 209.0))
    keep_run(tmp_path, 2, phase="Failed", cause=FAILED, restarts=1, annotations={CODE_ANNOTATION: code[1]},
             attempts=(Attempt(0, 200.0), again))  # fmt: skip
    async with serve_console(tmp_path) as served:
        page = await read_whole(served, f"{JOB}/runs")
    assert list_rows(page) == ["demo-2", "demo-1"]
    first, second = find_row(page, "demo-1"), find_row(page, "demo-2")
    assert "Completed" in first and "took 42s" in first and "loss 2 best 1" in first and "step 2" in first
    assert "3f2a1c9" in first and "changed file" not in first
    assert "Failed" in second and "worker-0" in second and SCRIPT in second and "1 restart" in second
    assert "3f2a1c9 and 1 changed file" in second and "epochs 1 → 2" in second
    assert "python train.py --epochs=2" in second
    assert SCRIPT not in page
    assert "job deleted" in second and "job deleted" not in first
    beside = f"/compare?run=default/{KIND}/demo/1&amp;run=default/{KIND}/demo/2"
    assert page.count("with run ") == 1 and beside in page


async def test_runs_of_all_jobs_are_filtered_by_name_tag_owner_and_end(tmp_path: Path) -> None:
    keep_run(tmp_path, 1, annotations={TAGS_ANNOTATION: "base, sweep", OWNER_ANNOTATION: "ada"})
    keep_run(tmp_path, 2, phase="Failed", cause=FAILED)
    keep_run(tmp_path, 1, name="other", annotations={TAGS_ANNOTATION: "sweep", NOTE_ANNOTATION: "odd one"})
    async with serve_console(tmp_path) as served:
        for query, rows in (
            ("", {"demo-1", "demo-2", "other-1"}),
            ("?q=OTH", {"other-1"}),
            ("?q=odd", {"other-1"}),
            ("?tag=sweep", {"demo-1", "other-1"}),
            ("?tag=swee", set()),
            ("?owner=ada", {"demo-1"}),
            ("?end=Failed", {"demo-2"}),
            ("?end=Failed&q=other", set()),
            ("?namespace=team", set()),
        ):
            page = await read(served, f"/runs{query}")
            assert set(list_rows(page)) == rows, query
            assert ("No run fits" in page) == (not rows)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", [3, 2, 1]),
        ("began", [1, 2, 3]),
        ("loss", [2, 1, 3]),
        ("-loss", [1, 2, 3]),
        ("took", [2, 1, 3]),
        ("-restarts", [1, 3, 2]),
        ("end", [3, 1, 2]),
        ("nonsense'\"<b>", [3, 2, 1]),
    ],
)
async def test_runs_are_sorted_by_each_column_and_what_is_unknown_is_last(
    tmp_path: Path, sort: str, order: list[int]
) -> None:
    keep_run(tmp_path, 1, metrics={"worker-0": {"loss": 5.0}}, restarts=2)
    keep_run(tmp_path, 2, metrics={"worker-0": {"loss": 0.5}}, ended=201.0, phase="Failed")
    keep_run(tmp_path, 3, metrics={"worker-0": {"loss": "nan"}}, ended=900.0)
    async with serve_console(tmp_path) as served, served.session.get(f"{JOB}/runs", params={"sort": sort}) as answer:
        page = await answer.text()
    assert list_rows(page) == [f"demo-{number}" for number in order]
    assert page.count("aria-sort=") == 1


@pytest.mark.parametrize(
    ("known", "changes"),
    [
        ({"finished": False, "deleted": None, "ended": None, "phase": "Running"}, True),
        ({"settled": False, "ended": 990.0}, True),
        ({"settled": False, "ended": 900.0}, False),
        ({"settled": True, "ended": 999.0}, False),
    ],
)
def test_a_page_looks_again_until_the_ranks_of_a_run_that_ended_are_silent(
    tmp_path: Path, known: Mapping[str, Any], changes: bool
) -> None:
    assert may_print(view_run(keep_run(tmp_path, 1, **known), Note()), 1000.0) is changes


async def test_of_a_thousand_runs_a_page_has_a_hundred(tmp_path: Path) -> None:
    for number in range(1, 1001):
        keep_run(tmp_path, number, spec={})
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{JOB}/runs?page=2")
        assert list_rows(page) == [f"demo-{number}" for number in range(900, 800, -1)]
        assert "101 to 200 of 1000" in page
        assert len(list_rows(await read(served, f"{JOB}/runs?page=11&sort=began"))) == 100


async def test_a_damaged_record_and_a_damaged_note_are_told_and_the_other_runs_are_there(tmp_path: Path) -> None:
    one, two = keep_run(tmp_path, 1), keep_run(tmp_path, 2)
    path_of(Home(tmp_path, tmp_path).history, one).write_text("{")
    path_of(Home(tmp_path, tmp_path).history, two).with_suffix(".note").write_text("[")
    async with serve_console(tmp_path) as served:
        page = await read(served, f"{JOB}/runs")
    assert list_rows(page) == ["demo-2"]
    assert page.count("cannot be read and is left out") == 2


async def test_a_name_that_never_ran_is_missing_and_a_kind_that_is_none_too(tmp_path: Path) -> None:
    keep_run(tmp_path, 1)
    async with serve_console(tmp_path) as served:
        none = JOB.replace("demo", "none")
        for address in (f"{none}/runs", f"{none}/note", "/jobs/default/nothing/demo/runs", f"{JOB}/note?run=7",
                        f"{JOB}/note?run=x", f"{JOB}/note?run=0"):  # fmt: skip
            await read(served, address, 404)


# Notes


def find_seen(page: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', page)
    assert found is not None
    return found[1]


async def send(served: Served, address: str, **posted: str) -> tuple[int, str]:
    async with served.session.post(address, data=posted, headers=SAME, allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def test_a_note_of_an_earlier_run_is_written_by_the_form_and_shown_as_text(tmp_path: Path) -> None:
    keep_run(tmp_path, 1)
    keep_run(tmp_path, 2)
    address = f"{JOB}/note?run=1"
    async with serve_console(tmp_path) as served:
        page = await read(served, address)
        assert "Note and tags of run 1" in page
        status, _ = await send(served, address, text=f" higher lr\r\n{SCRIPT} ", tags="a, <b>,a", seen=find_seen(page))
        assert status == 303
        page = await read(served, f"{JOB}/runs")
        assert f"higher lr {SCRIPT}" in find_row(page, "demo-1") and "<b>" in find_row(page, "demo-1")
        assert "Add a note" in find_row(page, "demo-2") and SCRIPT not in page
        assert set(list_rows(await read(served, "/runs?tag=%3Cb%3E"))) == {"demo-1"}
        again = await read(served, address)
        assert html.escape(SCRIPT) in again and SCRIPT not in again
    assert read_notes(Home(tmp_path, tmp_path).history) == {"demo-1": Note(f"higher lr\n{SCRIPT}", ("a", "<b>"))}


async def test_without_a_number_the_form_is_of_the_last_run(tmp_path: Path) -> None:
    keep_run(tmp_path, 1)
    keep_run(tmp_path, 2)
    async with serve_console(tmp_path) as served:
        assert "Note and tags of run 2" in await read(served, f"{JOB}/note")


@pytest.mark.parametrize(
    ("posted", "field", "said"),
    [
        ({"text": "字" * 4_001}, "text", "at most 4000 characters, this one has 4001"),
        ({"tags": "a" * 41}, "tags", "1 to 40 characters"),
        ({"tags": ",".join(f"t{number}" for number in range(17))}, "tags", "at most 16 tags, here are 17"),
    ],
)
async def test_a_note_beyond_the_bounds_is_refused_at_its_field_and_stays_typed(
    tmp_path: Path, posted: Mapping[str, str], field: str, said: str
) -> None:
    keep_run(tmp_path, 1)
    async with serve_console(tmp_path) as served:
        status, page = await send(served, f"{JOB}/note", **posted, seen=Note().digest)
    assert status == 200 and said in page and next(iter(posted.values())) in page
    assert re.search(rf'id="{field}"[^>]*aria-describedby="{field}-help {field}-wrong"[^>]*aria-invalid="true"', page)
    assert read_notes(Home(tmp_path, tmp_path).history) == {}


async def test_of_two_readers_who_write_a_note_at_once_the_second_sees_the_first_s_and_may_overwrite_it(
    tmp_path: Path,
) -> None:
    run, history = keep_run(tmp_path, 1), Home(tmp_path, tmp_path).history
    async with serve_console(tmp_path) as served:
        seen = find_seen(await read(served, f"{JOB}/note"))
        write_note(history, run, Note(f"theirs {SCRIPT}", ("x",)), seen)
        status, page = await send(served, f"{JOB}/note", text="mine", tags="", seen=seen)
        assert status == 200 and "somebody has written another note meanwhile" in page
        assert html.escape(f"theirs {SCRIPT}") in page and "\nmine</textarea>" in page and SCRIPT not in page
        assert read_notes(history)["demo-1"] == Note(f"theirs {SCRIPT}", ("x",))
        assert (await send(served, f"{JOB}/note", text="mine", tags="", seen=find_seen(page)))[0] == 303
    assert read_notes(history)["demo-1"] == Note("mine")


async def test_a_note_of_a_run_that_was_pruned_meanwhile_is_refused_and_stays_typed(tmp_path: Path) -> None:
    run, history = keep_run(tmp_path, 1), Home(tmp_path, tmp_path).history
    keep_run(tmp_path, 2)
    async with serve_console(tmp_path) as served:
        path_of(history, run).unlink()
        status, page = await send(served, f"{JOB}/note?run=1", text="mine", tags="", seen=Note().digest)
    assert status == 200 and "no run 1 of demo is kept" in page and "\nmine</textarea>" in page


# A cluster, of which no runs are kept


@dataclass(slots=True)
class Reader:
    """What one reader may not do."""

    denied: set[str] = field(default_factory=set)

    async def may(self, verb: str, *_: Any) -> bool:
        return verb not in self.denied


@asynccontextmanager
async def serve_cluster(directory: Path, reader: Reader | None = None) -> AsyncIterator[tuple[Served, LocalApi]]:
    api = await LocalApi.open(directory / "api")
    rights = reader or Reader()
    backend = Backend("prod", False, lambda _: api, rights=lambda _: rights)
    console = Console(backend, b"k" * 32)
    runner = web.AppRunner(console.application, access_log=None, shutdown_timeout=1.0)
    try:
        await apply_crds(api, build_crds())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with reading(url) as session:
            await session.enter(console.make_link(time.time()))
            yield Served(url, session, ""), api
    finally:
        await console.close()
        await runner.cleanup()
        await api.close()


def build_job(name: str, **annotations: str) -> Manifest:
    job = build_manifest()
    job["metadata"] = {"name": name, "namespace": "default", "annotations": annotations}
    return job


async def test_a_cluster_without_a_history_shows_the_jobs_that_are_there_and_says_so(tmp_path: Path) -> None:
    async with serve_cluster(tmp_path) as (served, api):
        await api.create(PADDLE, build_job("demo", **{TAGS_ANNOTATION: "base", OWNER_ANNOTATION: "ada"}))
        await api.create(PADDLE, build_job("other"))
        page = await read(served, "/runs")
        assert "No history is kept of this cluster" in page and len(list_rows(page)) == 2
        assert f'name="job" value="default/{KIND}/demo"' in page and "ada" in page
        assert len(list_rows(await read(served, "/runs?tag=base&owner=ada"))) == 1
        page = await read(served, f"{JOB}/runs")
        assert "No history is kept of this cluster" in page and len(list_rows(page)) == 1


async def test_on_a_cluster_a_note_is_annotations_of_the_job_and_only_the_first_of_two_writers_wins(
    tmp_path: Path,
) -> None:
    async with serve_cluster(tmp_path) as (served, api):
        await api.create(PADDLE, build_job("demo", kept="yes"))
        seen = find_seen(await read(served, f"{JOB}/note"))
        assert (await send(served, f"{JOB}/note", text="mine", tags="a,b", seen=seen))[0] == 303
        status, page = await send(served, f"{JOB}/note", text="other", tags="", seen=seen)
        assert status == 200 and "somebody has written another note meanwhile" in page
        found = (await api.get(PADDLE, "default", "demo"))["metadata"]["annotations"]
        assert found == {"kept": "yes", NOTE_ANNOTATION: "mine", TAGS_ANNOTATION: "a, b"}
        assert (await send(served, f"{JOB}/note", text="", tags="", seen=find_seen(page)))[0] == 303
        assert (await api.get(PADDLE, "default", "demo"))["metadata"]["annotations"] == {"kept": "yes"}


async def test_who_may_not_change_the_job_finds_the_button_grey_with_the_reason(tmp_path: Path) -> None:
    async with serve_cluster(tmp_path, Reader({"patch"})) as (served, api):
        await api.create(PADDLE, build_job("demo"))
        page = await read(served, f"{JOB}/note")
    assert re.search(r'<button class="main" disabled aria-describedby="may">', page)
    assert "You may look at this job and not change it" in page


# Side by side


async def test_runs_side_by_side_tell_exactly_what_differs(tmp_path: Path) -> None:
    history = Home(tmp_path, tmp_path).history
    files = [json.dumps({"requirements.txt": digest}) for digest in ("add48bb607b9c08f", "9ab23d")]
    sets = [
        write_set(history, {"torch": "2.5.0", "numpy": "2.1"}),
        write_set(history, {"torch": "2.6.0", "numpy": "2.1"}),
    ]
    for number, digest in enumerate(sets, 1):
        around = Surroundings({"worker": digest}, {"words": DatasetState(revision=f"r{number}")})
        code = write_code(Code("3f2a1c90d7be" if number == 1 else "9be0d1f44a10"))
        annotations = {CODE_ANNOTATION: code, "paddock.dev/requirements-digest": files[number - 1]}
        keep_run(tmp_path, number, [4.0, float(number)], surroundings=around, annotations=annotations,
                 spec=build_spec("--epochs=3", lr=str(number)), restarts=number)  # fmt: skip
    async with serve_console(tmp_path) as served:
        page = await read(served, f"/compare?run=default/{KIND}/demo/1&run=default/{KIND}/demo/2")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert re.findall(r'id="argument-\d+"><th[^>]*>([^<]+)', page) == ["env LR"] and 'id="field-' not in page
    assert re.search(r"epochs</th><td[^>]*>3</td><td[^>]*>3</td>", page.partition('id="alike"')[2])
    assert "torch 2.5.0 2.6.0" in text and "numpy" not in text
    assert "Dataset words r1 r2" in text and "Restarts 1 2" in text and "Duration 42s 42s" in text
    assert "Code 3f2a1c9 9be0d1f; differs: 3f2a1c9 → 9be0d1f" in text
    assert "Requirements requirements.txt requirements.txt; differs: requirements.txt" in text
    assert text.count("job deleted") == 2
    found = re.search(r'id="plot-loss"[^>]* data-chart="([^"]*)"', page)
    assert found is not None
    segments = json.loads(html.unescape(found[1]))["segments"]
    assert [(each["label"], each["lane"], each["y"]) for each in segments] == [
        ("demo:1", 0, [4, 1]),
        ("demo:2", 1, [4, 2]),
    ]


async def test_a_run_and_the_job_as_it_is_now_are_compared_by_what_is_recorded_of_both(tmp_path: Path) -> None:
    keep_run(tmp_path, 1, spec=build_spec("--epochs=3"))
    keep_run(tmp_path, 2, spec=build_spec("--epochs=5"), deleted=None)
    job = build_manifest()
    job["metadata"] |= {"name": "demo", "uid": "demo-2", "namespace": "default", "labels": {"team": "ads"}}
    job["spec"] = build_spec("--epochs=5")
    async with serve_console(tmp_path, [job]) as served:
        page = await read(served, f"/compare?job=default/{KIND}/demo&run=default/{KIND}/demo/1")
    assert re.search(r'id="argument-1"><th[^>]*>epochs</th><td[^>]*>5</td><td[^>]*>3</td>', page)
    assert "deleted" not in page, "the job exists, by another run"


async def test_one_run_or_nine_are_answered_with_what_to_do(tmp_path: Path) -> None:
    for number in range(1, 10):
        keep_run(tmp_path, number)
    runs = [f"run=default/{KIND}/demo/{number}" for number in range(1, 10)]
    async with serve_console(tmp_path) as served:
        page = await read(served, f"/compare?{runs[0]}")
        assert "choose 2 to 8 jobs in the list, or runs on the page of runs" in page and 'href="' in page
        assert "at most 8 stand side by side, here are 9" in await read(served, f"/compare?{'&'.join(runs)}")
        assert "choose 2 to 8" in await read(served, "/compare")
        await read(served, f"/compare?{'&'.join(runs[:8])}")
        page = await read(served, f"/compare?{runs[0]}&run=default/{KIND}/demo/77", 404)
        assert "no run 77 of demo is kept" in page


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a/b",
        f"default/{KIND}/a",
        f"default/{KIND}/a/x",
        f"default/{KIND}/a/-1",
        f"default/{KIND}/a/9999999999",
        f"default/{KIND}/a/1/2",
        "default/none/a/1",
    ],
)
def test_what_names_no_run_is_left_out(text: str) -> None:
    assert read_wanted("", text) == []


async def test_of_many_fields_that_differ_two_hundred_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    for number in (1, 2):
        spec = build_spec()
        container = spec["worker"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": f"V{each}", "value": f"{number}-{each}"} for each in range(230)]
        keep_run(tmp_path, number, spec=spec)
    async with serve_console(tmp_path) as served:
        page = await read(served, f"/compare?run=default/{KIND}/demo/1&run=default/{KIND}/demo/2")
    assert page.count('<tr id="argument-') == 200 and "and 30 more arguments" in page
