"""Finds training jobs embedded in other objects: a step of a workflow, a template of a tuner, the text of a ConfigMap.

A job is recognised by its apiVersion and kind together, as a mapping or as text. The problem for the user is built in
`preflight.inside`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from typing import Any, NamedTuple

_TRAINING = (
    ("batch.paddlepaddle.org/", {"PaddleJob"}),
    ("kubeflow.org/", {"PaddleJob", "PyTorchJob", "TFJob", "MPIJob", "MXJob", "XGBoostJob", "JAXJob"}),
    ("trainer.kubeflow.org/", {"TrainJob"}),
    ("batch.volcano.sh/", {"Job"}),
    ("ray.io/", {"RayJob"}),
    ("paddlepaddle.org/", {"TrainingJob"}),
    ("jobset.x-k8s.io/", {"JobSet"}),
)
"""Prefix of apiVersion, and kinds."""

_VERSION = re.compile(r"""["']?\bapiVersion["']?\s*:\s*["']?([\w./-]+)""")
_KIND = re.compile(r"""["']?\bkind["']?\s*:\s*["']?(\w+)""")


class Inside(NamedTuple):
    """One embedded job."""

    kind: str
    api_version: str
    path: str  # of the field that contains it
    line: int  # its first line, from 1
    is_text: bool = False  # the field is text


def is_training(api_version: Any, kind: Any) -> bool:
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    return any(api_version.startswith(group) and kind in kinds for group, kinds in _TRAINING)


def find_in_text(text: str) -> Iterator[tuple[str, str, int]]:
    """For each job in `text` its apiVersion, its kind, and the position of the first of the two."""
    versions = list(_VERSION.finditer(text))
    starts = [each.start() for each in versions]
    for match in _KIND.finditer(text):
        # kubectl writes apiVersion directly before kind, users also after it
        behind = bisect(starts, match.start())
        around = versions[max(behind - 1, 0) : behind + 1]
        near = min(around, key=lambda each: abs(each.start() - match.start()), default=None)
        if near is not None and is_training(near[1], match[1]):
            yield near[1], match[1], min(near.start(), match.start())


def is_copy(path: str) -> bool:
    """Whether `path` is in an annotation, such as `last-applied-configuration` of `kubectl apply`: not another job."""
    return ".annotations" in path
