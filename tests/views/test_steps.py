"""What is said of a cause beside its sentence cannot be forgotten: the report of `paddock run` and the next command."""

from __future__ import annotations

import pytest

from jobs.gangs import NOW
from jobs.test_causes import example
from paddock.jobs.causes import CAUSES, WaitingForContainers
from paddock.jobs.sentences.cause_phrases import CAUSE_ROWS, Report
from paddock.views.steps import Reach, build_steps

NOTHING_TO_TYPE = {
    # Somebody else's move: an administrator's, another owner's, or a command that stands in the sentence.
    "ObjectInTheWay", "ObjectsRefused", "ObjectsNotCreated", "DatasetsUnserved",
    "SchedulerSilent", "ClockUnsure",
    # It goes on by itself.
    "WaitingForOldPods", "WaitingForPods", "WaitingForAddresses", "WaitingForConfigMap",
    "Resized", "GangShrunk", "GangGrown", "NodesNotAvoided", "PortsDiffer", "AddressesChanged", "Resumed",
    "PodsAdopted",
    # It is over.
    "Deleting", "DeadlineExceeded", "Cancelled",
    # By the environment or the image that its message names.
    "EnvironmentFailed", "ImageUnavailable",
}  # fmt: skip


@pytest.mark.parametrize("reason", CAUSES)
def test_each_cause_has_a_next_command_or_is_known_to_have_none(reason: str) -> None:
    steps = build_steps(example(CAUSES[reason]).record(NOW), "demo", "default")
    assert bool(steps) is (reason not in NOTHING_TO_TYPE)


def test_of_a_container_that_is_waited_for_its_own_log_is_read() -> None:
    record = WaitingForContainers(("metrics",), ("worker-1", "worker-2"), 30, 2).record(NOW)
    [step] = build_steps(record, "demo", "team")
    assert Reach().write(step) == "paddock logs demo -n team --role worker --rank 1 --container metrics"


def test_a_cause_that_only_the_user_can_resolve_is_reported_with_a_command() -> None:
    told = {"message": 'environment team: no wheel; image "x" stands for no environment'}
    for reason, row in CAUSE_ROWS.items():
        if row.report is Report.STEPS:
            record = example(CAUSES[reason]).record(NOW)
            steps = build_steps(type(record)(reason, {**record.args, **told}, NOW), "demo", "default")
            assert steps, reason
