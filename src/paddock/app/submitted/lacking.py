"""The devices that `paddock run` leaves out on the local cluster: those that no node has, if the job fits without."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.kube.meta import Manifest
from paddock.kube.times import Moment
from paddock.submission.devices import find_lacking, without_devices
from paddock.submission.documents import Checked


def plan_lacking(each: Checked, nodes: Sequence[Manifest], now: Moment) -> tuple[str, ...]:
    """None of a job that would not fit without them either: it keeps its requests, so that its cause has all reasons.
    Claims count as bound: a job that waits for one would wait for the device after it. Pure."""
    assert each.job is not None
    lacking = tuple(find_lacking([each.job], nodes))
    if not lacking:
        return ()
    # late: the scheduler, which a job that asks for no device needs none of
    from paddock.app.why_not import plan_why_not, without_claims

    fewer = without_devices(each, lacking).job
    assert fewer is not None
    waits = plan_why_not(without_claims(fewer, None), [], list(nodes), [], now)
    return lacking if waits is None else ()
