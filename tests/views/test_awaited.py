"""A sentence begins with the object that pods wait for, and in a table it has whole clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.jobs.model import CauseRecord
from paddock.jobs.sentences.explain import explain
from paddock.views.short_sentences import MOST_COLUMNS, drop_introductions, explain_start, shorten

LOCAL = "0/1 nodes are available: 2 {}."


def told(message: str, language: str = "en") -> str:
    return explain(CauseRecord("WaitingForScheduler", {"pods": 2, "wanted": 2, "message": message}, 0.0), language)


@pytest.mark.parametrize(
    ("message", "english", "chinese"),
    [
        (
            LOCAL.format('persistentvolumeclaim "nfs-pvc" not found (namespace r023 has none)'),
            "waiting for the claim nfs-pvc, which namespace r023 lacks",
            "正在等待存储卷声明 nfs-pvc，命名空间 r023 中没有它",
        ),
        (
            LOCAL.format('persistentvolumeclaim "nfs" not found (namespace a has b, c; one of this name is in d)'),
            "waiting for the claim nfs, which namespace a lacks; it has b, c; one of this name is in d",
            "正在等待存储卷声明 nfs，命名空间 a 中没有它；那里有 b, c；d 中有同名的",
        ),
        (
            '0/3 nodes are available: persistentvolumeclaim "nfs-pvc" not found. preemption: 0/3 nodes are available',
            "waiting for the claim nfs-pvc, which does not exist",
            "正在等待存储卷声明 nfs-pvc，它不存在",
        ),
        (
            'held back for the gang "default/hog", which has waited longer and lacks cpu',
            "waits behind hog, which has waited longer and lacks CPUs",
            "排在等待更久的 hog 之后，它缺少 CPU",
        ),
        (
            LOCAL.format('persistentvolumeclaim "data" is being deleted'),
            "waiting for the claim data, which is being deleted",
            "正在等待存储卷声明 data，它正在被删除",
        ),
        (
            LOCAL.format("pod has unbound immediate PersistentVolumeClaims (data: no volume (hostPath) fits)"),
            "waiting for the claim data to be bound: no volume (hostPath) fits",
            "正在等待存储卷声明 data 绑定：no volume (hostPath) fits",
        ),
        (
            LOCAL.format("pod has unbound immediate PersistentVolumeClaims (data, results)"),
            "waiting for one of the claims data and results to be bound",
            "正在等待存储卷声明 data 和 results 中的一个绑定",
        ),
        (
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: none",
            "waiting for a claim of its volumes to be bound",
            "正在等待存储卷声明绑定",
        ),
        (
            'waiting for the PodGroup "resnet", which does not exist yet',
            "waiting for the PodGroup resnet, which does not exist yet",
            "正在等待 PodGroup resnet，它尚不存在",
        ),
        (
            "0/1 nodes are available: 1 Insufficient cpu.",
            "waiting for room for 2 of 2 pods: no node has enough CPUs free",
            "2 个 Pod（共 2 个）正在等待资源：没有节点有足够的空闲 CPU",
        ),
    ],
)
def test_what_is_waited_for_comes_first(message: str, english: str, chinese: str) -> None:
    assert told(message) == english
    assert told(message, "zh") == chinese


NO_INDEX = "spec.requirements: no package index here has a package numpyy"
RAISED = "worker-0: KeyError: 'outer' (from ValueError: "
UNKNOWN_PACKAGE = f"worker-0 cannot start: environment nx, of requirements.txt: building failed: {NO_INDEX}"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("waiting: short", "waiting: short"),
        ("worker-0 failed (" + "a" * 90 + "); restarted", "worker-0 failed (" + "a" * 82 + "…"),
        ("a" * 40 + ", " + "b" * 40 + "; " + "c" * 40, "a" * 40 + ", " + "b" * 40 + "…"),
        ("word " * 30, "word " * 19 + "word…"),
        ("等待" * 15 + "；" + "原因" * 30, "等待" * 15 + "…"),
        ("worker-0 cannot start: " + "word " * 30, "worker-0 cannot start: " + "word " * 14 + "word…"),
        (f"failed: {RAISED}" + "x" * 60, "failed: worker-0: KeyError: 'outer'…"),
        (
            "failed: worker-0 has ended with code 1: step 2: ValueError: " + "bad " * 30,
            "failed: … step 2: ValueError: " + "bad " * 16 + "bad…",
        ),
        (UNKNOWN_PACKAGE, f"worker-0 cannot start: … {NO_INDEX}"),
        (
            f"worker-0 cannot start, as it seems: environment nx: it failed: {NO_INDEX} and " + "more " * 20,
            "worker-0 cannot start, as it seems: … no package index here has a package numpyy and more more more…",
        ),
    ],
    ids=[
        "all of it",
        "a word without an end",
        "at a clause",
        "at a word",
        "in Chinese",
        "not at a colon",
        "at the inner exception",
        "an exception keeps its name",
        "not before the object",
        "60 columns of the last clause",
    ],
)
def test_a_sentence_in_a_table_has_whole_clauses(sentence: str, expected: str) -> None:
    assert shorten(sentence) == expected.rstrip()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            'waiting for room for 2 of 2 pods: waiting for the gang "big": 2 pods are needed at once, 0 fit: '
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu (needs 2, 0 of 0 free)",
            "waiting for room for 2 of 2 pods: … 1 Insufficient nvidia.com/gpu (needs 2, 0 of 0 free)",
        ),
        (
            "2 个 Pod（共 2 个）正在等待资源：2 个 Pod 须同时放下，现能放下 0 个：1 个节点中没有可用的："
            "1 个节点的 nvidia.com/gpu 不足（需要 2，可用 0）",
            "2 个 Pod（共 2 个）正在等待资源：… 1 个节点的 nvidia.com/gpu 不足（需要 2，可用 0）",
        ),
        ("waiting for room: 1 Insufficient cpu", "waiting for room: 1 Insufficient cpu"),
    ],
    ids=["English", "Chinese", "short"],
)
def test_the_introductions_of_a_scheduler_give_way_to_its_reason(sentence: str, expected: str) -> None:
    assert drop_introductions(sentence) == expected


@given(st.text())
def test_no_sentence_is_wider_than_the_table(sentence: str) -> None:
    assert len(shorten(sentence)) <= max(MOST_COLUMNS, 1)


def test_why_an_attempt_began_does_not_say_that_it_will_begin() -> None:
    cause = CauseRecord("RankRestarted", {"restart": 2, "limit": 3, "delay": 20, "ranks": ["worker-1"], "code": 1}, 0.0)
    assert "in 20 s" in explain(cause)
    assert explain_start(cause) == "restart 2 of 3: worker-1 ended with exit code 1"
