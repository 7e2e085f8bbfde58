"""How the processes of a rank are started: Kubeflow's `nprocPerNode` and `elasticPolicy`. Frozen values.

A rank is a pod. A launcher in it (torchrun) may start several processes, and may agree with the launchers of other pods
on how many of them take part. `model.Job.launch` has what the manifest says of it; the framework turns it into the
launcher's variables (`frameworks.pytorch`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Elastic:
    """`elasticPolicy` (training-operator v1.9). `least` and `most`: pods, with its defaults. None, empty and False: not
    said. `conf`: key and value, in the order of the manifest. `metrics`: those of the HorizontalPodAutoscaler, in the
    shape of autoscaling/v2; None for no autoscaler. `launched`: a launcher starts the processes, as far as the commands
    show; without one nobody agrees on anything."""

    least: int
    most: int
    backend: str = ""
    host: str = ""
    port: int | None = None
    id: str = ""
    conf: tuple[tuple[str, str], ...] = ()
    standalone: bool = False
    processes: int | None = None
    max_restarts: int | None = None
    metrics: tuple[Mapping[str, Any], ...] | None = None
    launched: bool = True


@dataclass(frozen=True, slots=True)
class Launch:
    """`processes`: nprocPerNode as torchrun reads it: `auto`, `cpu`, `gpu` or a number; empty where it is not said.
    `etcd`: PaddlePaddle's launchers meet at an etcd of the user's own; with `survives_losses` they go on without one of
    them (`reading.etcd`)."""

    processes: str = ""
    elastic: Elastic | None = None
    etcd: bool = False
    survives_losses: bool = False

    @property
    def number(self) -> int | None:
        """`processes` where it is a number; one of more than nine digits is none."""
        return int(self.processes) if _NUMBER.fullmatch(self.processes) else None


NO_LAUNCH = Launch()
