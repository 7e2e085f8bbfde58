"""Lines by which libraries say that they wait, and what is no such line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.folding import Folding
from paddock.logs.waiting import Awaited, Waiting, Waits, explain_waiting, find_waits, read_waiting
from paddock.words.phrases import render

RETRY = (
    "I1125 14:05:17.974907 12966 tcp_utils.cc:109] Retry to connect to 192.168.9.17:55929 while the server is not yet "
    "listening."
)
NOT_READY = "server not ready, wait 3 sec to retry..."
ENDPOINTS = "not ready endpoints:['10.20.1.40:6070', '10.20.1.40:6071']"
ID = (
    "W0404 10:47:20.323863 21635 gen_comm_id_helper.cc:120] connect addr=10.20.1.185:6070 failed 1 times with reason: "
    "Connection refused retry after 0.5 seconds"
)
CHATTER = "I1125 14:05:17.974493 12966 tcp_store.cc:336] create libuv server at port: 55929"


@pytest.mark.parametrize(
    ("line", "awaited", "target"),
    [
        (RETRY, Awaited.STORE, "192.168.9.17:55929"),
        ("I0302 13:50:30.278173 15 tcp_utils.cc:107] Retry to connect to 127.0.1.1:63917 while the server is not yet "
         "listening.", Awaited.STORE, "127.0.1.1:63917"),
        (NOT_READY, Awaited.SERVERS, ""),
        (ENDPOINTS, Awaited.SERVERS, "10.20.1.40:6070, 10.20.1.40:6071"),
        (ID, Awaited.PEER, "10.20.1.185:6070"),
        ("LAUNCH INFO 2026-11-20 15:38:21,548 Waiting peer start...", Awaited.LAUNCHERS, ""),
        ("LAUNCH INFO 2026-11-20 15:38:21,548 Waiting peer ready...", Awaited.LAUNCHERS, ""),
        ("LAUNCH WARNING 2026-11-20 15:38:21,548 master not ready", Awaited.MASTER, ""),
        ("[W1125 10:00:00.1 socket.cpp:697] [c10d] The client socket has failed to connect to [host-0]:29500 (errno: "
         "111 - Connection refused).", Awaited.STORE, "host-0:29500"),
        ("[W726 02:14:09.07 socket.cpp:697] [c10d] The IPv6 network addresses of (bench-worker, 43913) cannot be "
         "retrieved (gai error: -2 - Name or service not known).", Awaited.NAME, "bench-worker:43913"),
        ("INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: "
         "0, key: store_based_barrier_key:1 (world_size=2, num_workers_joined=1, timeout_millis=1800000)",
         Awaited.RANKS, ""),
        ("h:1:2 [0] NCCL INFO socketProgressConnect: Call to connect to 10.0.0.2<41235> failed : Connection refused, "
         "retrying", Awaited.PEER, "10.0.0.2:41235"),
        ("h:1:2 [0] NCCL INFO Call to connect returned Connection refused, retrying", Awaited.PEER, ""),
    ],
)  # fmt: skip
def test_a_line_that_waits_is_known(line: str, awaited: Awaited, target: str) -> None:
    assert read_waiting(line) == Waiting(awaited, target)


@pytest.mark.parametrize(
    "line",
    [
        "", "waiting for data", "epoch 1 loss 0.3", CHATTER, "LAUNCH INFO 2026-11-20 15:38:21,548 Watching Pod: a",
        "I1125 13:58:51.021589 3292 tcp_utils.cc:132] Successfully connected to 10.20.1.41:6070",
        "[E726 02:29:09.0 socket.cpp:1019] [c10d] The client socket has timed out after 900000ms while trying to "
        "connect to (head, 43913).",
    ],
)  # fmt: skip
def test_any_other_line_is_none(line: str) -> None:
    assert read_waiting(line) is None


@given(st.lists(st.sampled_from([RETRY, NOT_READY, ENDPOINTS, ID, CHATTER, "epoch 1 loss 0.3", ""]), max_size=12))
def test_a_log_waits_if_it_ends_so_and_its_own_lines_end_a_wait(lines: list[str]) -> None:
    waits = find_waits(lines)
    own = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].startswith("epoch")), -1)
    after = [line for line in lines[own + 1 :] if line not in ("", CHATTER)]
    if waits is None:
        return
    assert waits.waiting in (read_waiting(RETRY), read_waiting(NOT_READY), read_waiting(ENDPOINTS), read_waiting(ID))
    assert waits.line > own + 1
    assert 3 <= waits.count <= len(after)
    assert waits.text in (after[-1], ENDPOINTS, NOT_READY)


def test_two_lines_of_one_wait_are_one() -> None:
    found = find_waits([NOT_READY, ENDPOINTS] * 4)
    assert found == Waits(Waiting(Awaited.SERVERS, "10.20.1.40:6070, 10.20.1.40:6071"), 5, 1, ENDPOINTS)
    assert find_waits([NOT_READY, ENDPOINTS]) is None


def test_the_third_line_of_a_wait_is_shown_and_the_others_are_folded() -> None:
    folding = Folding()
    shown = [*folding.feed([CHATTER, RETRY, RETRY]), *folding.feed([RETRY, RETRY, RETRY, "epoch 1"]), *folding.end()]
    assert shown == [RETRY, "epoch 1"]
    assert folding.folded["library"] == 5
    other = RETRY.replace("9.17", "9.18")
    assert folding.feed([other] * 4) == [other]


@pytest.mark.parametrize("awaited", Awaited)
def test_each_wait_has_a_sentence_with_and_without_the_rank_that_serves_it(awaited: Awaited) -> None:
    alone = render(explain_waiting(Waiting(awaited, "10.0.0.1:1")))
    named = render(explain_waiting(Waiting(awaited, "10.0.0.1:1"), "worker-1"))
    assert alone.startswith("waits for ") and named.startswith("waits for ") and "worker-1" in named
