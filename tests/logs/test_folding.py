"""What a person sees of a log: the script's lines, in order and unchanged; the rest is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.chatter import STARTS, match_chatter
from paddock.logs.complaints import read_complaint
from paddock.logs.folding import BAR, REPEATED, SAME_ERROR, Folding, Unfolded
from paddock.logs.tracebacks import Tracebacks, begins_traceback

HERE = Path(__file__).parent
HEADER = "Traceback (most recent call last):"
TRACEBACK = [HEADER, '  File "train.py", line 3, in <module>', "    load()", "KeyError: 'x'"]
DATE = "2026-11-22 06:00:00,123"
GLOO = "/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/debug_logger.cc:9"
CHATTER = [
    f"LAUNCH INFO {DATE} Run Pod: bdukny, replicas 1, status ready",
    f"LAUNCH WARNING {DATE} Host ip reset to 10.77.0.2",
    "LAUNCH WARNING args host will be overridden by env: POD_IP value: 10.77.0.1",
    f"[{DATE}] [    INFO] topology.py:388 - Total 2 data comm group(s) create successfully!",
    f"INFO {DATE} launch.py:530] Run parameter-sever mode. pserver arguments:['--servers']",
    "I1122 06:00:00.123456  1234 tcp_utils.cc:132] Successfully connected to 10.77.0.1:63219",
    "W1122 06:00:00.123456  1234 gpu_resources.cc:119] Please NOTE: device: 0, GPU Compute Capability: 8.0",
    "I0000 00:00:1763791200.123456  1234 cpu_feature_guard.cc:210] This TensorFlow binary is optimized",
    "[W1122 06:00:00.123456789 socket.cpp:767] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
    "W1122 06:00:00.123456 4711 torch/distributed/run.py:852] *****************************************",
    "[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1",
    'INFO:httpx:HTTP Request: GET https://hf.co/api/models "HTTP/1.1 200 OK"',
    f'{DATE} - httpx - INFO - HTTP Request: GET https://hf.co/api/models "HTTP/1.1 200 OK"',
    f'[{DATE}] [    INFO] _client.py:1025 - HTTP Request: HEAD https://bj.bcebos.com/a.json "HTTP/1.1 404 Not Found"',
    "DEBUG:urllib3.connectionpool:Starting new HTTPS connection (1): hf.co:443",
    "INFO:numexpr.utils:NumExpr defaulting to 8 threads.",
    "/env/lib/python3.11/site-packages/paddle/utils/cpp_extension/extension_utils.py:717: UserWarning: No ccache found."
    " Please be aware that recompiling all source files may be required.",
    "PLEASE USE OMP_NUM_THREADS WISELY.",
    "is_heter_ps_mode? False",
    "public get_the_one_send_context sparse:  deep@GRAD ['deep.block0'] [400, 8]",
    "adam_d2sum: False",
    # torchrun 2.13, 2.3 and 2.0; gloo; NCCL; HAMi, of AI Lab's tutorial
    "W1122 14:17:09.802000 12379 torch/distributed/run.py:874] ",
    "[2023-11-28 12:00:00,123] torch.distributed.run: [WARNING] *****************************************",
    "WARNING:torch.distributed.run:",
    "[W1120 15:57:58.264330523 TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host 10.77.0.1:39251",
    "Exception raised from run at /__w/pytorch/pytorch/torch/csrc/distributed/c10d/socket.cpp:820 (most recent call "
    "first):",
    f"[{GLOO}] ERROR failed to connect, willRetry=1, retry=1, retryLimit=3, rank=0, size=2, local=[127.0.0.1]:56978",
    "[rank0]:[W1122 06:00:00.123456789 ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not "
    "called before program exit, which can leak resources.",
    "NCCL version 2.27.3+cuda12.9",
    "dist-worker-0:17:52 [0] NCCL INFO Bootstrap: Using eth0:10.77.0.2<0>",
    "[HAMI-core Warn(1:140244541377408:utils.c:183)]: get default cuda from (null)",
    "[HAMI-core Msg(1:140244541377408:libvgpu.c:855)]: Initialized",
    "/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py:759: UserWarning: 'pin_memory' argument is set "
    "as true but no accelerator is found, then device pinned memory won't be used.",
]
MINE = [
    "paddock: no GPU here, so torch.distributed uses gloo in place of nccl",
    f"[{GLOO}] ERROR failed to connect, willRetry=0, retry=4, retryLimit=3, rank=0, size=2",
    "[HAMI-core ERROR (pid:1 thread=1 allocator.c:54)]: Device 0 OOM 2097152000 / 1048576000",
    "dist-worker-0:17:52 [0] misc/socket.cc:484 NCCL WARN socketProgress: Connection closed by remote peer",
    "[rank1]:[E1122 06:00:00.123456789 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout",
    "my NCCL INFO is short",
    "Exception raised from my script",
    "NCCL version of mine",
    "frame #3: a picture",
    "INFO my own line",
    f"INFO {DATE} train.py:12] epoch 1",
    f"[{DATE}] [    INFO] - loss: 0.5, learning_rate: 0.01",
    f"{DATE} - trainer - INFO - step 3",
    "I1122 06:00:00.123456  1234 train.py:12] absl's form, of my own file",
    "I1122 is my cell",
    "LAUNCH of the rocket",
    f"LAUNCH ERROR {DATE} Container failed !!!",
    "E1122 06:00:00.123456  1234 brpc_ps_client.cc:383] request cmd_id:11 failed",
    "F1122 06:00:00.123456  1234 init.cc:1] Check failed",
    "[E1122 06:00:00.1234 socket.cpp:1019] [c10d] The client socket has failed to connect",
    "======================= results =======================",
    "meta_optimizer= mine",
    "new table_name: a b c",
    "| epoch | loss |",
    "+-------+------+",
    "Container rank 0 status failed cmd ['python', 'train.py'] code 1 log log/workerlog.0",
    "/env/lib/python3.11/site-packages/paddle/distributed/parallel.py:1066: UserWarning: Currently not a parallel "
    "execution environment, `paddle.distributed.init_parallel_env` will not do anything.",
    "/home/me/train.py:3: UserWarning: my own warning",
    'httpx said HTTP Request: GET https://hf.co "HTTP/1.1 500 Internal Server Error"',
    "",
    "  indented",
    "10%| is no bar",
]


def fold(lines: list[str], folding: Folding | None = None) -> list[str]:
    folding = folding or Folding()
    return [*folding.feed(lines), *folding.end()]


def read(name: str) -> list[str]:
    return (HERE / name).read_text().splitlines()


@pytest.mark.parametrize("line", CHATTER)
def test_chatter_is_folded(line: str) -> None:
    folding = Folding()
    assert fold([line], folding) == [] and folding.folded.total() == 1


@pytest.mark.parametrize("line", MINE)
def test_what_only_resembles_chatter_is_shown(line: str) -> None:
    assert fold([line]) == [line]


@pytest.mark.parametrize("start", sorted(STARTS))
def test_every_form_is_a_regular_expression(start: str) -> None:
    """They are compiled when the first line begins so."""
    assert match_chatter(f"{start} of mine") is None


def test_a_warning_takes_its_second_line_with_it_and_no_third() -> None:
    assert fold([CHATTER[16], "  warnings.warn(warning_message)", "  mine"]) == ["  mine"]
    assert fold([CHATTER[16], "mine"]) == ["mine"]


def test_where_in_c_an_error_came_from_is_folded_and_what_follows_is_not() -> None:
    frames = [
        "frame #3: <unknown function> + 0x163c447 (0x7f27e303c447 in /app/torch/lib/libtorch_cpu.so)",
        "<omitting python frames>",
        "frame #34: _start + 0x21 (0x5580f5883081 in /app/torch/bin/python)",
        "",
    ]
    head = "Exception raised from run at /torch/csrc/distributed/c10d/socket.cpp:820 (most recent call first):"
    assert fold([head, *frames, "epoch 1"]) == ["epoch 1"]
    assert fold(frames) == frames


def test_the_box_of_an_older_torchrun_is_folded() -> None:
    stars = "*" * 41
    said = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system"
    assert fold(["WARNING:torch.distributed.run:", stars, said, stars, stars]) == [stars]


def test_the_box_of_torchrun_as_a_module_is_folded_and_a_script_s_stars_are_not() -> None:
    stars = "*" * 41
    said = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system"
    assert fold(["", stars, said, stars, "epoch 1"]) == ["", "epoch 1"]
    assert fold([stars, "epoch 1", stars, stars]) == [stars, "epoch 1", stars, stars]


_LONG, _SHORT = "-" * 38, "-" * 22
_AT_ITS_END = [
    "", "", _LONG, "C++ Traceback (most recent call last):", _LONG,
    "No stack trace in paddle, may be caused by external reasons.", "", _SHORT, "Error Message Summary:", _SHORT,
    "FatalError: `Termination signal` is detected by the operating system.",
    '  [TimeInfo: *** Aborted at 1746837439 (unix time) try "date -d @1746837439" if you are using GNU date ***]',
    "  [SignalInfo: *** SIGTERM (@0x5b909) received by PID 375126 (TID 0x79a165a56740) from PID 375049 ***]", "",
]  # fmt: skip
_CRASHED = [
    line.replace("Termination signal", "Segmentation fault").replace("SIGTERM", "SIGSEGV") for line in _AT_ITS_END
]


@pytest.mark.parametrize(
    ("rank", "lines", "shown"),
    [
        ("ps-0", _AT_ITS_END, []),
        ("ps-1", ["served", *_AT_ITS_END, *_AT_ITS_END[1:]], ["served"]),
        ("ps-0", [*_AT_ITS_END[:5], "0   paddle::distributed::BrpcPsServer::Stop()", *_AT_ITS_END[6:]], []),
        ("ps-0", _CRASHED, _CRASHED),
        ("ps-0", ["", "a", "", _LONG, "b", *TRACEBACK, ""], ["", "a", "", _LONG, "b", *TRACEBACK, ""]),
        ("ps-0", _AT_ITS_END[:9], _AT_ITS_END[:9]),
        ("worker-0", _AT_ITS_END, _AT_ITS_END),
        ("", _AT_ITS_END, _AT_ITS_END),
    ],
    ids=["alone", "twice", "with a stack", "crash", "the script's", "cut", "worker", "unknown"],
)
@pytest.mark.parametrize("in_pieces", [False, True])
def test_what_a_server_prints_of_its_ordinary_end_is_folded(
    rank: str, lines: list[str], shown: list[str], in_pieces: bool
) -> None:
    folding = Folding(rank)
    found = [each for line in lines for each in folding.feed([line])] if in_pieces else folding.feed(lines)
    assert found + folding.end() == shown
    assert folding.folded.total() == len(lines) - len(shown)


def test_the_endpoints_that_the_launcher_prints_are_folded_and_a_script_s_are_not() -> None:
    head, printed = (
        f"LAUNCH INFO {DATE} args reset by env PADDLE_TRAINER_ENDPOINTS",
        "['127.0.0.2:23780', '127.0.0.3:23780']",
    )
    assert fold([head, printed, printed]) == [printed]


def test_a_chatter_line_with_an_error_is_shown() -> None:
    line = f"LAUNCH INFO {DATE} worker: NCCL WARN Call to connect returned Connection refused"
    assert fold([line]) == [line]


@pytest.mark.parametrize(
    ("name", "shown", "first"),
    [
        ("launch_fails.log", 14, "Traceback (most recent call last):"),
        ("fleet_launch.log", 0, ""),
        ("parameter_server_worker.log", 0, ""),
        ("elastic.log", 43, "rank 0 of 2 group up after 0.5s ep=10.77.0.4:41084 master=10.77.0.4:41083"),
        ("torchrun_fails.log", 52, read("torchrun_fails.log")[5]),
    ],
)
def test_of_a_real_log_the_script_is_left(name: str, shown: int, first: str) -> None:
    lines = read(name)
    left = fold(lines)
    assert (len(left), left[0] if left else "") == (shown, first)
    assert not [line for line in left if line.startswith(("LAUNCH INFO", "I1", "FLAGS("))]


def test_what_the_launcher_prints_again_is_folded_its_cut_first_line_too() -> None:
    head = f"LAUNCH INFO {DATE} ------------------------- ERROR LOG DETAIL -------------------------"
    folding = Folding()
    again = ["ng line", *TRACEBACK, f"LAUNCH INFO {DATE} Exit code 1"]
    shown = fold(["mine", "a long line", *TRACEBACK, head, *again], folding)
    assert shown == ["mine", "a long line", *TRACEBACK]
    assert folding.folded[REPEATED] == 5


def test_what_the_launcher_prints_for_the_first_time_is_shown() -> None:
    head = f"LAUNCH INFO {DATE} ------------------------- ERROR LOG DETAIL -------------------------"
    assert fold(["mine", head, "of another rank", *TRACEBACK]) == ["mine", "of another rank", *TRACEBACK]


def test_the_same_traceback_of_another_rank_is_counted() -> None:
    known = Tracebacks()
    first, second = Folding("worker-0", known), Folding("worker-1", known)
    assert first.feed(["a", *TRACEBACK]) == ["a", *TRACEBACK]
    assert fold(["a", *TRACEBACK, "b"], second) == ["a", "b"]
    assert second.folded[SAME_ERROR] == len(TRACEBACK)
    assert known.again == {"KeyError: 'x'": ["worker-1"]}


def test_another_traceback_is_shown_from_its_header() -> None:
    known = Tracebacks()
    first, second = Folding("worker-0", known), Folding("worker-1", known)
    first.feed(TRACEBACK)
    other = [*TRACEBACK[:-1], "KeyError: 'y'"]
    assert second.feed(other[:2]) == []  # may be the same so far
    assert second.feed(other[2:]) == other and not known.again


def test_the_beginning_of_a_traceback_is_no_repeat() -> None:
    known = Tracebacks()
    Folding("worker-0", known).feed(TRACEBACK)
    assert fold(TRACEBACK[:3], Folding("worker-1", known)) == TRACEBACK[:3]


def test_a_new_traceback_is_never_held_back() -> None:
    folding = Folding()
    for line in TRACEBACK:
        assert folding.feed([line]) == [line]


def test_torch_s_prefix_and_addresses_make_no_other_traceback() -> None:
    known = Tracebacks()
    fold([f"[rank0]: {line}" for line in (*TRACEBACK[:-1], "KeyError: <a at 0x7f01>")], Folding("worker-0", known))
    again = [f"[rank1]: {line}" for line in (*TRACEBACK[:-1], "KeyError: <a at 0x7f02>")]
    assert fold(again, Folding("worker-1", known)) == []


def bar(count: int, total: int = 400, rest: str = "") -> str:
    return f"{count * 100 // total:3}%|{'█' * (count // 50):8}| {count}/{total} [00:01<00:09,  2.9it/s]{rest}"


def test_a_bar_of_many_lines_is_one() -> None:
    folding = Folding()
    lines = [bar(count) for count in range(401)]
    assert fold([*lines[:200], "mine", *lines[200:], "after"], folding) == ["mine", bar(400), "after"]
    assert folding.folded[BAR] == 400


def test_the_last_state_of_a_bar_that_never_ends_is_shown_at_the_end() -> None:
    assert fold([bar(1), "mine", bar(2)]) == ["mine", bar(2)]


def test_what_the_script_prints_behind_its_bar_is_its_line() -> None:
    assert fold([bar(1, rest="loss 0.5"), bar(2, rest="loss 0.4")]) == ["loss 0.5", "loss 0.4"]


def test_each_epoch_has_its_bar() -> None:
    assert fold([bar(1, 2), bar(2, 2), bar(1, 2), bar(2, 2)]) == [bar(2, 2), bar(2, 2)]


def test_two_bars_that_share_a_terminal_are_two_lines() -> None:
    """What tqdm writes of nested bars, line by line."""
    lines = [f"\x1b[Ainner: {bar(count, 3)}" for count in (1, 2, 3)] + [f"outer: {bar(1, 1)}"]
    assert [line for line in fold(lines) if "inner" in line and "3/3" in line]
    assert len(fold(lines)) == 2


def test_a_region_that_is_drawn_again_is_shown_first_and_last() -> None:
    drawn = [line for n in range(1, 400) for line in (f"\x1b[2A\x1b[2Ka {n}", f"\x1b[2Kb {n}")]
    folding = Folding()
    assert fold(["a 0", "b 0", *drawn, "done"], folding) == ["a 0", "b 0", "a 399", "b 399", "done"]
    assert folding.folded[BAR] == 2 * 398


def test_raw_shows_all() -> None:
    lines = [*CHATTER, *TRACEBACK, *TRACEBACK, bar(1), bar(2)]
    folding = Unfolded()
    assert fold(lines, folding) == lines and not folding.folded


REAL = [*read("launch_fails.log"), *read("fleet_launch.log")]
LINE = st.sampled_from([*CHATTER, *MINE, *TRACEBACK, *REAL, bar(1), bar(400)])


@given(st.lists(LINE, max_size=80), st.integers(1, 7))
def test_shown_and_folded_are_all_and_the_shown_are_in_order(lines: list[str], size: int) -> None:
    folding = Folding()
    shown = [line for at in range(0, len(lines), size) for line in folding.feed(lines[at : at + size])] + folding.end()
    assert len(shown) + folding.folded.total() == len(lines)
    own = [line for line in shown if "it/s]" not in line]  # a bar is shown when it is complete, or at the end
    rest = iter(lines)
    assert all(line in rest for line in own)


def is_a_scripts(line: str) -> bool:
    """Hypothesis also takes texts of the code for examples, and some of those are lines that are folded."""
    return (
        match_chatter(line) is None and not begins_traceback(line) and not any(each in line for each in ("%|", "\x1b"))
    )


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=40).filter(is_a_scripts), max_size=30))
def test_any_script_s_lines_are_shown_unchanged(lines: list[str]) -> None:
    assert fold(lines) == lines


@given(st.lists(st.sampled_from([*MINE, "ValueError: x", "(External) CUDA error(2), out of memory. "]), max_size=30))
def test_no_error_is_folded(lines: list[str]) -> None:
    shown = fold(lines)
    assert [line for line in shown if read_complaint(line)] == [line for line in lines if read_complaint(line)]


@given(st.lists(LINE, max_size=60), st.integers(1, 9))
def test_how_lines_arrive_does_not_matter(lines: list[str], size: int) -> None:
    whole, pieces = Folding(), Folding()
    for at in range(0, len(lines), size):
        pieces.feed(lines[at : at + size])
    whole.feed(lines)
    whole.end()
    pieces.end()
    assert whole.folded == pieces.folded
