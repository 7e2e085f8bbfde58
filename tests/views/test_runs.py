"""Rows of runs: filters, orders, and what is read of any manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.views import build_manifest
from paddock.history.comparison import Difference
from paddock.history.notes import Note
from paddock.history.records import Cause, RunRecord
from paddock.jobs.apis.registry import KINDS
from paddock.kube.code_annotation import CODE_ANNOTATION, Code, write_code
from paddock.views.numbers import choose_best, compare_numbers, list_metrics
from paddock.views.run_orders import Order, find_order, list_orders
from paddock.views.runs import (
    SORTS,
    RunFilter,
    RunView,
    list_choices,
    list_commands,
    name_code,
    name_environment,
    read_sort,
    sort_runs,
    view_job,
    view_run,
)
from paddock.views.stored import read_stored

RUN = RunRecord("batch.paddlepaddle.org/v1", "PaddleJob", "default", "demo", "u", 1, 100.0)
PADDLE = next(each for each in KINDS if each.api_version == RUN.api_version)


def view(number: int, note: Note = Note(), **known: Any) -> RunView:  # noqa: B008  # frozen
    return view_run(replace(RUN, uid=f"u{number}", run=number, created=100.0 * number, **known), note)


@given(
    st.lists(st.builds(view, st.integers(1, 9), ended=st.none() | st.floats(0, 2000), restarts=st.integers(0, 3),
                       phase=st.sampled_from(["", "Failed", "Running"]),
                       metrics=st.sampled_from([{}, {"worker-0": {"loss": 1.0}}, {"worker-0": {"loss": "nan"}}]),
                       annotations=st.sampled_from([{}, {CODE_ANNOTATION: '{"commit": "a"}'}])), max_size=8),
    st.sampled_from([each for name in SORTS for each in (name, f"-{name}")]),
)  # fmt: skip
def test_each_order_has_every_run_once_and_unknown_values_last(runs: list[RunView], sort: str) -> None:
    found = sort_runs(runs, sort, 2000.0)
    assert sorted(map(id, found)) == sorted(map(id, runs))
    losses = [run.loss for run in sort_runs(runs, "-loss", 2000.0)]
    known = [each for each in losses if each is not None]
    assert losses[: len(known)] == sorted(known, reverse=True)


@pytest.mark.parametrize(
    ("text", "sort"),
    [("", ("began", True)), ("loss", ("loss", False)), ("-took", ("took", True)), ("--loss", ("began", True)),
     ("__class__", ("began", True))],
)  # fmt: skip
def test_an_order_that_nobody_knows_is_the_newest_first(text: str, sort: tuple[str, bool]) -> None:
    assert read_sort(text) == sort


def test_choices_are_the_values_that_there_are_and_no_more_than_a_page_takes() -> None:
    runs = [view(number, Note("", (f"t{number:03}",)), phase="Running") for number in range(1, 300)]
    assert list_choices(runs).ends == ["Running"] and len(list_choices(runs).tags) == 200
    assert RunFilter(tag="t250").matches(runs[249])


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, []),
        ({"worker": {"template": {"spec": {"containers": [{"command": ["python"], "args": ["a b", "--x"]}]}}}},
         ["python 'a b' --x"]),
        ({"a": {"containers": [{"args": ["1"]}]}, "b": {"containers": [{"args": ["1"]}, {}]}}, ["1"]),
        ({"containers": "text", "y": {"containers": [3, {"command": "ls"}, {"args": [1, None]}]}}, ["1 None"]),
    ],
)  # fmt: skip
def test_the_commands_of_any_manifest_are_listed_once(spec: Any, found: list[str]) -> None:
    assert list_commands(spec) == found


def test_a_manifest_that_never_ends_costs_no_more_than_its_first_levels() -> None:
    deep: dict[str, Any] = {"containers": [{"args": ["x"]}]}
    for _ in range(500):
        deep = {"a": deep}
    assert list_commands(deep) == [] and name_environment({}, deep) == ""


@pytest.mark.parametrize(
    ("annotations", "spec", "name"),
    [
        ({"paddock.dev/environment": "paddle-3"}, {"containers": [{"image": "python:3"}]}, "paddle-3"),
        ({"paddock.dev/requirements": "req.txt"}, {}, "req.txt"),
        ({}, {"w": {"metadata": {"annotations": {"paddock.dev/environment": "in-template"}}}}, "in-template"),
        ({}, {"w": {"containers": [{}, {"image": "python:3"}]}}, "python:3"),
        ({}, {}, ""),
    ],
)
def test_the_environment_is_what_the_job_names_else_its_image(annotations: Any, spec: Any, name: str) -> None:
    assert name_environment(annotations, spec) == name


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, None),
        (Code("3f2a1c90d7be"), "3f2a1c9"),
        (Code("3f2a1c90d7be", {"a.py": "1"}), "3f2a1c9 and 1 changed file"),
        (Code("3f2a1c90d7be", {"a.py": "1"}, more=2), "3f2a1c9 and 3 changed files"),
    ],
)
def test_code_is_its_commit_and_how_much_differs_from_it(code: Code | None, said: str | None) -> None:
    found = name_code(code)
    assert (None if found is None else str(found)) == said


def test_code_without_git_is_told_by_a_digest_of_its_files() -> None:
    one, other = name_code(Code(files={"a.py": "1"})), name_code(Code(files={"a.py": "2"}))
    assert str(one).endswith(" (1 file)") and str(one) != str(other)


@pytest.mark.parametrize(
    ("metrics", "found"),
    [
        ({}, []),
        ({"worker-0": {}}, []),
        ({"worker-10": {"loss": 9.0}, "worker-2": {"step": 3, "lr": 0.1, "accuracy": 0.5, "loss": 1.0}},
         [("loss", 1.0, ""), ("accuracy", 0.5, "")]),
        ({"worker-0": {"step": 3, "reward": 2.0, "mse": 1.0, "x": 3}}, [("reward", 2.0, ""), ("mse", 1.0, "")]),
        ({"worker-0": {"step": 3, "x": 2.0, "y": 1.0}}, [("x", 2.0, "")]),
        ({"worker-0": {"epoch": 3, "val_loss": 1.0, "val_loss@epoch": 2}}, [("val_loss", 1.0, "epoch 2")]),
    ],
)  # fmt: skip
def test_a_row_has_the_losses_and_accuracies_of_its_first_rank(metrics: Any, found: Any) -> None:
    assert list_metrics(metrics) == found


@pytest.mark.parametrize(
    ("name", "best"),
    [("loss", 1.0), ("val_loss", 1.0), ("accuracy", 2.0), ("val_accuracy", 2.0), ("ppl", 1.0), ("speed", None),
     ("lr", None), ("f1", 2.0), ("val_mIoU", 2.0), ("eval-rmse", 1.0), ("mAP@0.5", 2.0), ("box_loss", 1.0),
     ("top5", 2.0), ("word error rate", 1.0), ("loss_scale", None), ("accumulate", None), ("grad_norm", None),
     ("epoch", None), ("tokens", None)],
)  # fmt: skip
def test_the_best_of_a_metric_is_told_only_where_it_is_known_which_is_better(name: str, best: float | None) -> None:
    assert choose_best(name, 1.0, 2.0) == best


def test_the_best_of_several_runs_is_marked_where_they_differ() -> None:
    rows = compare_numbers([
        {"worker-0": {"step": 9, "loss": 1.0, "accuracy": 0.5, "speed": 3.0}}, {},
        {"worker-0": {"step": 9, "loss": 0.5, "accuracy": 0.5, "speed": 4.0, "val_loss": "nan", "val_loss@step": 4}},
    ])  # fmt: skip
    assert [(row.name, sorted(row.best)) for row in rows] == [
        ("step", []), ("loss", [2]), ("val_loss", []), ("accuracy", []), ("speed", []),
    ]  # fmt: skip
    assert rows[1].values == (1.0, None, 0.5) and rows[2].places == ("", "", "step 4")


MIXED = Order(("nan", 2, "text", None, 1.0, "-inf"), down=True)


@pytest.mark.parametrize(("turned", "found"), [(False, "becadf"), (True, "ebcadf")])
def test_numbers_and_texts_are_sorted_apart_and_what_diverged_is_last(turned: bool, found: str) -> None:
    assert "".join(MIXED.sort("abcdef", turned=turned)) == found


NUMBERS = compare_numbers([{"r": {"loss": 2.0, "acc": 0.1, "lr": 0.1}}, {"r": {"loss": 1.0, "acc": 0.3}}, {"r": {}}])
ARGUMENTS = [Difference("lr", ("0.01", None, "3")), Difference("loss", ("ce", "mse", "ce")),
             Difference("opt", ("sgd", "adam", "sgd"))]  # fmt: skip


@pytest.mark.parametrize(
    ("sort", "found"),
    [("loss", "bac"), ("-loss", "abc"), ("acc", "bac"), ("lr", "acb"), ("-lr", "cab"), ("opt", "bac"), ("name", "abc"),
     ("-NAME", "cba")],
)  # fmt: skip
def test_runs_are_sorted_with_the_best_first_and_those_that_have_none_last(sort: str, found: str) -> None:
    orders = list_orders({"name": list("abc")}, ARGUMENTS, NUMBERS)
    order = find_order(orders, sort.removeprefix("-"))
    assert order is not None and "".join(order.sort("abc", turned=sort.startswith("-"))) == found
    assert find_order(orders, "nobody") is None


def test_a_run_is_over_where_nothing_more_happens_and_a_job_of_a_cluster_has_no_number() -> None:
    assert not view(1, phase="Running").is_over and view(1, phase="Suspended", given_up="timeout").is_over
    cancelled = view(1, phase="Failed", finished=True, cause=Cause("Cancelled", {"who": "ada"}))
    assert cancelled.end == "Cancelled" and cancelled.measure(500.0) == 400.0
    kept = Cause("CompletedServersKept", {"kept": ["ps-0"]})
    found_kept = [view(1, cause=kept, deleted=each).cause for each in (None, 200.0)]
    assert [each and dict(each.args) for each in found_kept] == [{"kept": ["ps-0"]}, {}]
    code = {CODE_ANNOTATION: write_code(Code("3f2a1c90d7be")), "paddock.dev/note": "hello"}
    job = build_manifest()
    job["metadata"] = {"name": "demo", "namespace": "default", "uid": "x", "annotations": code}
    found = view_job(read_stored(PADDLE, job))
    assert (found.number, found.note.text, found.record) == (0, "hello", None) and found.code is not None


def test_a_job_whose_manifest_is_no_job_is_a_row_too() -> None:
    job = {"apiVersion": PADDLE.api_version, "kind": "PaddleJob", "metadata": {"name": "x", "uid": "u"}, "spec": 3}
    assert view_job(read_stored(PADDLE, job)).end == "Invalid"
