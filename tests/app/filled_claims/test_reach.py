"""Which storage is asked for, and which jobs could not mount it: what is surely wrong is refused, what is not known is
said."""

from __future__ import annotations

import pytest

from cli.views import build_job
from paddock.app.filled_claims.reach import (
    StorageClass,
    choose_modes,
    count_nodes,
    count_ranks,
    explain_class,
    is_on_one_node,
    judge_modes,
    read_class,
)

LOCAL = StorageClass("local-path", "rancher.io/local-path", True)
SHARED = StorageClass("nfs", "nfs.example", False)
OTHER = StorageClass("fast", "unknown.example", True)


@pytest.mark.parametrize(
    ("classes", "wanted", "said"),
    [
        (None, None, ""),
        (None, "nsf", ""),
        ([], None, ""),
        ([], "nfs", ""),
        ([LOCAL, SHARED], None, ""),
        ([LOCAL, SHARED], "nfs", ""),
        ([SHARED], "", ""),
        ([SHARED], None, "the cluster has no default StorageClass: name one of its classes, nfs, with --storage-class"),
        ([SHARED], "nsf", '--storage-class: there is no StorageClass "nsf"; did you mean "nfs"?'),
        ([LOCAL, SHARED], "zzz", '--storage-class: there is no StorageClass "zzz"; there are local-path and nfs'),
    ],
)
def test_a_class_that_is_surely_not_there_is_refused(
    classes: list[StorageClass] | None, wanted: str | None, said: str
) -> None:
    assert str(explain_class(classes, wanted) or "") == said


@pytest.mark.parametrize(
    ("classes", "wanted", "ranks", "modes"),
    [
        (None, None, 1, "ReadWriteOnce"),
        (None, None, 2, "ReadWriteMany"),
        ([LOCAL, SHARED], None, 2, "ReadWriteOnce"),
        ([LOCAL, SHARED], "nfs", 2, "ReadWriteMany"),
        ([LOCAL, SHARED], "nfs", 1, "ReadWriteOnce"),
        ([OTHER], None, 2, "ReadWriteMany"),
    ],
)
def test_a_claim_is_asked_for_as_its_class_gives_it_else_as_the_job_needs_it(
    classes: list[StorageClass] | None, wanted: str | None, ranks: int, modes: str
) -> None:
    assert choose_modes(classes, wanted, ranks) == (modes,)


@pytest.mark.parametrize(
    ("modes", "ranks", "nodes", "together", "refused", "told"),
    [
        (("ReadWriteMany",), 8, 100, False, "", ""),
        (("ReadOnlyMany",), 8, None, False, "", ""),
        ((), 8, 100, False, "", ""),
        (("ReadWriteOnce",), 1, 100, False, "", ""),
        (("ReadWriteOnce",), 8, 1, False, "", ""),
        (("ReadWriteOnce",), 8, 100, True, "", ""),
        (("ReadWriteOnce", "ReadWriteMany"), 8, 100, False, "", ""),
        (("ReadWriteOnce",), 8, 100, False, "the 8 ranks of the job may be placed on several nodes", ""),
        (("ReadWriteOnce",), 8, None, False, "", "you may not list nodes: if the 8 ranks"),
        (("ReadWriteOncePod",), 2, 1, False, "only one pod at a time may have the claim env-1", ""),
        (("ReadWriteOncePod",), 1, 9, False, "", ""),
    ],
)
def test_ranks_that_could_not_mount_a_claim_are_told_before_they_wait_for_ever(
    modes: tuple[str, ...], ranks: int, nodes: int | None, together: bool, refused: str, told: str
) -> None:
    judged = judge_modes("env-1", modes, ranks, nodes, together=together, undo="paddock env rm env-1")
    for said, expected in ((judged.refused, refused), (judged.told, told)):
        assert (expected in str(said)) if expected else said is None, judged


def test_ranks_are_on_one_node_where_the_manifest_says_so() -> None:
    job = build_job(ps=1, workers=2)
    assert count_ranks(job) == 3 and not is_on_one_node(job)
    for role in job.roles:
        role.template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "a"}  # type: ignore[index]
    assert is_on_one_node(job)


def test_what_is_read_of_a_cluster() -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    made = {"metadata": {"name": "a", "annotations": default}, "provisioner": "p"}
    assert read_class(made) == StorageClass("a", "p", True)
    assert not read_class({"metadata": {"name": "a"}}).is_default
    assert count_nodes([{"spec": {"unschedulable": True}}, {"spec": {}}, {}]) == 2
