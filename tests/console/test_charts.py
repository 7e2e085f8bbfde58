"""The page of charts over HTTP, on the logs that a node left."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from paddock.app.home import Home
from paddock.app.written_metrics import find_file
from paddock.console.addresses import address_of_job
from paddock.console.backend import Printing, Spark
from paddock.console.charts.curves import Chart, RankAttempt, Summary
from paddock.console.screens.charts import NEWEST, choose_ranks, share_restarts, sum_up, write_id
from paddock.console.screens.jobs import tell_far
from paddock.history.records import Attempt, Cause
from paddock.kube.log_marks import write_mark
from paddock.kube.meta import Manifest
from paddock.node.usage.records import UsageRecord, usage_file
from paddock.node.usage.samples import Sample
from paddock.views.numbers import format_number
from support.consoles import PADDLE, keep_log, keep_run, serve_console

CHARTS = address_of_job(PADDLE, "default", "demo") + "/charts"
FAILED = Cause("RankFailed", {"ranks": ["worker-1"], "code": 1})
RESTARTED = Cause("RankRestarted", {"ranks": ["worker-1"], "code": 1, "restart": 1, "limit": 2, "delay": 10})


async def read(directory: Path, query: str = "", objects: Sequence[Manifest] = ()) -> str:
    """The page, asked for again while it says that lines are left, as it asks for itself."""
    async with serve_console(directory, objects) as served:
        for _ in range(50):
            async with served.session.get(CHARTS + query) as answer:
                assert answer.status == 200
                page = await answer.text()
            if "lines are read so far" not in page:
                return page
    raise AssertionError("the page never says that all lines are read")


def build_job(resources: Mapping[str, Any]) -> Manifest:
    template = {"spec": {"containers": [{"name": "main", "image": "paddle", "resources": resources}]}}
    return {
        "apiVersion": PADDLE.api_version, "kind": PADDLE.kind,
        "metadata": {"name": "demo", "namespace": "default", "uid": "one"},
        "spec": {"worker": {"replicas": 2, "template": template}},
    }  # fmt: skip


def curves(page: str, metric: str) -> Any:
    found = re.search(rf'id="plot-{metric}"[^>]* data-chart="([^"]*)"', page)
    assert found
    return json.loads(html.unescape(found[1]))


def log(*steps: int) -> str:
    return "".join(f"step {step} loss 0.{step} accuracy 0.5\nother words\n" for step in steps)


async def test_each_rank_has_a_curve_and_a_row_which_names_its_line(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", log(1, 2, 3))
    keep_log(tmp_path, "worker-1", log(1, 2) + "step 3 loss 0.75")
    page = await read(tmp_path)
    loss = curves(page, "loss")
    assert [(each["label"], each["x"], each["y"]) for each in loss["segments"]] == [
        ("worker-0", [1, 2, 3], [0.1, 0.2, 0.3]),
        ("worker-1", [1, 2, 3], [0.1, 0.2, 0.75]),
    ]
    assert "<code>step 3 loss 0.75</code>" in page
    assert f"{CHARTS.removesuffix('charts')}logs?at=0#rank=worker-1&amp;line=5" in page
    assert 'id="chart-accuracy"' in page and 'id="chart-speed"' not in page


async def test_a_line_of_a_running_rank_that_has_not_ended_is_not_read(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "step 1 loss 0.5\nstep 2 loss 0.2")  # of 0.2514
    assert curves(await read(tmp_path), "loss")["segments"][0]["y"] == [0.5]


async def test_a_restart_is_marked_with_its_cause(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True, attempts=(Attempt(0, 100.0), Attempt(1, 200.0, RESTARTED)))
    keep_log(tmp_path, "worker-0", log(1, 2, 3))
    keep_log(tmp_path, "worker-0", log(2, 3, 4), attempt=1)
    page = await read(tmp_path)
    loss = curves(page, "loss")
    assert [(each["label"], each["repeated"], each["earlier"]) for each in loss["segments"]] == [
        ("worker-0, attempt 0", False, 1),
        ("worker-0, attempt 0, repeated", True, 1),
        ("worker-0, attempt 1", False, 0),
    ]
    assert [each["curve"] for each in loss["segments"]] == ["worker-0"] * 3, "a rank has one entry in the legend"
    assert "Pale: earlier attempts. Dashed: lost by a restart, and done again." in page
    why = "restart 1 of 2: worker-1 ended with exit code 1"
    assert loss["restarts"] == [[2, f"attempt 1: {why}", 1]], "the seconds that it waited are over"
    assert page.count(f"Attempt 1 began at step 2. {why}") == 1, "once for all charts"


async def test_without_numbers_the_nearest_line_is_shown_with_what_stood_in_the_way(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", "hello\nstep 3 loss: <unknown>\n")
    page = html.unescape(await read(tmp_path))
    assert "the nearest line: `step 3 loss: <unknown>`; no number stands after `loss`" in page


async def test_the_loss_of_evaluations_the_learning_rate_and_the_gradients_have_charts_of_their_own(
    tmp_path: Path,
) -> None:
    keep_run(tmp_path, finished=True)
    lines = "".join(f"step {step} loss 0.5 val_loss 0.{step} lr 0.1 grad_norm 2.5\n" for step in (1, 2))
    keep_log(tmp_path, "worker-0", lines)
    page = await read(tmp_path)
    assert [curves(page, name)["segments"][0]["y"] for name in ("loss", "val_loss", "lr", "grad_norm")] == [
        [0.5, 0.5], [0.1, 0.2], [0.1, 0.1], [2.5, 2.5],
    ]  # fmt: skip


async def test_what_is_written_to_the_file_of_metrics_is_drawn_and_a_line_that_is_not_read_is_told(
    tmp_path: Path,
) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", "step 1 loss 9.5 accuracy 0.5\n")
    path = find_file(Home(tmp_path, tmp_path), "default", "demo", "one", "worker-0", 0)
    path.parent.mkdir(parents=True)
    path.write_text('{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25, "<b> \\"x": 7}\n{"step": 3, "loss": true}\n')
    page = await read(tmp_path)
    assert [(each["x"], each["y"]) for each in curves(page, "loss")["segments"]] == [([1, 2], [0.5, 0.25])]
    assert "&lt;b&gt;" in page and "<b>" not in page
    own = curves(page, write_id('own:<b> "x'))
    assert (own["segments"][0]["x"], own["segments"][0]["y"]) == ([2], [7])
    assert curves(page, "accuracy")["segments"][0]["y"] == [0.5], "what is printed alone is drawn as well"
    assert (
        "not all of what worker-0 wrote to PADDOCK_METRICS was read: the value of `loss` is no finite number"
        in page.replace("&#96;", "`")
    )


async def test_any_number_is_chosen_by_the_address_which_keeps_what_else_was_chosen(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    for rank in ("worker-0", "worker-1"):
        keep_log(tmp_path, rank, "".join(f"step {step} loss 0.5 batch_size: 32 mem 9{step} MB\n" for step in (1, 2)))
    page = await read(tmp_path)
    assert "2 of 3" not in page and "1 of 3" in page and 'id="chart-loss"' in page
    memory = write_id("own:mem (MB)")
    assert f'name="metric" value="{memory}">' in page and 'name="metric" value="loss" checked>' in page
    page = await read(tmp_path, f"?metric=none&metric={memory}&rank=worker-1&by=time")
    assert curves(page, memory)["segments"][0]["y"] == [91, 92] and 'id="chart-loss"' not in page
    assert f'href="{CHARTS}?rank=worker-1&amp;metric=none%2C{memory}&amp;by=step"' in page
    assert f'href="{CHARTS}?rank=worker-1&amp;by=time"' in page, "back to the usual ones"
    assert "of evaluations" not in page
    page = await read(tmp_path, "?metric=nothing")
    assert 'id="chart-loss"' in page, "an address that names nothing is that of the usual ones"


async def test_an_epoch_is_a_whole_number(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True, attempts=(Attempt(0, 100.0), Attempt(1, 200.0, RESTARTED)))
    lines = [f"epoch {epoch} step {step} loss 0.5\n" for epoch in range(3) for step in range(100)]
    keep_log(tmp_path, "worker-0", "".join(lines[:250]))
    keep_log(tmp_path, "worker-0", "".join(lines[150:]), attempt=1)
    page = await read(tmp_path)
    assert curves(page, "loss")["kind"] == "epoch"
    assert "Attempt 1 began at epoch 1." in page
    assert (
        '<td class="number right">2</td>' in page and "2.99" not in page.split("data-chart")[-1].split("</div>", 1)[1]
    )


async def test_what_a_rank_asks_for_is_a_line_in_the_chart_of_what_it_uses(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    use(keep_log(tmp_path, "worker-0", "hello\n"), Sample(101.0, 0.5, 2.0**30), Sample(106.0, 1.5, 2.0**30))
    asked = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "8Gi"}}
    page = await read(tmp_path, objects=[build_job(asked)])
    assert curves(page, "cpu")["lines"] == [{"label": "request 0.5", "y": 0.5}, {"label": "limit 2", "y": 2}]
    assert curves(page, "memory")["lines"] == [
        {"label": "request 1 GiB", "y": 1},
        {"label": "limit 8 GiB", "y": 8},
    ]
    assert curves(await read(tmp_path), "cpu")["lines"] == [], "of a job that was deleted nobody knows it"


async def test_a_name_of_a_metric_that_is_markup_is_text_wherever_it_is(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    name = "<img src=x>\\"
    lines = [json.dumps({"step": step, "loss": 0.5, name: step}) for step in (1, 2)]
    keep_log(tmp_path, "worker-0", "\n".join([*lines, ""]))
    page = await read(tmp_path, f"?metric={write_id('own:' + name)}")
    assert "<img src=x" not in page and "&lt;img src=x&gt;" in page
    assert curves(page, write_id("own:" + name))["segments"][0]["y"] == [1, 2]


async def test_readings_that_are_no_numbers_are_gaps(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    values = ("nan", "inf", "-inf", "1e308", "-1e308", "0", "NaN")
    keep_log(tmp_path, "worker-0", "".join(f"step {step} loss {value}\n" for step, value in enumerate(values)))
    keep_log(tmp_path, "worker-1", "".join(f"step {step} loss nan\n" for step in range(3)))
    page = await read(tmp_path)
    segments = curves(page, "loss")["segments"]
    assert segments[0]["y"] == [None, None, None, 1e308, -1e308, 0, None]
    assert segments[1]["y"] == [None, None, None]
    assert "4 are no numbers" in page and "3 are no numbers" in page


async def test_fifty_restarts_are_one_list_that_is_folded(tmp_path: Path) -> None:
    attempts = tuple(Attempt(number, 100.0 * number, RESTARTED if number else None) for number in range(51))
    keep_run(tmp_path, finished=True, attempts=attempts)
    for number in range(51):
        keep_log(tmp_path, "worker-0", log(number + 1, number + 2, number + 3), attempt=number)
    page = await read(tmp_path)
    assert [each[2] for each in curves(page, "loss")["restarts"]] == list(range(1, 51))
    assert {each["curve"] for each in curves(page, "loss")["segments"]} == {"worker-0"}
    assert "50 restarts" in page and page.count("began at step") == NEWEST and f"{50 - NEWEST} earlier ones" in page
    assert f'id="loss-worker-0-{51 - NEWEST}"' in page and f'id="loss-worker-0-{50 - NEWEST}"' not in page


@pytest.mark.parametrize(
    ("newest", "said"),
    [
        ([], ""),
        ([("worker-0", 0, 0.25)], "worker-0 0.25"),
        ([("worker-0", 0, 0.25), ("worker-0", 1, 0.5), ("worker-1", 0, 3.0)], "worker-0 0.5 · worker-1 3"),
        ([(f"worker-{each}", 0, 1.0) for each in range(4)], "worker-0 1 · worker-1 1 · worker-2 1 · …"),
    ],
)
def test_the_last_numbers_stand_above_the_folded_table(newest: list[tuple[str, int, float]], said: str) -> None:
    rows = [Summary(RankAttempt(rank, attempt), 1, last, last, last, 1.0) for rank, attempt, last in newest]
    assert sum_up(rows) == said


async def test_what_a_program_prints_is_text(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    keep_log(tmp_path, "worker-0", '{"loss": 0.5, "x": "<script>alert(1)</script>"}\n')
    page = await read(tmp_path)
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


async def test_three_of_three_hundred_ranks_are_drawn_and_others_by_name(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    for index in range(12):
        keep_log(tmp_path, f"worker-{index}", log(1))
    assert [each["label"] for each in curves(await read(tmp_path), "loss")["segments"]] == [
        "worker-0", "worker-1", "worker-2",
    ]  # fmt: skip
    page = await read(tmp_path, "?rank=worker-11,worker-4")
    assert [each["label"] for each in curves(page, "loss")["segments"]] == ["worker-4", "worker-11"]
    assert 'data-hx-sse:connect="/live' + CHARTS + "?rank=worker-11,worker-4" in page


def test_an_attempt_began_at_its_first_number_of_any_name() -> None:
    loss, measured = Chart("loss", "step", [], [], {1: 251.0}), Chart("measured", "step", [], [], {1: 344.0})
    by_epoch = Chart("accuracy", "epoch", [], [], {1: 3.0})
    assert [dict(each.restarts) for each in share_restarts([loss, measured, by_epoch])] == [
        {1: 251.0}, {1: 251.0}, {1: 3.0},
    ]  # fmt: skip


def test_ranks_that_do_not_exist_are_not_chosen() -> None:
    assert choose_ranks(["worker-0", "worker-1"], "worker-7") == ["worker-0", "worker-1"]
    assert choose_ranks(["worker-0", "worker-1"], "worker-1") == ["worker-1"]


@pytest.mark.parametrize(
    ("value", "text"), [(300.0, "300"), (0.458712, "0.4587"), (1e-7, "1e-07"), (float("nan"), "nan"), (0.0, "0")]
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert format_number(value) == text


def use(log: Path, *samples: Sample) -> None:
    record = UsageRecord(usage_file(log))
    for sample in samples:
        record.add(sample)


async def test_what_a_rank_used_is_drawn_after_its_pod_is_gone(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True, attempts=(Attempt(0, 100.0), Attempt(1, 200.0, FAILED)))
    first = keep_log(tmp_path, "worker-0", "hello\n")
    second = keep_log(tmp_path, "worker-0", "hello\n", attempt=1)
    use(first, Sample(101.0, 0.5, 2.0**30, 80.0, 2.0**34), Sample(106.0, 1.5, 2.0**31, 100.0, 2.0**34))
    use(second, Sample(203.0, 1.0, 2.0**30))
    page = await read(tmp_path)
    memory = curves(page, "memory")
    assert [(each["label"], each["x"], each["y"]) for each in memory["segments"]] == [
        ("worker-0, attempt 0", [0, 5], [1, 2]),
        ("worker-0, attempt 1", [102], [1]),
    ]
    assert (
        memory["kind"] == "time"
        and memory["restarts"][0][0] == 102
        and memory["restarts"][0][1].startswith("attempt 1")
    )
    assert curves(page, "gpu")["segments"][0]["y"] == [80, 100]
    assert "Attempt 1 began 102s after the start." in page and "GiB" in page
    assert "No line with numbers of a training was found" in page
    assert "Read from line" not in page, "nothing of it was read from a line"


async def test_curves_are_drawn_by_the_times_that_the_node_noted(tmp_path: Path) -> None:
    keep_run(tmp_path, finished=True)
    path = keep_log(tmp_path, "worker-0", "step 1 loss 0.5\nstep 2 loss 0.4\n")
    keep_log(tmp_path, "worker-1", "step 1 loss 0.5\n")
    path.with_suffix(".times").write_bytes(write_mark(16, 1000.0) + write_mark(32, 1060.0))
    page = await read(tmp_path, "?by=time")
    loss = curves(page, "loss")
    assert [(each["label"], each["x"]) for each in loss["segments"]] == [("worker-0", [0, 60])]
    assert "When some of these lines were printed is not known" in page
    assert f'href="{CHARTS}?by=step"' in page
    assert "is not known" not in await read(tmp_path)


async def test_a_place_without_metrics_says_so(tmp_path: Path) -> None:
    keep_run(tmp_path)
    keep_log(tmp_path, "worker-0", log(1))
    assert "has not been measured yet" in await read(tmp_path)


async def test_the_list_shows_the_loss_of_a_job_where_it_is_known(tmp_path: Path) -> None:
    class Known:
        reading = False

        def look(self, jobs: Iterable[Printing]) -> Mapping[str, Spark]:
            assert [(each.name, each.over) for each in jobs] == [("demo", True)]
            return {"one": Spark((2.0, 1.0, 0.5), 0.5, None, 399, 400)}

    job = {"metadata": {"name": "demo", "namespace": "default", "uid": "one"}, "status": {"phase": "Completed"}}
    waiting = {"metadata": {"name": "later", "namespace": "default", "uid": "two"}, "status": {"phase": "Pending"}}
    async with serve_console(tmp_path, [job, waiting], sparks=Known()) as served, served.session.get("/") as answer:
        page = await answer.text()
    assert '<polyline points="0.0,1.0 32.0,10.3 64.0,15.0"/>' in page
    assert 'aria-label="from 2 to 0.5"' in page and "</svg> 0.5</div>" in page
    assert '<td class="number far"><div class="line">step 399/400</div>' in page
    assert page.count("<polyline") == 1


@pytest.mark.parametrize(
    ("epoch", "step", "steps", "said"),
    [
        (None, None, None, "None"),
        (3, None, None, "epoch 3"),
        (None, 895, None, "step 895"),
        (8, 895, None, "step 895"),
        (None, 399, 400, "step 399/400"),
        (8, 12, 400, "epoch 8, 12/400"),
        (0, 0, 400, "epoch 0, 0/400"),
    ],
)
def test_how_far_a_job_is_needs_the_epoch_where_steps_are_counted_anew(
    epoch: int | None, step: int | None, steps: int | None, said: str
) -> None:
    assert str(tell_far(Spark((2.0, 1.0), 1.0, epoch, step, steps))) == said


async def test_a_place_that_reads_no_losses_has_no_columns_for_them(tmp_path: Path) -> None:
    job = {"metadata": {"name": "demo", "namespace": "default", "uid": "one"}, "status": {"phase": "Completed"}}
    async with serve_console(tmp_path, [job]) as served, served.session.get("/") as answer:
        assert "Progress" not in await answer.text()
