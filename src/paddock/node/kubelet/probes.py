"""The probes of a container as a state machine: when each is due, and what its answers mean for the run. Pure.

    read_probes(container, address) -> the probes
    find_due(probe, run, tally) -> when to ask next
    count(probe, tally, good, now) -> the tally, and the verdict where one is reached
    apply(probe, run, verdict, ...) -> the changed run

Source: kubelet's prober (worker.doProbe). Answers in a row count; a threshold that is reached is a verdict. A
startupProbe is asked until it has passed, and the others from then on. A readiness probe goes on while the container is
ended, the others do not. `node.kubelet.care` asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from paddock.kube.times import Moment
from paddock.node.kubelet.actions import Action, read_action
from paddock.node.runtime.pod_state import Run
from paddock.words.phrases import phrase

MOST_OUTPUT = 1024
"""Characters of an answer that an event shows; the kubelet's is 10 KiB, an event has 1 KiB."""


class Kind(StrEnum):
    """The value is the field of a container."""

    STARTUP = "startupProbe"
    READINESS = "readinessProbe"
    LIVENESS = "livenessProbe"

    @property
    def title(self) -> str:  # type: ignore[override]
        """As the events of a kubelet have it."""
        return self.value.removesuffix("Probe").capitalize()


@dataclass(frozen=True, slots=True)
class Probe:
    """Times in seconds; the defaults are core/v1's."""

    kind: Kind
    action: Action
    delay: float = 0.0
    period: float = 10.0
    timeout: float = 1.0
    successes: int = 1
    failures: int = 3
    grace: float | None = None
    """From SIGTERM to SIGKILL when it has failed; None: the pod's."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers to one probe of one run."""

    asked: Moment | None = None
    good: bool | None = None
    row: int = 0
    """How many answers like the last one came in a row."""


def read_probes(container: Mapping[str, Any], address: str) -> dict[Kind, Probe]:
    """The probes that are honoured: those of `grpc` are not. `address`: the pod's."""
    found = {}
    for kind in Kind:
        holder = container.get(kind.value)
        if isinstance(holder, Mapping) and (action := read_action(holder, container, address)) is not None:
            found[kind] = _read_probe(kind, action, holder)
    return found


def begin_run(run: Run, container: Mapping[str, Any]) -> Run:
    """A run as it starts: what its probes and its postStart hook have to say first."""
    kinds = read_probes(container, "")
    return replace(
        run,
        unhooked=bool((container.get("lifecycle") or {}).get("postStart")),
        unstarted=Kind.STARTUP in kinds,
        unready=Kind.READINESS in kinds,
    )


def find_due(probe: Probe, run: Run, tally: Tally) -> Moment | None:
    """When the probe is asked next. None: not before the run has changed."""
    if not run.running or run.unhooked:
        return None
    if run.unstarted != (probe.kind is Kind.STARTUP):
        return None
    if run.stopping is not None and probe.kind is not Kind.READINESS:
        return None
    first = run.started + probe.delay
    return first if tally.asked is None else max(first, tally.asked + probe.period)


def count(probe: Probe, tally: Tally, good: bool, now: Moment) -> tuple[Tally, bool | None]:
    """The tally with one more answer, and the verdict: True, False, or None while the threshold is not reached."""
    row = tally.row + 1 if tally.good is good else 1
    reached = row >= (probe.successes if good else probe.failures)
    return Tally(now, good, row), good if reached else None


def apply(probe: Probe, run: Run, verdict: bool, now: Moment, grace: float, why: str) -> Run:
    """The run after a verdict. `grace`: the pod's, in seconds; `why`: what the last answer was."""
    if probe.kind is Kind.READINESS:
        return replace(run, unready=not verdict)
    if verdict:
        return replace(run, unstarted=False) if probe.kind is Kind.STARTUP else run
    own = grace if probe.grace is None else probe.grace
    said = phrase("ended by the kubelet, as its {probe} failed: {why}", probe=probe.kind.value, why=why)
    if probe.failures > 1:
        said = phrase(
            "ended by the kubelet, as its {probe} failed {count} times in a row: {why}",
            count=probe.failures, probe=probe.kind.value, why=why,
        )  # fmt: skip
    return replace(run, stopping=now, stop_grace=own, message=str(said))


def _read_probe(kind: Kind, action: Action, holder: Mapping[str, Any]) -> Probe:
    grace = holder.get("terminationGracePeriodSeconds")
    return Probe(
        kind,
        action,
        delay=float(holder.get("initialDelaySeconds") or 0),
        period=float(holder.get("periodSeconds") or 10),
        timeout=float(holder.get("timeoutSeconds") or 1),
        successes=int(holder.get("successThreshold") or 1),
        failures=int(holder.get("failureThreshold") or 3),
        grace=None if grace is None or kind is Kind.READINESS else float(grace),
    )
