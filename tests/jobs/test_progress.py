"""How far a training is: what successive readings of its lines come to, and what is kept of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.anything import merged
from jobs.gangs import NOW, build_job, build_pods, build_status, failed, observe, succeeded
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.model import JobProgress, Phase, RestartPolicy, Settings
from paddock.jobs.plan import plan
from paddock.jobs.progress import MOST_METRICS, Track, bound_metrics, end_progress, join_progress, with_totals
from paddock.logs.metric_lines import read_metric_line
from paddock.logs.printed_lines import LineReader
from paddock.logs.progress import MOST_OTHERS, Progress, merge
from paddock.operator.progress_record import can_wait

Told = tuple[int | None, int | None]
"""Percent and remaining."""


def read(*lines: str, every: float = 10.0) -> list[Told]:
    """What is told after each line; one comes every ten seconds."""
    reader, track, last, told = LineReader(), Track(), Progress(), list[Told]()
    for number, line in enumerate(lines):
        if (found := reader.read(line)) is not None:
            last = merge(last, found)
            track = track.read(last, number * every)
        progress = track.progress or JobProgress()
        told.append((progress.percent, progress.remaining))
    return told


def steps(first: int, last: int, by: int, form: str) -> list[str]:
    return [form.format(step) for step in range(first, last + 1, by)]


def test_steps_with_an_end_tell_the_part_and_the_time_that_is_left() -> None:
    assert read(*steps(0, 100, 25, "step {}/100 loss 0.5")) == [(0, None), (25, 30), (50, 20), (75, 10), (100, 0)]


def test_no_time_is_told_below_a_whole_percent() -> None:
    assert read(*steps(0, 20, 5, "step {}/1000 loss 0.5")) == [(0, None), (0, None), (1, 1980), (1, 1970), (2, 1960)]
    resumed = read(*steps(500, 515, 5, "step {}/1000 loss 0.5"))
    assert resumed == [(50, None), (50, None), (51, 980), (51, 970)], "the pace is that of this attempt"


def test_steps_of_an_epoch_are_told_as_soon_as_they_cannot_be_those_of_the_whole() -> None:
    told = read(*steps(10, 100, 10, "epoch 1/4 step {}/100 loss 0.5"), "epoch 2/4 step 10/100 loss 0.5")
    assert [percent for percent, _ in told] == [None, None, 7, 10, 12, 15, 17, 20, 22, 25, 27]
    assert told[-1] == (27, math.ceil(0.725 * 80 / 0.2))


def test_steps_of_the_whole_are_told_once_they_have_gone_on_into_another_epoch() -> None:
    told = read(*(f"epoch {1 + step // 101}/4 step {step}/400 loss 0.5" for step in range(50, 401, 50)))
    assert [percent for percent, _ in told] == [None, None, 37, 50, 62, 75, 87, 100]


@pytest.mark.parametrize(
    ("lines", "percents"),
    [
        (["Epoch [1/4], Loss: 0.5", "Epoch [2/4], Loss: 0.4", "Epoch [4/4], Loss: 0.3"], [25, 50, 100]),
        (["epoch 0/4 loss 0.5", "epoch 1/4 loss 0.4", "epoch 3/4 loss 0.3"], [25, 50, 100]),
        (["epoch 2/4 step 10 loss 0.5", "epoch 2/4 step 20 loss 0.4"], [25, 25]),
        (["epoch 2/4 loss 0.5", "epoch 2/4 loss 0.4", "epoch 3/4 loss 0.4"], [50, 25, 50]),
        (["epoch 1/1 step 10/100 loss 0.5"], [10]),
        (["step 29/100 loss 0.5"], [29]),
        (["epoch 5 loss 0.5", "step 10 loss 0.5", "nothing"], [None, None, None]),
        (["step 120/100 loss 0.5"], [None]),
        (["epoch 9/4 loss 0.5"], [None]),
        (["Epoch 0:  45%|████▌     | 45/100 [00:12<00:15, 3.6it/s, loss=0.12]"], [None]),
        # Another line sums each epoch up.
        ([f"{form} {epoch}/2" for epoch in (1, 2) for form in ("step 2/4 loss 0.5 epoch", "acc 0.5 epoch")],
         [None, 50, 75, 100]),
        (["2/4 [==>..] - loss: 0.5", "Epoch 1/2 loss 0.5", "1/4 [=>...] - loss: 0.5", "Epoch 2/2 loss 0.5"],
         [50, 50, 62, 100]),
        ([f"Epoch {epoch}/2 {name} 0.5" for epoch in (1, 2) for name in ("loss", "val_loss")], [50, 50, 100, 100]),
        (["Epoch 8/60 step 1/1 loss 0.5", "Epoch 9/60 step 1/1 loss 0.5"], [None, 15]),
        (["step 1/4 loss 0.5 acc 0.5", "val_loss 0.5", "step 4/4 loss 0.5"], [25, 25, 100]),
        (["step 2/4 {'loss': 1.5, 'epoch': 1.0}", "{'eval_loss': 0.5, 'epoch': 1.0}"], [None, None]),
        # Keras prints the epoch on a line of its own.
        (["Epoch 3/4", "50/100 [=====>....] - 1s 12ms/step - loss: 0.3"], [None, None]),
        (["Epoch 3/4", "20/100 [=====>....] - 1s 12ms/step - loss: 0.3"], [None, 55]),
    ],
)  # fmt: skip
def test_the_part_of_lines_of_other_forms(lines: list[str], percents: list[int | None]) -> None:
    assert [percent for percent, _ in read(*lines)] == percents


def test_steps_that_begin_anew_were_not_the_whole() -> None:
    told = read(*steps(50, 100, 50, "step {}/100 loss 0.5"), *steps(10, 100, 90, "step {}/100 loss 0.4"))
    assert [percent for percent, _ in told] == [50, 100, None, None]
    others = read("step 2/5 loss 0.5", "step 1/100 loss 0.5", "step 50/100 loss 0.4")
    assert [percent for percent, _ in others] == [40, 1, 50], "a bar of another length is another thing"


def test_the_same_reading_again_changes_nothing() -> None:
    track = Track().read(Progress(step=1, steps=10), 0.0).read(Progress(step=5, steps=10), 10.0)
    assert track.read(Progress(step=5, steps=10), 99.0) is track
    assert track.progress == JobProgress(50, 13)


def test_of_lines_that_were_found_together_the_last_begins_the_pace() -> None:
    track = Track()
    for at, step in ((5.0, 0), (5.0, 4), (5.0, 8), (10.0, 14), (10.0, 18)):
        track = track.read(Progress(step=step, steps=100), at)
    assert track.progress == JobProgress(18, 41)


def test_metrics_are_those_of_the_training_first_and_not_without_end() -> None:
    others = {f"name {number}": 1.0 for number in range(MOST_OTHERS)}
    found = Track().read(Progress(loss=0.5, lr=math.inf, accuracy=0.9, others=others), 0.0).progress
    assert found is not None
    assert list(found.metrics)[:3] == ["loss", "accuracy", "name 0"] and len(found.metrics) == MOST_METRICS
    assert found.percent is None
    assert bound_metrics({"": 1.0, "x" * 64: 1.0, "x" * 63: 1.0, "a\nb": 1.0, "nan": math.nan}) == {"x" * 63: 1.0}


FOUND = st.builds(
    Progress,
    epoch=st.none() | st.integers(0, 12),
    epochs=st.none() | st.integers(0, 10),
    step=st.none() | st.integers(0, 10**12),
    steps=st.none() | st.integers(0, 10**12) | st.integers(0, 20),
    loss=st.none() | st.floats(),
    others=st.dictionaries(st.text(max_size=70), st.floats(), max_size=20),
)
PROGRESSES = st.builds(
    JobProgress,
    percent=st.none() | st.integers(0, 100),
    remaining=st.none() | st.integers(0, 10**9),
    metrics=st.dictionaries(st.text(min_size=1, max_size=5), st.floats(allow_nan=False, allow_infinity=False)),
)


@given(st.lists(st.tuples(FOUND, st.floats(0, 1e6)), max_size=12))
def test_whatever_is_read_the_numbers_are_ones_that_can_be_stored(readings: list[tuple[Progress, float]]) -> None:
    """Also where a clock goes back."""
    track = Track()
    for found, at in readings:
        track = track.read(found, at)
        progress = track.progress or JobProgress()
        assert progress.percent is None or 0 <= progress.percent <= 100
        assert progress.remaining is None or ((progress.percent or 0) >= 1 and 0 <= progress.remaining < 2**31)
        assert len(progress.metrics) <= MOST_METRICS and all(map(math.isfinite, progress.metrics.values()))


@given(st.integers(1, 200), st.integers(1, 50), st.floats(0.01, 1000))
def test_at_an_even_pace_the_time_that_is_left_is_right(length: int, epochs: int, pace: float) -> None:
    track = Track()
    for number in range(length * epochs + 1):
        done, step = divmod(number, length)
        if done < epochs:
            found = Progress(epoch=done + 1, epochs=epochs, step=step, steps=length)
            track = track.read(found, number * pace)
            left = track.progress.remaining if track.progress else None
            assert left is None or math.isclose(left, (length * epochs - number) * pace, rel_tol=1e-6, abs_tol=1.01)


@pytest.mark.parametrize(
    ("line", "percent", "metrics"),
    [
        (b'{"step": 30, "steps": 100, "loss": 0.5}', 30, {"loss": 0.5}),
        (b'{"step": 30, "max_steps": 100, "tokens": 4}', 30, {"tokens": 4}),
        (b'{"step": 30, "total_steps": 100, "epoch": 1, "epochs": 1}', 30, {}),
        (b'{"epoch": 2, "epochs": 4}', 50, {}),
        (b'{"steps": 100}', None, {"steps": 100}),
        (b'{"step": 30, "steps": 0.5}', None, {"steps": 0.5}),
        (b'{"step": 30, "steps": -100}', None, {"steps": -100}),
    ],
)
def test_a_program_that_writes_its_metrics_may_write_the_length_of_its_training(
    line: bytes, percent: int | None, metrics: dict[str, float]
) -> None:
    found = read_metric_line(line)
    assert isinstance(found, Progress)
    track = Track().read(with_totals(found), 0.0)
    assert track.progress == (JobProgress(percent, None, metrics) if percent or metrics else None)


# What the program posts


@pytest.mark.parametrize(
    ("lines", "posted", "joined"),
    [
        (None, None, None),
        (JobProgress(10, 90), None, JobProgress(10, 90)),
        (None, JobProgress(45), JobProgress(45)),
        (JobProgress(10, 90), JobProgress(45, 30), JobProgress(45, 30)),
        (JobProgress(10, 90), JobProgress(45), JobProgress(45)),
        (JobProgress(10, 90), JobProgress(metrics={"a": 1.0}), JobProgress(10, 90, {"a": 1.0})),
        (JobProgress(10), JobProgress(remaining=30), JobProgress(10, 30)),
        (JobProgress(10, 90), JobProgress(remaining=30), JobProgress(10, 30)),
        (
            JobProgress(10, 90, {"a": 1.0, "b": 2.0}), JobProgress(5, metrics={"b": 3.0}),
            JobProgress(5, None, {"b": 3.0, "a": 1.0}),
        ),
    ],
)  # fmt: skip
def test_what_was_posted_wins_over_what_was_read(
    lines: JobProgress | None, posted: JobProgress | None, joined: JobProgress | None
) -> None:
    assert join_progress(lines, posted) == joined


# In the status


@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
@given(before=st.none() | PROGRESSES, after=st.none() | PROGRESSES)
def test_what_is_written_reads_back(api: JobApi, before: JobProgress | None, after: JobProgress | None) -> None:
    status = build_status(build_job())
    raw = merged({"of another version": 1}, api.write_status({}, status.with_(progress=before), NOW))
    raw.setdefault("progress", {})["of a later version"] = 1
    patch = api.write_status(raw, status.with_(progress=after), NOW)
    wanted = None if after == JobProgress() else after
    assert api.read_status({"status": merged(raw, patch), "spec": {}}).progress == wanted
    assert merged(raw, patch)["of another version"] == 1


@pytest.mark.parametrize(
    "written",
    [
        5, "x", [], None, {}, {"percent": -1}, {"percent": 101}, {"percent": True}, {"percent": "5"}, {"percent": 5.0},
        {"remaining": -1}, {"remaining": 10**30}, {"metrics": []}, {"metrics": {"a": "1"}}, {"metrics": {"a": True}},
        {"metrics": {"a": 10**400}}, {"metrics": {"a": math.inf}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("api", KINDS.values(), ids=lambda api: api.resource.qualified)
def test_what_cannot_be_a_progress_is_none(api: JobApi, written: object) -> None:
    raw = api.write_status({}, build_status(build_job()), NOW) | {"progress": written}
    assert api.read_status({"status": raw, "spec": {}}).progress is None


def test_it_is_recorded_as_it_is_seen_and_kept_where_nobody_sees_it() -> None:
    job, status, told = build_job(), build_status(build_job()), JobProgress(42, 60)
    seen = plan(job, status, observe(job, progress=told), NOW)
    assert (seen.status, seen.actions) == (status.with_(progress=told), ())
    assert plan(job, seen.status, observe(job), NOW).status.progress == told
    assert plan(job, seen.status, observe(job, progress=told), NOW).status == seen.status


def test_a_laptop_looks_again_in_a_while() -> None:
    job, laptop = build_job(), Settings(progress_wait=30.0)
    running = build_status(job)
    assert plan(job, running, observe(job), NOW).requeue_after is None
    assert plan(job, running, observe(job), NOW, laptop).requeue_after == 10.0
    assert plan(job, running, observe(job, progress=JobProgress(42)), NOW, laptop).requeue_after == 30.0


def test_it_decides_nothing_and_may_be_recorded_later() -> None:
    status = build_status(build_job())
    told = status.with_(progress=JobProgress(42, 60))
    assert told.decisive() == status.decisive()
    assert can_wait(status, told)


def test_a_job_that_ends_keeps_it_without_the_time_and_a_new_attempt_begins_without() -> None:
    job = build_job(restart=RestartPolicy.ON_FAILURE)
    status = build_status(job, progress=JobProgress(90, 60))
    last = JobProgress(97, 60, {"loss": 0.5})
    done = plan(job, status, observe(job, map(succeeded(600), build_pods(job)), progress=last), NOW).status
    assert (done.phase, done.progress) == (Phase.COMPLETED, JobProgress(100, None, {"loss": 0.5}))
    again = plan(job, status, observe(job, tuple(map(failed(1, ago=600), build_pods(job)))), NOW).status
    assert (again.phase, again.attempt, again.progress) == (Phase.RESTARTING, 1, None)
    assert end_progress(None, Phase.COMPLETED) is None
    assert end_progress(last, Phase.FAILED) == JobProgress(97, None, {"loss": 0.5})
    assert end_progress(JobProgress(metrics=last.metrics), Phase.COMPLETED) == JobProgress(metrics=last.metrics)
