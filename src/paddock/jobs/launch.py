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
    """`elasticPolicy` (training-operator v1.9), with its defaults. None, empty and False: not said."""

    least: int  # pods
    most: int  # pods
    backend: str = ""
    host: str = ""
    port: int | None = None
    id: str = ""
    conf: tuple[tuple[str, str], ...] = ()  # key and value, in the order of the manifest
    standalone: bool = False
    processes: int | None = None
    max_restarts: int | None = None
    metrics: tuple[Mapping[str, Any], ...] | None = None  # autoscaling/v2 of its autoscaler; None for none
    launched: bool = True
    """A launcher starts the processes, as far as the commands show; without one nobody agrees on anything."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How the processes of a job are started, as far as the manifest says."""

    processes: str = ""  # nprocPerNode as torchrun reads it: `auto`, `cpu`, `gpu`, a number; empty: not said
    elastic: Elastic | None = None
    etcd: bool = False  # PaddlePaddle's launchers meet at an etcd of the user's own (`jobs.etcd`)
    survives_losses: bool = False  # they go on without one of them
    in_place: bool = False  # torchrun starts failed processes again within their pods (`--max-restarts`)

    @property
    def number(self) -> int | None:
        """`processes` where it is a number; one of more than nine digits is none."""
        return int(self.processes) if _NUMBER.fullmatch(self.processes) else None


NO_LAUNCH = Launch()
