"""A launcher's log is read whole, cut anywhere, with prefixes of several hosts, and with whatever else is in a file."""

from __future__ import annotations

import random
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.doctor.asked import Asked
from paddock.doctor.examine import examine, name_logs
from paddock.doctor.launch_block import OLD, PADDLE, TORCH, JobLine, LaunchLog, PodLine, read_launch_logs

LOGS = Path(__file__).parent / "logs"
TEXTS = {path.stem: path.read_text().splitlines() for path in sorted(LOGS.glob("*.log"))}
FAQ = """
LAUNCH INFO 2022-05-18 11:53:09,773 -----------  Configuration  ----------------------
LAUNCH INFO 2022-05-18 11:53:09,773 devices: 6,7
LAUNCH INFO 2022-05-18 11:53:09,773 elastic_level: -1
LAUNCH INFO 2022-05-18 11:53:09,773 host: None
LAUNCH INFO 2022-05-18 11:53:09,774 master: None
LAUNCH INFO 2022-05-18 11:53:09,774 nnodes: 1
LAUNCH INFO 2022-05-18 11:53:09,774 servers:
LAUNCH INFO 2022-05-18 11:53:09,774 training_script: demo.py
LAUNCH INFO 2022-05-18 11:53:09,774 --------------------------------------------------
LAUNCH INFO 2022-05-18 11:53:09,783 Job: default, mode collective, replicas 1[1:1], elastic False
LAUNCH INFO 2022-05-18 11:53:09,784 Run Pod: gistdo, replicas 2, status ready
LAUNCH INFO 2022-05-18 11:53:09,806 Watching Pod: gistdo, replicas 2, status running
""".strip().splitlines()
"""That of PaddlePaddle's FAQ (2.3)."""


def read_one(lines: list[str]) -> LaunchLog:
    found = read_launch_logs(lines)
    assert len(found) == 1
    return found[0]


def test_the_block_of_the_faq_is_read() -> None:
    log = read_one(FAQ)
    assert (log.launcher, log.block_line, log.lines) == (PADDLE, 1, 12)
    assert log.argument("devices") == "6,7"
    assert log.argument("master") == ""  # printed as None
    assert log.job == JobLine("default", "collective", 1, 1, 1, False, 10)
    assert log.run == PodLine("gistdo", 2, "ready", 11)
    assert log.watching == PodLine("gistdo", 2, "running", 12)
    assert examine(Asked(), name_logs([log])) == ()


def test_of_a_log_without_a_metric_the_nearest_line_is_known() -> None:
    log = read_one([*FAQ, "step 3 loss: n/a"])
    assert log.progress is None and log.nearest is not None and log.nearest.line == "step 3 loss: n/a"
    log = read_one([*FAQ, "step 3 loss: n/a", "step 3 loss: 0.5"])
    assert log.progress is not None and log.nearest is None


PREFIXES = {
    "paddock logs": ("worker-0 │ ", "worker-0"),
    "kubectl logs --prefix": ("[pod/demo-worker-0/paddle] ", "pod/demo-worker-0/paddle"),
    "kubectl logs --prefix --timestamps": ("[pod/demo-worker-0/paddle] 2026-11-20T15:38:21.123456Z ",
                                           "pod/demo-worker-0/paddle"),
    "kubectl logs --timestamps": ("2026-11-20T15:38:21.123456789Z ", ""),
    "a host and a time in brackets": ("[host1 15:38:21] ", "host1"),
    "docker compose": ("worker-1  | ", "worker-1"),
    "pdsh": ("host1: ", "host1"),
    "seconds and a host": ("  13.0 2 ", "2"),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", PREFIXES)
def test_a_prefix_names_the_source_and_is_no_part_of_the_line(kind: str) -> None:
    prefix, source = PREFIXES[kind]
    log = read_one([f"{prefix}{line}" for line in [*FAQ, "Epoch 1, Batch 3, Loss 0.5", "Traceback", "ValueError: x"]])
    plain = read_one([*FAQ, "Epoch 1, Batch 3, Loss 0.5", "Traceback", "ValueError: x"])
    assert log.source == source
    assert (log.arguments, log.job, log.watching) == (plain.arguments, plain.job, plain.watching)
    assert log.last_text == "ValueError: x"


def test_a_line_before_the_first_of_the_launcher_loses_its_prefix_too() -> None:
    log = read_one([f"[host1] {line}" for line in ["starting", "[1/2] step", *FAQ]])
    assert (log.source, log.lines, log.block_line) == ("host1", 14, 3)


def test_two_hosts_whose_lines_are_mixed_are_two_logs() -> None:
    one = [f"[a] {each}" for each in FAQ]
    two = [f"[b] {each}" for each in FAQ[:-1]]
    mixed = list(chain.from_iterable(zip(one, [*two, "[b] Epoch 1"], strict=True)))
    found = {log.source: log for log in read_launch_logs(mixed)}
    assert {name: bool(log.watching) for name, log in found.items()} == {"a": True, "b": False}


def test_files_that_are_put_together_are_two_logs() -> None:
    found = read_launch_logs([*FAQ, *FAQ[:-1]])
    assert [bool(log.watching) for log in found] == [True, False]
    assert list(name_logs(found)) == ["", "launcher (2)"]


MESSES = {
    "CRLF": [f"{line}\r\n" for line in FAQ],
    "colours": [f"\x1b[32m{line}\x1b[0m" for line in FAQ],
    "NULs": ["\0\0\0" + line for line in FAQ],
    "a progress bar before": [f"  3%|█   | 3/100 [00:01]\r{line}" for line in FAQ],
    "other lines between": list(chain.from_iterable((line, "训练开始 λ", "x" * 20_000, "") for line in FAQ)),
}


@pytest.mark.parametrize("mess", MESSES)
def test_what_else_is_in_a_file_changes_nothing(mess: str) -> None:
    log, plain = read_one(MESSES[mess]), read_one(FAQ)
    assert log.arguments == plain.arguments
    assert (log.run and log.run.name, log.watching and log.watching.count) == ("gistdo", 2)


@pytest.mark.parametrize("name", TEXTS)
def test_a_log_that_is_cut_at_either_end_is_read(name: str) -> None:
    chance = random.Random(name)
    lines = TEXTS[name]
    for _ in range(12):
        begin = chance.randrange(len(lines))
        end = chance.randrange(begin, len(lines)) + 1
        cut = [*lines[begin:end]]
        cut[-1] = cut[-1][: chance.randrange(len(cut[-1]) + 1)]
        examine(Asked(), name_logs(read_launch_logs(cut)))  # never raises


def test_a_block_without_its_head_is_read() -> None:
    log = read_one(FAQ[3:])
    assert (log.argument("nnodes"), log.block_line) == ("1", 1)


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from([*FAQ, *TEXTS["ps-old-launcher"]])), max_size=30))
def test_any_text_is_read(lines: list[str]) -> None:
    examine(Asked(), name_logs(read_launch_logs(lines)))


@pytest.mark.parametrize(
    ("name", "launcher"),
    [("two-hosts", PADDLE), ("old-flags", OLD), ("torch-static", TORCH), ("torch-nccl", TORCH), ("no-launcher", "")],
)
def test_the_launcher_is_told_by_its_lines(name: str, launcher: str) -> None:
    assert {log.launcher for log in read_launch_logs(TEXTS[name])} == {launcher}


def test_the_launcher_of_other_years_has_a_block_of_its_own() -> None:
    log = read_one(TEXTS["old-flags"])
    assert log.argument("training_script") == "train.py"


def test_arguments_that_the_environment_replaced_are_known() -> None:
    log = read_launch_logs(TEXTS["modelarts"])[0]
    assert [(each.name, each.variable, each.value) for each in log.overridden] == [("host", "POD_IP", "10.77.0.4")]


def test_an_elastic_job_that_waits_again_does_not_run() -> None:
    found = {log.source: log for log in read_launch_logs(TEXTS["elastic-lost-node"])}
    assert found["4"].watching is None
    assert found["4"].starts > 1


def test_of_a_bar_that_was_drawn_over_a_thousand_times_the_last_state_is_read() -> None:
    bar = "\r".join(f"epoch 1: {count:>4} of 1000 batches" for count in range(1001))
    (log,) = read_launch_logs(["LAUNCH INFO 2026-11-20 15:38:21,548 nnodes: 1", bar + "\n"])
    assert log.last_text == "epoch 1: 1000 of 1000 batches"


@pytest.mark.slow
def test_a_million_lines_are_read_as_a_stream() -> None:
    """And what is told after them is found."""
    end = "LAUNCH INFO 2022-05-18 11:53:09,806 Exit code 7"
    many = chain(FAQ, repeat("step loss is going down as it should", 300_000), [end])
    log = read_one(list(many))
    assert (log.lines, log.exit_code) == (300_013, 7)
