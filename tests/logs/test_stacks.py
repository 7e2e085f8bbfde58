"""Stacks: real dumps of py-spy and faulthandler are read alike, equal ones are folded, and each has its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.kube.pod_stacks import Frame, PodStacks, ProcessStacks, Thread, Trouble
from paddock.logs.stack_dumps import UnreadableDump, read_faulthandler, read_py_spy, read_refusal
from paddock.logs.stack_places import Place, Work, find_place, read_work, show_place
from paddock.logs.stack_sentences import tell_places, tell_waiting
from paddock.logs.stack_troubles import tell_no_python, tell_trouble
from paddock.logs.stacks import fold, main_frames

DUMPS = Path(__file__).with_name("stacks")
PLACES: dict[str, tuple[Work, str]] = {
    "torch_waits": (Work.TRAINS, "all_reduce, train.py:7"),
    "torch_away": (Work.TRAINS, "read_batch, train.py:5"),
    "torch_loading": (Work.TRAINS, "DataLoader, train.py:12"),
    "torch_loader": (Work.LOADS, "__getitem__, train.py:6"),
    "torchrun": (Work.LAUNCHES, "main, torchrun:12"),
    "paddle_waits": (Work.TRAINS, "all_reduce, train.py:7"),
    "paddle_away": (Work.TRAINS, "read_batch, train.py:5"),
    "paddle_launcher": (Work.LAUNCHES, "watch, pod.py:212"),
}


def dump(name: str, by: str) -> ProcessStacks:
    text = (DUMPS / f"{name}{'.json' if by == 'py-spy' else '.txt'}").read_text()
    threads = read_py_spy(text) if by == "py-spy" else read_faulthandler(text)
    return ProcessStacks(4711, "train", "python train.py", "", threads, by)


@pytest.mark.parametrize("by", ["py-spy", "faulthandler"])
@pytest.mark.parametrize("name", PLACES)
def test_the_place_of_a_real_stack(name: str, by: str) -> None:
    frames = main_frames(dump(name, by))
    assert (read_work(frames), show_place(find_place(frames))) == PLACES[name]


@pytest.mark.parametrize("name", PLACES)
def test_both_ways_tell_the_same_main_stack(name: str) -> None:
    assert main_frames(dump(name, "py-spy")) == main_frames(dump(name, "faulthandler"))


def test_the_most_recent_call_is_last_and_one_thread_is_the_main_one() -> None:
    for by in ("py-spy", "faulthandler"):
        threads = dump("torch_loading", by).threads
        (main,) = [each for each in threads if each.main]
        assert len(threads) > 1 and main.frames[0].function == "<module>"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "not json", "[" * 100_000], ids=["empty", "object", "number", "text", "deep"]
)
def test_a_text_of_another_form_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableDump):
        read_py_spy(text)
    with pytest.raises(UnreadableDump):
        read_faulthandler(text)


def test_names_of_threads_and_lines_of_c_of_python_3_14() -> None:
    text = """Thread 0x00007f9fde3d26c0 [helper] (most recent call first):
  File "a.py", line 10 in helper

Current thread 0x00007f9fdf217b80 [python3] (most recent call first):
  File "a.py", line ??? in step
  File "a.py", line 13 in <module>

Current thread's C stack trace (most recent call first):
  Binary file "/usr/bin/python3.14", at _Py_DumpStack+0x48 [0x5581]
"""
    helper, main = read_faulthandler(text)
    assert (helper.name, helper.main, main.main) == ("helper", False, True)
    assert main.frames == (Frame("<module>", "a.py", 13), Frame("step", "a.py", 0))


REFUSALS = {
    'Permission Denied: Try running again with elevated permissions by going \'sudo env "PATH=$PATH" !!\'':
        Trouble.NOT_ALLOWED,
    "Error: Operation not permitted (os error 1)": Trouble.NOT_ALLOWED,
    "Error: Failed to find python version from target process": Trouble.NO_PYTHON,
    "Error: Failed to get process executable name. Check that the process is running.": Trouble.ENDED,
    "Error: No such process (os error 3)": Trouble.ENDED,
    "Error: Failed to merge stacks": Trouble.FAILED,
    "": Trouble.FAILED,
}  # fmt: skip


@pytest.mark.parametrize("said", REFUSALS)
def test_what_py_spy_says(said: str) -> None:
    assert read_refusal(said) is REFUSALS[said]


def own(function: str, line: int, file: str = "/home/me/train.py") -> Frame:
    return Frame(function, file, line)


def lib(function: str, file: str) -> Frame:
    return Frame(function, f"/usr/lib/python3.11/site-packages/{file}", 1)


TOP = own("<module>", 9)
STACKS: dict[str, tuple[tuple[Frame, ...], Place]] = {
    "nothing": ((), Place("", "", 0)),
    "the top of a file": ((TOP,), Place("", "train.py", 9)),
    "a function of the user": ((TOP, own("step", 5)), Place("step", "train.py", 5)),
    "what the user calls of a package": (
        (TOP, lib("fetch", "requests/api.py"), lib("send", "urllib3/x.py")), Place("fetch", "train.py", 9),
    ),
    "a wrapper is passed over": ((TOP, lib("wrapper", "torch/x.py"), lib("item", "torch/y.py")),
                                 Place("item", "train.py", 9)),
    "the standard library": (
        (TOP, Frame("get", "/usr/lib/python3.11/queue.py", 180)), Place("get", "train.py", 9),
    ),
    "the user's reduce is no collective": ((TOP, own("reduce", 7)), Place("reduce", "train.py", 7)),
    "a collective behind a wrapper of a package": (
        (TOP, lib("step", "lightning/trainer.py"), lib("barrier", "torch/distributed/distributed_c10d.py")),
        Place("barrier", "train.py", 9, collective=True),
    ),
    "a callback of the user inside of a package": (
        (TOP, lib("fit", "lightning/trainer.py"), own("training_step", 30, "/home/me/model.py")),
        Place("training_step", "model.py", 30),
    ),
    "a program of a package": (
        (Frame("<module>", "/home/me/venv/bin/accelerate", 5), lib("launch", "accelerate/launch.py"),
         lib("wait", "torch/x.py")),
        Place("wait", "launch.py", 1),
    ),
    "python -c": ((Frame("<module>", "<string>", 1),), Place("", "<string>", 1)),
    "frozen modules are none of the user": (
        (Frame("_run_code", "<frozen runpy>", 88), own("<module>", 3)), Place("", "train.py", 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_the_place_of_a_stack(name: str) -> None:
    frames, place = STACKS[name]
    assert find_place(frames) == place


def process(*frames: Frame, pid: int = 1, rank: str = "", trouble: str = "") -> ProcessStacks:
    threads = () if trouble else (Thread("MainThread", True, frames),)
    return ProcessStacks(pid, "train", "python train.py", rank, threads, "" if trouble else "py-spy", trouble)


def pods(**ranks: ProcessStacks) -> dict[str, PodStacks]:
    named = {name.replace("_", "-"): each for name, each in ranks.items()}
    return {name: PodStacks(name, (each,)) for name, each in named.items()}


WAITS = (TOP, own("step", 88), lib("all_reduce", "torch/distributed/distributed_c10d.py"))
BARRIER = (TOP, own("save", 90), lib("barrier", "torch/distributed/distributed_c10d.py"))
READS = (TOP, Frame("read_batch", "/home/me/data.py", 41))
TOLD: dict[str, tuple[dict[str, PodStacks], str, str]] = {
    "one is away": (
        pods(worker_0=process(*WAITS), worker_1=process(*WAITS), worker_2=process(*READS), worker_10=process(*WAITS)),
        "3 ranks in all_reduce, train.py:88; worker-2 in read_batch, data.py:41",
        "the collective of 3 ranks lacks worker-2",
    ),
    "two are in another collective": (
        pods(worker_0=process(*WAITS), worker_1=process(*BARRIER)),
        "worker-0 in all_reduce, train.py:88; worker-1 in barrier, train.py:90",
        "the ranks are in different collectives, and wait for each other",
    ),
    "all are in one": (
        pods(worker_0=process(*WAITS), worker_1=process(*WAITS)),
        "worker-0 and worker-1 in all_reduce, train.py:88",
        "all are in the same collective: one that is not among them is missing, or the network between them is cut off",
    ),
    "no collective": (pods(worker_0=process(TOP)), "worker-0 at train.py:9", ""),
    "two processes of one pod": (
        {"worker-0": PodStacks("a", (process(*WAITS, pid=5, rank="0"), process(*READS, pid=6)))},
        "worker-0 pid 6 in read_batch, data.py:41; worker-0 rank 0 in all_reduce, train.py:88",
        "the collective of worker-0 rank 0 lacks worker-0 pid 6",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(name: str) -> None:
    found, places, waiting = TOLD[name]
    groups = fold(found).groups
    assert (str(tell_places(groups)), str(tell_waiting(groups) or "")) == (places, waiting)


@pytest.mark.parametrize("trouble", [*Trouble, "OfALaterVersion", ""])
def test_each_trouble_has_its_sentence(trouble: str) -> None:
    said = str(tell_trouble(replace(process(trouble="x", pid=4711), trouble=trouble, said="it failed")))
    assert "4711" in said and "{" not in said


def test_the_command_that_is_told_can_be_typed() -> None:
    refused = process(trouble="NotAllowed", pid=4711)
    assert "`sudo py-spy dump --pid 4711`" in str(tell_trouble(refused))
    pod = PodStacks("a", (refused,), tool="/home/me/my venv/bin/py-spy")
    ((_, said),) = fold({"worker-0": pod}).without
    assert "`sudo '/home/me/my venv/bin/py-spy' dump --pid 4711` shows it" in str(said)


def test_a_pod_without_python_is_told() -> None:
    assert str(tell_no_python(PodStacks("a", others=("bash", "sleep")))) == "it runs no Python, but bash and sleep"
    ((label, said),) = fold({"worker-0": PodStacks("a")}).without
    assert (label, str(said)) == ("worker-0", "it has no process that runs")


def test_processes_that_were_left_out_are_told() -> None:
    ((label, said),) = fold({"worker-0": PodStacks("a", (process(TOP),), left_out=2)}).without
    assert label == "worker-0" and str(said) == "2 more processes are not looked at: 1 at a time are"


def test_data_loaders_are_shown_where_a_rank_waits_for_one() -> None:
    loading, loader, waits = (dump(name, "py-spy") for name in ("torch_loading", "torch_loader", "torch_waits"))
    folded = fold({"worker-0": PodStacks("a", (loading, loader))})
    assert [each.labels for each in folded.groups] == [("worker-0",)]
    assert str(tell_places(folded.loaders)) == "worker-0 pid 4711 in __getitem__, train.py:6"
    assert fold({"worker-0": PodStacks("a", (waits, loader))}).loaders == ()


FRAMES = st.lists(st.sampled_from([*WAITS, *READS, lib("main", "torch/distributed/run.py")]), max_size=4).map(tuple)
PODS = st.dictionaries(
    st.integers(0, 12).map("worker-{}".format),
    st.lists(
        st.builds(lambda frames, pid, trouble: process(*frames, pid=pid, trouble=trouble),
                  FRAMES, st.integers(1, 99), st.sampled_from(["", "", "", *Trouble])),
        max_size=3,
    ).map(lambda found: PodStacks("pod", tuple(found))),
)  # fmt: skip


@given(PODS)
def test_each_process_is_in_one_group_or_is_told_as_without(found: dict[str, PodStacks]) -> None:
    folded = fold(found)
    groups = (*folded.groups, *folded.helpers)
    placed = sum(len(each.members) for each in groups)
    assert placed + len(folded.without) == sum(max(1, len(each.processes)) for each in found.values())
    assert all(member.frames == group.frames for group in groups for member in group.members)
    for part in (folded.groups, folded.helpers):
        assert len({each.frames for each in part}) == len(part)
        assert [len(each.members) for each in part] == sorted((len(each.members) for each in part), reverse=True)


@given(PODS)
def test_the_order_of_the_ranks_changes_nothing(found: dict[str, PodStacks]) -> None:
    turned = dict(reversed(list(found.items())))
    assert str(tell_places(fold(found).groups)) == str(tell_places(fold(turned).groups))
