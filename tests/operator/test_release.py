"""Only paddle-operator's finalizer is removed."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.operator.release import plan_release

GO = "finalizers.paddlepaddle.org"


@pytest.mark.parametrize(
    ("there", "kept"),
    [([GO], None), (["a", GO, "b"], ["a", "b"]), ([GO, "foregroundDeletion"], ["foregroundDeletion"])],
)
def test_only_this_finalizer_is_removed_guarded_by_the_resource_version(
    there: list[str], kept: list[str] | None
) -> None:
    patch = plan_release({"metadata": {"finalizers": there, "resourceVersion": "7"}})
    assert patch == {"metadata": {"resourceVersion": "7", "finalizers": kept}}


@pytest.mark.parametrize("there", [None, [], ["foregroundDeletion"], "text", 3])
def test_a_job_without_it_is_left_alone(there: Any) -> None:
    assert plan_release({"metadata": {"finalizers": there}}) is None
