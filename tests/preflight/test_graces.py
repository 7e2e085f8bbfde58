"""A grace that the program never hears of, as a shell stays in front of it."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.manifests.documents import read_documents
from paddock.preflight import check, format_problem

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: saves}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          {grace}
          containers:
            - name: pytorch
              image: any
              command: [bash, -c, '{text}']
              {more}
"""
GRACE = "terminationGracePeriodSeconds: 120"


def warnings(text: str, grace: str = GRACE, more: str = "") -> list[str]:
    document = read_documents(JOB.format(grace=grace, text=text, more=more))[0]
    return [format_problem(each, "job.yaml") for each in check(document)]


def test_a_shell_with_more_to_do_is_warned_of_where_the_manifest_counts_on_a_grace() -> None:
    assert warnings("set -e; python train.py; echo done") == [
        "job.yaml:14:15: warning: spec.pytorchReplicaSpecs.Master.template.spec.containers[0].command: a shell stays "
        "in front of python: on a cluster the program never hears of SIGTERM, cannot save, and is killed after the 120 "
        "s of terminationGracePeriodSeconds; start it by exec, with nothing behind it, or tell it by lifecycle.preStop"
    ]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("python train.py", {}),
        ("exec python train.py", {}),
        ("python train.py; echo done", {"grace": ""}),
        ("python train.py; echo done", {"grace": "terminationGracePeriodSeconds: 0"}),
        ("python train.py; echo done", {"more": "lifecycle: {preStop: {exec: {command: [touch, /tmp/save]}}}"}),
    ],
)
def test_nothing_is_said_of_any_other(text: str, changes: dict[str, Any]) -> None:
    assert [each for each in warnings(text, **changes) if "SIGTERM" in each] == []
