"""What a scheduler's message says of room, as a person reads it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paddock.words.phrases import render
from paddock.words.room import explain_gang, explain_room, read_amount

KUBE = "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No "
GANG = 'waiting for the gang "x": 4 pods are needed at once, 2 fit: '


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('held back for the gang "default/hog", which has waited longer and lacks cpu',
         "waits behind hog, which has waited longer and lacks CPUs"),
        ('held back for the pod "team/hog-worker-0", which has waited longer and lacks cpu, nvidia.com/gpu',
         "waits behind hog-worker-0 (team), which has waited longer and lacks CPUs and GPUs"),
        ('held back for the gang "default/hog", which has waited longer and lacks cpu (300m cpu is free and kept)',
         "waits behind hog, which has waited longer and lacks CPUs; 0.3 CPUs free, kept for hog"),
        ('held back for the pod "team/hog", which has waited longer and lacks memory (1.5 GiB memory is free and kept)',
         "waits behind hog (team), which has waited longer and lacks memory; 1.5 GiB free, kept for hog (team)"),
        ('comes after the gang "default/big", which lacks example.com/npu',
         "waits behind big, which lacks example.com/npu"),
    ],
)  # fmt: skip
def test_whom_a_pod_waits_behind(message: str, said: str) -> None:
    found = explain_room(message)
    assert found is not None and str(found) == said
    assert "waits" not in render(found, "zh")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 32, 0 of 0 free).",
         "asks for 32 GPUs; this cluster has none, so it cannot start here"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 64, 1 of 2 free).",
         "asks for 64 CPUs; this cluster has 2, so it cannot start here"),
        ("0/2 nodes are available: 2 Insufficient cpu (needs 64, 1 of 2 free).",
         "asks for 64 CPUs on one node; the largest has 2, so it cannot start here"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 1500m of 2 free).", "needs 2 CPUs; 1.5 is free"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 1 of 2 free). Held by big1, big2.",
         "needs 2 CPUs; 1 is free; big1 holds room and big2 holds room"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 2, 0 of 2 free). Held by team/big.v1",
         "needs 2 CPUs; none is free; big.v1 (team) holds room"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 1800m, 1 of 2 free). Held by team-vision/hog (1).",
         "needs 1.8 CPUs; 1 is free; hog (team-vision) holds 1"),
        ("0/1 nodes are available: 1 Insufficient cpu (needs 8, 3 of 16 free). Held by a (4), b (4), t/c (500m) and 2 "
         "more.", "needs 8 CPUs; 3 are free; a holds 4, b holds 4, c (t) holds 0.5 and 2 more"),
        ("0/1 nodes are available: 1 Too many pods (needs 1, 0 of 110 free). Held by a (110).",
         "the nodes have as many pods as they take, 110; a holds 110"),
        ("0/2 nodes are available: 2 Insufficient cpu (on n1: needs 4, 1 of 2 free).", "needs 4 CPUs; 1 is free"),
        (GANG + "0/1 nodes are available: 1 Insufficient memory (needs 4.0 GiB, 1.0 GiB of 8.0 GiB free).",
         "needs 4.0 GiB in 4 pods; 1.0 GiB is free"),
        (GANG + "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4 x 8, 0 of 0 free).",
         "asks for 32 GPUs (4 × 8); this cluster has none, so it cannot start here"),
        (GANG + "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4 x 8, 0 of 16 free).",
         "asks for 32 GPUs (4 × 8); this cluster has 16, so it cannot start here"),
        (GANG + "0/1 nodes are available: 1 Insufficient cpu (needs 4 x 450m, 1 of 2 free). Held by team-vision/hog "
         "(1).", "needs 1.8 CPUs (4 × 0.45); 1 is free; hog (team-vision) holds 1"),
        (GANG + "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4 x 1/4, 1/2 of 1 free).",
         "needs 1 GPU (4 × 1/4); 1/2 is free"),
        (GANG + "0/1 nodes are available: 1 Insufficient cpu (needs 8, 1 of 9 free), 1 Insufficient memory (needs "
         "4.0 GiB, 1.0 GiB of 3.0 GiB free).",
         "asks for 4.0 GiB in 4 pods; this cluster has 3.0 GiB, so it cannot start here"),
        (KUBE + "preemption victims found for incoming pod.", "no node has enough CPUs and memory free"),
        ("0/1 nodes are available: 1 Insufficient example.com/npu.", "no node has enough example.com/npu free"),
    ],
)  # fmt: skip
def test_what_is_lacking(message: str, said: str) -> None:
    found = explain_room(message)
    assert found is not None and str(found) == said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("no nodes available to schedule pods", "this cluster has no node that takes pods"),
        ("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
         "none of the 2 nodes takes it: 1 has not enough CPUs free and 1 is cordoned"),
        ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 4, 0 of 0 free), 1 node(s) didn't match Pod's "
         "node affinity/selector (gpu=p100; node has none).",
         "the one node does not take it: 1 has not enough GPUs free (needs 4; none is free) and 1 has not the label "
         "gpu=p100"),
        ("0/1 nodes are available: 1 node(s) were unschedulable (kubectl uncordon a).",
         "the one node does not take it: 1 is cordoned"),
        ("0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu.",
         "none of the 3 nodes takes it: 1 keeps it away by the taint a: b and 2 have not enough CPUs free"),
        ("0/2 nodes are available: 1 node(s) had untolerated taint {a: }, 1 node(s) were not ready. preemption: 0/2 "
         "nodes are available: 2 Preemption is not helpful for scheduling.",
         "none of the 2 nodes takes it: 1 keeps it away by the taint a and 1 is not ready"),
        ("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector (gpu=a100; node has none).",
         "none of the 2 nodes takes it: 2 have not the label gpu=a100"),
        ("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
         "the one node does not take it: 1 has not the labels that it asks for"),
        (GANG + "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports (port 80 is "
         "held by PaddleJob team/x).", "the one node does not take it: on 1 port 80 is held by PaddleJob team/x"),
    ],
)  # fmt: skip
def test_what_keeps_it_from_each_node(message: str, said: str) -> None:
    found = explain_room(message)
    assert found is not None and str(found) == said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_words_of_a_scheduler_are_left_where_all_reasons_are_known(language: str) -> None:
    found = explain_room(KUBE + "preemption victims found for incoming pod.")
    assert found is not None
    assert not any(word in render(found, language) for word in ("Insufficient", "nodes are available", "node(s)"))


@pytest.mark.parametrize(
    "message",
    [
        "",
        "0/3 nodes are available: 3 node(s) had volume node affinity conflict.",
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had volume node affinity conflict.",
        'waiting for the gang "x": 4 pods are needed at once, 2 exist',
        'persistentvolumeclaim "data" not found; 0/1 nodes: 1 Insufficient cpu (needs 4, 0 of 0 free)',
        "0/1 nodes are available: 1 Insufficient cpu (needs 2, 1 of 2 free), and more",
    ],
)
def test_another_reason_is_left_as_it_is(message: str) -> None:
    assert explain_room(message) is None


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
