"""Why the scheduler would not bind pods that do not exist yet: a dry run of `node.scheduler.placement`.

For the command line, which has a manifest. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paddock.kube.meta import Manifest, key_of
from paddock.kube.times import Moment
from paddock.node.scheduler.placement import Wait, plan_placement


def explain_placement(
    wanted: Sequence[Manifest],
    pods: Iterable[Manifest],
    nodes: Iterable[Manifest],
    groups: Iterable[Manifest],
    now: Moment,
    claims: Iterable[Manifest] = (),
) -> dict[str, str]:
    """Pod name -> the scheduler's sentence, for each pod of `wanted` that would wait. `pods`, `claims`: the existing
    ones."""
    names = {key_of(pod) for pod in wanted}
    others = [pod for pod in pods if key_of(pod) not in names]
    return {
        decision.name: decision.message
        for decision in plan_placement([*others, *wanted], nodes, groups, now, claims=claims)
        if isinstance(decision, Wait) and any(key_of(pod).name == decision.name for pod in wanted)
    }
