"""An error that a program printed and swallowed is found; what ordinary logs have is not."""

from __future__ import annotations

import pytest

from paddock.logs.complaints import Complaint
from paddock.logs.swallowed import LAUNCHER, Swallowed, find_doubted, read_whole

NCCL = "Error initializing process group: Distributed package doesn't have NCCL built in"
DOCUMENT = ["PyTorch version: 2.13.0+cpu", "CUDA available: False", "Rank: 0, World Size: 3", NCCL]

SWALLOWED = [
    (DOCUMENT, 4, NCCL),
    ([*DOCUMENT, "Training finished."], 4, NCCL),
    (["Epoch 0, Loss: 1.0", "Error during training epoch 1: CUDA out of memory"], 2,
     "Error during training epoch 1: CUDA out of memory"),
    (["Error moving model to device: CUDA error: invalid device ordinal"], 1,
     "Error moving model to device: CUDA error: invalid device ordinal"),
    (["Error during training epoch 2: Connection closed by peer", "Error creating DDP model: bad"], 2,
     "Error creating DDP model: bad"),
    (["Error during training epoch 2: [x] Connection closed by peer [127.0.0.1]:1"], 1,
     "Error during training epoch 2: [x] Connection closed by peer [127.0.0.1]:1"),
    (["CUDA error: out of memory", "saved"], 1, "CUDA error: out of memory"),
    (["Exception ignored in: <f>", "done", "CUDA error: out of memory"], 3, "CUDA error: out of memory"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "number", "text"), SWALLOWED)
def test_a_swallowed_error_is_found_with_its_line(lines: list[str], number: int, text: str) -> None:
    found = read_whole(lines).error
    assert found is not None
    assert (found.line, found.text) == (number, text)


HARMLESS = [
    [],
    ["Epoch [10/100], Loss: 1.1", "Training finished."],
    ["mean squared error: 0.12", "Error: 0.5", "error rate 3 %", "Test error = 0.02"],
    ["INFO 0 errors found", "no error", "Errors: none", "Error handling enabled"],
    ["ERROR: pip's dependency resolver does not currently take into account all the packages", "Epoch 1, Loss: 0.5"],
    ["UserWarning: CUDA initialization: Found no NVIDIA driver on your system."],
    ["vm:1:1 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]", "done"],
    ["W1122 13:55:12.000000 12 torch/distributed/elastic/multiprocessing/api.py:1] Sending process 3 closing signal"],
    [NCCL, "Falling back to gloo", "done"],
    [NCCL + ", falling back to gloo"],
    [NCCL, "Retrying in 5 s", "Distributed process group initialized successfully"],
    ["Error setting device: no cuda", "Falling back to CPU", "Model moved to device successfully"],
    ["Error initializing process group: timed out, retrying", "Epoch 1, Loss: 0.5"],
    [NCCL, "Epoch 1, Loss: 0.5"],
    ["Error during training epoch 1: bad batch", "Epoch 2, Loss: 0.5", "Epoch 3, Loss: 0.4"],
    ["Exception ignored in: <function Group.__del__ at 0x7f>", "Traceback (most recent call last):",
     '  File "x.py", line 3, in __del__', "torch.distributed.DistBackendError: NCCL error in: x.cpp:1"],
    ["Traceback (most recent call last):", '  File "x.py", line 3, in <module>', "ValueError: of a try"],
    ["ModuleNotFoundError: No module named 'apex'", "apex is not installed"],
    ["KeyboardInterrupt"],
    ["worker: the CUDA error of yesterday is gone"],
]  # fmt: skip


@pytest.mark.parametrize("lines", HARMLESS)
def test_an_ordinary_log_has_none(lines: list[str]) -> None:
    assert read_whole(lines).error is None


@pytest.mark.parametrize(
    "line",
    [
        "Falling back to gloo", "it fell back", "fallback: gloo", "Retrying in 5 s", "2 retries", "trying again",
        "using gloo instead", "process group initialised", "Initialized successfully", "Successfully connected",
        "Connected to 3 successfully", "Recovered successfully", "Process group is initialized",
    ],
)  # fmt: skip
def test_words_of_recovery_take_an_error_back(line: str) -> None:
    expected = None if line != "Connected to 3 successfully" else NCCL
    found = read_whole([NCCL, line]).error
    assert (found and found.text) == expected


def test_lines_are_counted_over_batches_and_not_where_the_beginning_is_unknown() -> None:
    reader, cut = Swallowed(), Swallowed(first=None)
    for batch in (["a"] * 1000, [], ["b", NCCL], ["c"]):
        reader.feed(batch)
        cut.feed(batch)
    assert reader.error is not None and (reader.error.line, reader.error.text) == (1002, NCCL)
    assert cut.error is not None and cut.error.line is None
    reader.feed(["Epoch 1, Loss: 0.5"])
    assert reader.error is None, "it has recovered"


ERROR, ECHO = Complaint("caught", "bad", True), Complaint("caught", "Error …: Connection closed by peer", True)


@pytest.mark.parametrize(
    ("errors", "progressed", "doubted"),
    [
        ({0: ERROR, 1: ERROR, 2: ERROR}, (), 0),
        ({1: ERROR}, (), 1),
        ({}, (0,), None),
        ({1: ERROR}, (0,), None),  # rank 0 trained to its end: rank 1 has recovered and prints no progress
        ({0: ERROR, 1: ERROR}, (0,), 0),
        ({0: ERROR}, (0, 1), 0),
        ({0: ECHO, 1: ERROR}, (0,), 1),
        ({0: ECHO, 1: ECHO}, (0,), 0),
    ],
)
def test_ranks_without_progress_are_judged_by_those_with(
    errors: dict[int, Complaint], progressed: tuple[int, ...], doubted: int | None
) -> None:
    assert find_doubted(errors, progressed) == doubted


FRAMES = ["Traceback (most recent call last):", '  File "t.py", line 2, in <module>', '    raise KeyError("label")']
KEY = [*FRAMES, "KeyError: 'label'"]
CAUGHT = [FRAMES[0], FRAMES[1].replace("<module>", "load"), *KEY[2:]]
STEP = "Epoch 1, Loss: 0.5"
CHILD = ["Traceback (most recent call last):", '  File "/bin/torchrun", line 12, in <module>', "    sys.exit(main())",
         "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "=" * 60, "t.py FAILED"]  # fmt: skip
CONTAINER = ["LAUNCH INFO 2026-11-20 15:42:04,553 Pod failed",
             "LAUNCH ERROR 2026-11-20 15:42:04,553 Container failed !!!",
             "LAUNCH INFO 2026-11-20 15:42:04,553 ----------- ERROR LOG DETAIL -----------",
             STEP, *KEY, "LAUNCH INFO 2026-11-20 15:42:04,553 Exit code 1"]  # fmt: skip
REPORTED = ["Failures:", "  <NO_OTHER_FAILURES>", "Root Cause (first observed failure):", "[0]:"]
MPIRUN = "mpirun detected that one or more processes exited with non-zero status, thus causing"
AGAIN = ["LAUNCH INFO 2026-11-20 15:57:55,214 Run Pod: dwkiuc, replicas 1, status ready", STEP, "trained"]


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([STEP, *KEY], ("traceback", "KeyError: 'label'", 5)),
        ([*KEY, "", "done"], ("traceback", "KeyError: 'label'", 4)),
        ([f"[rank0]: {each}" for each in KEY], ("traceback", "KeyError: 'label'", 4)),
        ([*FRAMES, "own.Unfit: bad"], ("traceback", "own.Unfit: bad", 4)),
        ([*FRAMES, "ValueError: a", "During handling of the above exception, another exception occurred:", "", *KEY],
         ("traceback", "KeyError: 'label'", 10)),
        (["t.py: error: unrecognized arguments: --lr"], ("arguments", "t.py: error: unrecognized arguments: --lr", 1)),
        ([*KEY, *CHILD], (LAUNCHER, "KeyError: 'label'", 4)),
        (CHILD, (LAUNCHER, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", 4)),
        (CONTAINER, (LAUNCHER, "KeyError: 'label'", 8)),
        (CONTAINER[:2], (LAUNCHER, "LAUNCH ERROR 2026-11-20 15:42:04,553 Container failed !!!", 2)),
        ([*CONTAINER, *AGAIN], None),
        ([CHILD[3], "retrying", *(f"epoch {n} loss 0.{9 - n}" for n in range(4)), "training finished"], None),
        ([*KEY, *CHILD, *REPORTED, "done"], (LAUNCHER, "KeyError: 'label'", 4)),
        ([*KEY, *CHILD, *REPORTED, STEP, "trained"], None),
        ([*KEY, *CHILD, *REPORTED, "loaded model.pt", "exported"], None),
        ([*KEY, *CHILD, *REPORTED, STEP, *KEY], ("traceback", "KeyError: 'label'", 19)),
        ([*KEY, *CHILD, *REPORTED, STEP, *CHILD],
         (LAUNCHER, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", 19)),
        (["[2026-11-22 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['python'] exits with return code = 1",
          STEP], None),
        ([*CONTAINER, STEP], None),
        ([MPIRUN, "the job to be terminated. The first process to do so was:", "", "done"], (LAUNCHER, MPIRUN, 1)),
        ([*KEY, STEP], None),
        ([*KEY, "falling back to gloo"], None),
        ([*KEY, "no label here", "trained"], None),
        (CAUGHT, None),
        (["Exception ignored in: <function f>", *KEY], None),
        (["Error in atexit._run_exitfuncs:", *KEY], None),
        (["ERROR:root:not uploaded", *KEY], None),
        (["KeyError: 'label'"], None),
        ([STEP, "Error: 0.5", "trained"], None),
        (FRAMES, None),
    ],
)  # fmt: skip
def test_the_error_in_which_a_log_ends(lines: list[str], end: tuple[str, str, int] | None) -> None:
    """One that the program handled, or trained on after, is none; line by line as all at once."""
    whole, slow = read_whole(lines), Swallowed()
    for line in lines:
        slow.feed([line])
    assert whole.end == slow.end
    assert (whole.end and (whole.end.kind, whole.end.text, whole.end.line)) == end
