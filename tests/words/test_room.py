"""What a scheduler's message says of room, as a person reads it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paddock.words.room import explain_gang, explain_lack, read_amount, read_lack

KUBE = "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No "
GANG = 'waiting for the gang "x": 4 pods are needed at once, 2 fit: '


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 32, 0 of 0 free).",
         "asks for 32 GPUs; this cluster has none; it can never start here as it is"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 64, 1 of 2 free).",
         "asks for 64 CPUs; this cluster has 2 CPUs; it can never start here as it is"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 1500m of 2 free).", "needs 2 CPUs; free: 1.5 CPUs"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 1 of 2 free). Held by big1, big2.",
         "needs 2 CPUs; free: 1 CPU; held by big1 and big2"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 0 of 2 free). Held by team/big.v1",
         "needs 2 CPUs; free: 0 CPUs; held by team/big.v1"),
        ("0/2 nodes are available: 2 Insufficient cpu (on n1: needs 4, 1 of 2 free).", "needs 4 CPUs; free: 1 CPU"),
        (GANG + "0/1 nodes are available: 1 Insufficient memory (needs 4.0 GiB, 1.0 GiB of 8.0 GiB free).",
         "4 pods that start together need 4.0 GiB; free: 1.0 GiB"),
        (GANG + "0/1 nodes are available: 1 Insufficient cpu (needs 8, 1 of 9 free), 1 Insufficient memory (needs "
         "4.0 GiB, 1.0 GiB of 3.0 GiB free).",
         "4 pods that start together need 4.0 GiB; this cluster has 3.0 GiB; it can never start here as it is"),
        (KUBE + "preemption victims found for incoming pod.", "no node has enough CPUs and memory free"),
        ("0/1 nodes are available: 1 Insufficient example.com/npu.", "no node has enough example.com/npu free"),
    ],
)  # fmt: skip
def test_what_is_lacking(message: str, said: str) -> None:
    lack = read_lack(message)
    assert lack is not None and str(explain_lack(lack)) == said


@pytest.mark.parametrize(
    "message",
    [
        "",
        "no nodes available to schedule pods",
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
        "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 Insufficient cpu.",
        'waiting for the gang "x": 4 pods are needed at once, 2 exist',
        'persistentvolumeclaim "data" not found; 0/1 nodes: 1 Insufficient cpu (needs 4, 0 of 0 free)',
        "0/1 nodes are available: 1 Insufficient cpu (needs 2, 1 of 2 free), and more",
    ],
)
def test_another_reason_is_left_as_it_is(message: str) -> None:
    assert read_lack(message) is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
         "3 pods start together, and there is room for 0"),
        ("pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable",
         "2 pods start together, and not all of them have room yet"),
        ("resource gap: map[cpu:{{3000 -3} {<nil>} DecimalSI}]. no new claims to deallocate",
         "3 CPUs more would have to be free"),
        ("resource gap: map[cpu:{{500 -3} {<nil>} DecimalSI} nvidia.com/gpu:{{2 0} {<nil>}  DecimalSI}]",
         "0.5 CPUs and 2 GPUs more would have to be free"),
        ("resource gap: map[]", "None"),
        ("resource in cluster is overused", "None"),
    ],
)  # fmt: skip
def test_what_schedulers_say_of_a_gang(message: str, said: str) -> None:
    assert str(explain_gang(message)) == said


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2", Fraction(2)), ("500m", Fraction(1, 2)), ("1.5 GiB", Fraction(3 * 2**29)), ("12 B", Fraction(12)),
        ("", None), ("x", None), ("1 XB", None), ("nan GiB", None),
    ],
)  # fmt: skip
def test_amounts_of_messages(text: str, amount: Fraction | None) -> None:
    assert read_amount(text) == amount
