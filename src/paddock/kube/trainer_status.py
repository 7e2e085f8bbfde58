"""What a program posts of its training, as Kubeflow Trainer defines it: the path, and the body. Pure.

Source: kubeflow/trainer, proposal 2779 (TrainJob progress), and its two clients, `KubeflowCallback` of transformers and
`update_trainjob_status` of Kubeflow's SDK. Both take an answer of 200 for success, and any other for nothing: they log
it, and the training goes on. A body of the wrong form is refused as Trainer refuses it, so that a program which works
on a laptop works there. But a metric that is no number (`nan`, a text) is left out: the rest of the report counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.kube.errors import FieldCause, Invalid

URL_VARIABLE = "KUBEFLOW_TRAINER_SERVER_URL"
CERTIFICATE_VARIABLE = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
"""The path of a file in PEM."""
TOKEN_VARIABLE = "KUBEFLOW_TRAINER_SERVER_TOKEN"  # noqa: S105 - a name
"""The path of a file, which clients read again every few minutes."""
DISABLING_VARIABLE = "DISABLE_KUBEFLOW_INTEGRATION"
"""`TRUE`, in any case: transformers reports nothing."""

_PATH = re.compile(
    r"/apis/trainer\.kubeflow\.org/v1alpha1/namespaces/(?P<namespace>[^/]+)/trainjobs/(?P<name>[^/]+)/status"
)
_MOST = 2**31 - 1
"""Both numbers are an int32 there."""


@dataclass(frozen=True, slots=True)
class TrainerStatus:
    """One report."""

    percent: int | None = None
    """0 to 100."""
    remaining: int | None = None
    """Seconds."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Those that are finite numbers."""


def build_path(namespace: str, name: str) -> str:
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


def read_path(path: str) -> tuple[str, str] | None:
    """Namespace and name of the job; None for any other path."""
    found = _PATH.fullmatch(path)
    return (found["namespace"], found["name"]) if found else None


def read_trainer_status(body: object) -> TrainerStatus | None:
    """The report of a body that was JSON; None where it has none, which Trainer accepts. Raises `Invalid`, with each
    wrong field."""
    if not isinstance(body, Mapping):
        raise _refuse([_wrong("the body", body, 'an object: {"trainerStatus": {"progressPercentage": 45}}')])
    status = body.get("trainerStatus")
    if status is None:
        return None
    if not isinstance(status, Mapping):
        raise _refuse([_wrong("trainerStatus", status, "an object")])
    problems: list[FieldCause] = []
    found = TrainerStatus(
        percent=_read_whole(status, "progressPercentage", 100, problems),
        remaining=_read_whole(status, "estimatedRemainingSeconds", _MOST, problems),
        metrics=_read_metrics(status.get("metrics"), problems),
    )
    if problems:
        raise _refuse(problems)
    return found


def write_trainer_status(status: TrainerStatus) -> dict[str, Any]:
    """The body of a report, as its clients send it."""
    numbers = {"progressPercentage": status.percent, "estimatedRemainingSeconds": status.remaining}
    metrics = [{"name": name, "value": str(value)} for name, value in status.metrics.items()]
    told = {name: number for name, number in numbers.items() if number is not None}
    return {"trainerStatus": told | ({"metrics": metrics} if metrics else {})}


def _read_whole(status: Mapping[str, Any], name: str, most: int, problems: list[FieldCause]) -> int | None:
    value = status.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        problems.append(_wrong(f"trainerStatus.{name}", value, f"a whole number from 0 to {most}"))
        return None
    return value


def _read_metrics(value: object, problems: list[FieldCause]) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, list):
        problems.append(_wrong("trainerStatus.metrics", value, 'a list: [{"name": "loss", "value": "0.32"}]'))
        return {}
    found = {}
    for index, each in enumerate(value):
        place = f"trainerStatus.metrics[{index}]"
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(each, Mapping) or not isinstance(name, str) or not name:
            problems.append(_wrong(place, each, 'an object with a name: {"name": "loss", "value": "0.32"}'))
        elif isinstance(each.get("value"), bool) or not isinstance(each.get("value"), str | int | float):
            problems.append(_wrong(f"{place}.value", each.get("value"), "a text or a number"))
        elif (number := _read_number(each["value"])) is not None:
            found[name] = number
    return found


def _read_number(value: str | float) -> float | None:
    """A finite number, also one that is written as a text; None for any other text."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _wrong(field: str, found: object, allowed: str) -> FieldCause:
    return FieldCause(field, f"found {found!r:.100}, allowed is {allowed}")


def _refuse(problems: list[FieldCause]) -> Invalid:
    shown = "; ".join(f"{each.field}: {each.message}" for each in problems[:5])
    return Invalid(f"the report of the training is not kept: {shown}", causes=problems[:5])
