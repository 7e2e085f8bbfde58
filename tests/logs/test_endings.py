"""The end of a failed program's log, as the kubelet reports it -> its error in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.complaints import is_lost_peer
from paddock.logs.endings import Ending, may_tell_lost_peer, read_ending

HERE = Path(__file__).parent
RULE = "-" * 38
STACK = f"{RULE}\nC++ Traceback (most recent call last):\n{RULE}\n0   paddle::run()\n\n"
SUMMARY = f"{STACK}{RULE[:22]}\nError Message Summary:\n{RULE[:22]}\n"
PEER = "RuntimeError: Connection closed by peer"
FROM = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
REPORT = (
    "E1120 15:52:31.008000 1 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) "
    "local_rank: 1 (pid: 5) of binary: /opt/python3\n"
    'Traceback (most recent call last):\n  File "/opt/torchrun", line 8, in <module>\n    sys.exit(main())\n'
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "============================================================\nt.py FAILED\n"
    "------------------------------------------------------------\n"
    "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-22_14:14:00\n  host      : localhost\n"
    "  rank      : 1 (local_rank: 1)\n  exitcode  : {code} (pid: 5)\n  error_file: <N/A>\n"
    "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
    "============================================================\n"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    load()\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"epoch 1\n{TRACEBACK}ValueError: shapes do not match\n", "ValueError: shapes do not match"),
        (f"{TRACEBACK}ValueError: first line\nsecond line\n  third\n", "ValueError: first line"),
        (f"{TRACEBACK}AssertionError\n", "AssertionError"),
        (f"{TRACEBACK}KeyboardInterrupt\n", "KeyboardInterrupt"),
        (f"{TRACEBACK}zipfile.BadZipFile: File is not a zip file\n", "zipfile.BadZipFile: File is not a zip file"),
        (f"{TRACEBACK}StopIteration\n", "StopIteration"),
        # Chained: the root of the last chain.
        (
            f"{TRACEBACK}KeyError: 'lr'\n\nDuring handling of the above exception, another exception occurred:\n\n"
            f"{TRACEBACK}RuntimeError: no configuration\n",
            "KeyError: 'lr'",
        ),
        (
            f"{TRACEBACK}OSError: disk\n\nThe above exception was the direct cause of the following exception:\n\n"
            f"{TRACEBACK}RuntimeError: cannot save\n",
            "RuntimeError: cannot save (from OSError: disk)",
        ),
        (f"{TRACEBACK}ValueError: bad\n{FROM}{TRACEBACK}KeyError: 'outer'\n",
         "KeyError: 'outer' (from ValueError: bad)"),
        (f"{TRACEBACK}A: 1\n{FROM}{TRACEBACK}B: 2\n{FROM}{TRACEBACK}C: 3\n", "C: 3 (from B: 2 (from A: 1))"),
        (f"{TRACEBACK}ValueError: bad\n{FROM}{TRACEBACK}KeyError: 'x'\n{DURING}{TRACEBACK}TypeError: y\n",
         "KeyError: 'x' (from ValueError: bad)"),
        (f"{TRACEBACK}ValueError: {'x' * 280}\n{FROM}{TRACEBACK}KeyError: 'outer'\n", "KeyError: 'outer'"),
        (f"{TRACEBACK}ValueError: bad\n{FROM}{TRACEBACK}{PEER}\n", "ValueError: bad"),
        (f"{TRACEBACK}ValueError: bad\n{FROM}{TRACEBACK}KeyError: 'x'\nepoch 2\n{TRACEBACK}ValueError: y\n",
         "ValueError: y"),
        # One was caught, printed, and the script went on.
        (f"{TRACEBACK}KeyError: 'x'\nepoch 2\n{TRACEBACK}ValueError: y\n", "ValueError: y"),
        # The header was cut off by the kubelet's limit.
        ('ain.py", line 3\n  File "train.py", line 9, in load\n    return 1 / 0\nZeroDivisionError: by zero\n',
         "ZeroDivisionError: by zero"),
        # A peer's end is no reason while there is another.
        (f"{TRACEBACK}ValueError: x\n{TRACEBACK}{PEER} [10.0.0.1]:4\n", "ValueError: x"),
        (f"{TRACEBACK}{PEER}\n", PEER),
        (f"[rank0]: {TRACEBACK.replace(chr(10), chr(10) + '[rank0]: ', 2)}[rank0]: ValueError: x\n", "ValueError: x"),
        # PaddlePaddle's own.
        (f"{TRACEBACK}ValueError: (InvalidArgument) They differ.\n  [Hint: Expected 1 == 2.] (at /paddle/a.cc:1)\n",
         "ValueError: (InvalidArgument) They differ."),
        (f"{TRACEBACK}RuntimeError: \n\n{SUMMARY}InvalidArgumentError: They differ.\n  [Hint: Expected 1 == 2.]\n",
         "InvalidArgumentError: They differ."),
        (f"{SUMMARY}FatalError: `Segmentation fault` is detected by the operating system.\n  [TimeInfo: ***]\n",
         "FatalError: `Segmentation fault` is detected by the operating system."),
        ("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --lr\n",
         "train.py: error: unrecognized arguments: --lr"),
        ("  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 3, in <module>\n"
         "  | ExceptionGroup: two things (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n"
         "    | ValueError: a\n    +------------------------------------\n",
         "ExceptionGroup: two things (2 sub-exceptions)"),
        ("epoch 1\ntrain.sh: line 3: 1234 Killed                  python train.py\n",
         "train.sh: line 3: 1234 Killed                  python train.py"),
        ("ERROR: Unexpected BUS error encountered in DataLoader worker. This might be shared memory (shm).\n",
         "ERROR: Unexpected BUS error encountered in DataLoader worker. This might be shared memory (shm)."),
        # Of torchrun: what the rank that its report names said at its end, by `sys.exit`, a parser or a shell.
        (f"usage: t.py [-h]\nt.py: error: unrecognized arguments: --local-rank=1\n{REPORT.format(code=2)}",
         "t.py: error: unrecognized arguments: --local-rank=1"),
        (f"step 1\ncannot read data.csv\n{REPORT.format(code=1)}",
         "exitcode: 1, rank: 1 (local_rank: 1); its last line: cannot read data.csv"),
        (f"step 1\n[rank0]: other\ndisk is full\n[rank0]: other\n{REPORT.format(code=7)}",
         "exitcode: 7, rank: 1 (local_rank: 1); its last line: disk is full"),
        (REPORT.format(code=7), "exitcode: 7, rank: 1 (local_rank: 1)"),
        (f"step 1\n{REPORT.format(code=-9)}", "exitcode: -9, rank: 1 (local_rank: 1)"),
        ((HERE / "launch_fails.log").read_text()[-2048:],
         "ValueError: (InvalidArgument)  network hostb: cannot be obtained. Details: Temporary failure in name "
         "resolution."),
        ((HERE / "torchrun_fails.log").read_text(),
         "RuntimeError: Gloo connectFullMesh failed with [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/"),
    ],
)  # fmt: skip
def test_the_error_of_a_log_is_found(text: str, error: str) -> None:
    found = read_ending(text)
    assert found.error == error or (len(error) > 100 and found.error.startswith(error))
    assert found.last == ""


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("epoch 1\ncannot read data.csv\n\n", "cannot read data.csv"),  # sys.exit("cannot read data.csv")
        ("bash: line 1: tarin: command not found\n", "bash: line 1: tarin: command not found"),
        ("cannot read data.csv\nLAUNCH INFO 2026-11-20 15:42:04,579 Exit code 1\n", "cannot read data.csv"),
        (" 10%|#   | 1/10\r 20%|##  | 2/10\r\x1b[31mno space left\x1b[0m\n", "no space left"),
        ("", ""),
        ("\n\n", ""),
    ],
)  # fmt: skip
def test_without_an_error_it_is_the_last_line(text: str, last: str) -> None:
    assert read_ending(text) == Ending(last=last)


@given(st.text(max_size=3_000))
def test_any_text_is_read_and_none_is_long(text: str) -> None:
    found = read_ending(text)
    assert len(found.error) <= 300 and len(found.last) <= 300 and not (found.error and found.last)
    assert "\n" not in found.error + found.last


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: [1] Connection closed by peer",
        "Connection reset by peer",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
        "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms",
        "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.",
        "RendezvousConnectionError: gone",
        "RendezvousClosedError",
        "NCCL error: remote process exited or there was a network error",
        "SignalException: Process 12 got signal: 15",
    ],
)
def test_what_is_looked_for_before_a_log_is_read_is_in_every_error_of_a_lost_peer(error: str) -> None:
    assert is_lost_peer(error)
    assert may_tell_lost_peer(f"step 3\n{error}\nbye\n")
    assert not may_tell_lost_peer("step 3\nValueError: bad shard\n")


CAUGHT = 'Traceback (most recent call last):\n  File "t.py", line 8, in main\n    load()\nValueError: broken shard 3\n'
"""As `traceback.print_exc` prints it: from the frame that caught."""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        # Nobody can tell `sys.exit("…")` from `print("…")` before `sys.exit(1)`.
        *((f"epoch 1\n{CAUGHT}{line}\n", f"ValueError: broken shard 3; its last line: {line}") for line in (
            "no shard is left", "Exiting.", "Cleaning up temporary files", "Total time: 3.2 s",
            "usage: see README", "[rank 0] destroy process group", "cannot train: broken shard 3",
        )),
        (f"{TRACEBACK}ValueError: broken shard 3\ncannot train: broken shard 3\n",
         "ValueError: broken shard 3; its last line: cannot train: broken shard 3"),
        (f"{CAUGHT}epoch 1 step 2 loss 0.5\nthe disk is full\n", "the disk is full"),
        (f"{TRACEBACK}KeyError: 'x'\nepoch 1 step 2 loss 0.5\nthe disk is full\n", "the disk is full"),
        (f"{CAUGHT}{'x' * 280}\n", "ValueError: broken shard 3"),
        (f"{CAUGHT}{FROM}{CAUGHT.replace('ValueError', 'OSError')}giving up\n",
         "OSError: broken shard 3 (from ValueError: broken shard 3); its last line: giving up"),
        # It may be the rest of a message, or what is printed at an end.
        (f"{TRACEBACK}ValueError: first line\nsecond line\n", "ValueError: first line"),
        (CAUGHT, "ValueError: broken shard 3"),
        *((f"{CAUGHT}{line}\n", "ValueError: broken shard 3") for line in (
            "epoch 2 step 3 loss 0.4", "wandb: Synced 3 files", "Aborted (core dumped)", "INFO:root:closing", "-----",
            "train.sh: line 3: 77 Terminated   python t.py", "W1120 15:59:25.731000 140 store.cc:3] closed",
        )),
        # Another process of the pod may have printed it.
        (f"{CAUGHT}step 3 loss 0.4\nLAUNCH INFO 2026-11-20 15:42:04,579 Exit code 1\nbye\n",
         "ValueError: broken shard 3"),
        # Another error ended it.
        (f"{CAUGHT}giving up\n{TRACEBACK}KeyError: 'y'\n", "KeyError: 'y'"),
    ],
)  # fmt: skip
def test_the_last_line_of_a_program_that_had_caught_an_error_is_told_with_it(text: str, error: str) -> None:
    assert read_ending(text) == Ending(error=error)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        (f"{CAUGHT}going on\n", Ending(last="going on")),
        (f"{CAUGHT}epoch 1 step 2 loss 0.5\n", Ending(last="epoch 1 step 2 loss 0.5")),
        (f"{TRACEBACK}ValueError: x\nepoch 1 step 2 loss 0.5\nbye\n", Ending(last="bye")),
        (CAUGHT, Ending(error="ValueError: broken shard 3")),
        (
            f"{CAUGHT}going on\n{SUMMARY}FatalError: `Segmentation fault` is detected.\n",
            Ending(last="FatalError: `Segmentation fault` is detected."),
        ),
        (f"{TRACEBACK}ValueError: x\nterminate called without an active exception\n", Ending(error="ValueError: x")),
    ],
)
def test_a_signal_ended_no_program_by_an_error_after_which_it_had_gone_on(text: str, ending: Ending) -> None:
    assert read_ending(text, killed=True) == ending


GPU = "Out of memory error on GPU 0. Cannot allocate 1.5GB memory on GPU 0, available memory is only 0B."
ADVICE = "\n\nPlease check whether there is any other process using GPU 0.\n2. If no, please decrease the batch size.\n"


@pytest.mark.parametrize("before", ["", TRACEBACK + "MemoryError: \n\n"])
@pytest.mark.parametrize("between", ["", "ResourceExhaustedError: \n\n", SUMMARY + "ResourceExhaustedError: \n\n"])
def test_the_memory_of_a_device_is_told_below_an_empty_message(before: str, between: str) -> None:
    assert read_ending(f"step 1\n{before}{between}{GPU}{ADVICE}") == Ending(error=GPU)
    assert read_ending(f"step 1\n{TRACEBACK}MemoryError: (ResourceExhausted) \n\n{GPU}{ADVICE}") == Ending(error=GPU)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR:root:no data",
        "CRITICAL:__main__:no data",
        "ERROR: no data",
        "[ERROR] no data",
        "2026-11-20 15:59:25,731 - train - ERROR - no data",
        "2026-11-20 15:59:25,731 ERROR no data",
        "2026-11-20 15:59:25.731 | ERROR    | __main__:<module>:3 - no data",
        "[2026-11-20 15:59:25,731] [   ERROR] train.py:3 - no data",
        "[2026-11-20 15:59:25,731] [ERROR] [train] no data",
        "[11/20 15:59:25] ppdet.engine ERROR: no data",
        "11/20/2026 15:59:25 - ERROR - __main__ - no data",
        "E1120 15:59:25.731000 140 train.py:3] no data",
    ],
)
def test_what_a_logger_wrote_as_an_error_comes_before_the_last_line_only(line: str) -> None:
    assert read_ending(f"epoch 1\n{line}\nERROR:root:aborting\nbye\n") == Ending(error=line, is_logged=True)
    assert read_ending(f"{line}\n{TRACEBACK}ValueError: x\n") == Ending(error="ValueError: x")
    assert read_ending(f"{line}\nepoch 1 step 2 loss 0.5\nbye\n") == Ending(last="bye")


@pytest.mark.parametrize(
    "line",
    ["ERRORS 0", "The ERROR rate is 3", "error: 3", "no FATAL things", "ERROR:", "WARNING:root:no data",
     "ERROR: pip's dependency resolver does not take into account"],
)  # fmt: skip
def test_a_word_is_no_level(line: str) -> None:
    assert read_ending(f"{line}\nbye\n") == Ending(last="bye")
