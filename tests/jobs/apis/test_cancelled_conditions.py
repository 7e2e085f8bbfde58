"""A job that is cancelled while it is suspended has not gone on, in the conditions of either API group."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.gangs import NOW, build_job, build_status, build_torch_job
from paddock.jobs import causes
from paddock.jobs.apis import JobApi
from paddock.jobs.apis.registry import KUBEFLOW_PYTORCH, PADDLEPADDLE
from paddock.jobs.model import Phase
from paddock.kube.patches import merge_patch

META = {"metadata": {"name": "demo", "namespace": "team"}, "spec": {}}


@pytest.mark.parametrize("api", [KUBEFLOW_PYTORCH, PADDLEPADDLE], ids=["kubeflow", "paddlepaddle"])
def test_it_does_not_say_that_it_goes_on(api: JobApi) -> None:
    job = build_torch_job(masters=0) if api is KUBEFLOW_PYTORCH else build_job()
    raw: dict[str, Any] = {}
    for phase, cause in ((Phase.SUSPENDED, causes.Suspended()), (Phase.FAILED, causes.Cancelled("ada"))):
        finished = NOW if phase.terminal else None
        status = build_status(job, phase, cause=cause.record(NOW), finished=finished, started=None)
        raw = merge_patch(raw, api.write_status(raw, status, NOW, META))
    (suspended,) = (each for each in raw["conditions"] if each["type"] == "Suspended")
    assert suspended["status"] == "False"
    assert "goes on" not in suspended["message"]
    assert "resumed" not in suspended["message"]
