"""Jobs side by side: the fields in which they differ, and the page on written logs."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.views import build_manifest
from history.test_logs import write_log
from paddock.app.home import Home
from paddock.console.addresses import name_kind
from paddock.console.screens.compared_runs import Wanted, name_jobs, read_wanted
from paddock.history.comparison import Difference, find_differences
from paddock.history.records import RunRecord, write_record
from paddock.kube.meta import Manifest
from support.consoles import PADDLE, serve_console

KIND = name_kind(PADDLE)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1}}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [Difference("a.b", ("1", "2"))]),
        ({"a": {"b": 1}, "c": 1}, {"c": 1}, [Difference("a.b", ("1", None))]),
        ({"metadata": {"name": "x", "labels": {"a": "1"}}}, {"metadata": {"name": "y", "labels": {"a": "1"}}}, []),
        ({"env": [{"name": "LR", "value": "1"}, {"name": "B", "value": "2"}]},
         {"env": [{"name": "B", "value": "2"}, {"name": "LR", "value": "3"}]},
         [Difference("env[LR].value", ("1", "3"))]),
        ({"args": ["--lr", "1"]}, {"args": ["--lr", 2]}, [Difference("args", ("--lr 1", "--lr 2"))]),
        ({"suspend": False}, {"suspend": True}, [Difference("suspend", ("false", "true"))]),
        ({"a": {}}, {"a": None}, [Difference("a", ("{}", "null"))]),
    ],
)  # fmt: skip
def test_only_what_differs_is_told_by_field(one: Any, other: Any, found: list[Difference]) -> None:
    assert find_differences([one, other]) == found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        (f"default/{KIND}/a,default/{KIND}/a,default/{KIND}/b", ["a", "b"]),
        (f"default/{KIND},default/nothing/b,/{KIND}/c,d", []),
        (",".join(f"default/{KIND}/job-{number}" for number in range(9)), [f"job-{number}" for number in range(9)]),
    ],
)
def test_the_address_names_each_job_once(text: str, names: list[str]) -> None:
    assert [each.name for each in read_wanted(text)] == names


def test_a_name_is_as_long_as_it_takes_to_tell_jobs_apart() -> None:
    one, other = Wanted(PADDLE, "a", "demo"), Wanted(PADDLE, "b", "demo")
    assert name_jobs([one, Wanted(PADDLE, "a", "mine")]) == ["demo", "mine"]
    assert name_jobs([one, other]) == ["a/demo", "b/demo"]


def keep_job(directory: Path, name: str, losses: list[float]) -> Manifest:
    """A job with the log of its rank 0."""
    home, job = Home(directory, directory), build_manifest()
    job["metadata"] |= {"name": name, "uid": name, "namespace": "default"}
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = [{"name": "LR", "value": name}]
    text = "".join(f"step {step} loss: {loss}\n" for step, loss in enumerate(losses))
    write_log(home.node, f"{name}-worker-0", f"{name}-pod", job=name, attempt=0, text=text, when=1000.0)
    write_record(home.history, RunRecord(PADDLE.api_version, "PaddleJob", "default", name, name, 1, 100.0))
    return job


async def test_curves_of_two_jobs_stand_in_one_chart_and_what_differs_below(tmp_path: Path) -> None:
    jobs = [keep_job(tmp_path, "high", [9.0, 8.0]), keep_job(tmp_path, "low", [3.0, 2.0, 1.0])]
    address = f"/compare?job=default/{KIND}/high&job=default/{KIND}/low"
    async with serve_console(tmp_path, jobs) as served, served.session.get(address) as answer:
        page = await answer.text()
    found = re.search(r'id="plot-loss"[^>]* data-chart="([^"]*)"', page)
    assert found is not None
    data = json.loads(html.unescape(found[1]))
    assert [(each["label"], each["lane"], each["y"]) for each in data["segments"]] == [
        ("high", 0, [9.0, 8.0]), ("low", 1, [3.0, 2.0, 1.0]),
    ]  # fmt: skip
    assert re.search(r'id="argument-1"><th[^>]*>env LR</th><td[^>]*>high</td><td[^>]*>low</td>', page)
    assert re.search(r"Lowest loss</th><td[^>]*>8</td><td[^>]*><strong>1\*</strong></td>", page)
    assert page.index("env LR") < page.index("Lowest loss") < page.index("Where the manifests differ")


async def test_one_job_alone_is_answered_with_what_to_do(tmp_path: Path) -> None:
    async with serve_console(tmp_path, []) as served:
        async with served.session.get(f"/compare?job=default/{KIND}/one") as answer:
            assert "choose 2 to 8 jobs" in await answer.text()
        async with served.session.get(f"/compare?job=default/{KIND}/one&job=default/{KIND}/two") as answer:
            assert answer.status == 404 and "there is no job one in default" in await answer.text()


async def test_a_deleted_job_is_compared_by_its_log(tmp_path: Path) -> None:
    jobs = [keep_job(tmp_path, "here", [2.0])]
    keep_job(tmp_path, "gone", [1.0])
    address = f"/compare?job=default/{KIND}/gone&job=default/{KIND}/here"
    async with serve_console(tmp_path, jobs) as served, served.session.get(address) as answer:
        page = await answer.text()
    assert "deleted, logs are kept" in page and 'data-chart="' in page
