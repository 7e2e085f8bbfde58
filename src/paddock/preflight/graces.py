"""Warns of a grace that the program never hears of: a shell is the first process of its container, and stays.

Told only where the manifest writes `terminationGracePeriodSeconds`, so that somebody counts on the time, and no
`preStop` says it to the program in another way. On a laptop the program is told when the shell is gone
(`node.runtime.runs`), so what works there is cut on a cluster.
"""

from __future__ import annotations

from paddock.launches.staying_shells import find_shielded
from paddock.manifests.parts import Container, Part, mapping
from paddock.words.phrases import Phrase, phrase


def explain_grace(part: Part, container: Container) -> Phrase | None:
    """`container`: the one that trains in `part`."""
    grace = part.spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or grace <= 0 or mapping(container.value.get("lifecycle")).get("preStop"):
        return None
    launch = find_shielded(container.value)
    if launch is None:
        return None
    return phrase(
        "a shell stays in front of {program}: on a cluster the program never hears of SIGTERM, cannot save, and is "
        "killed after the {seconds} s of terminationGracePeriodSeconds; start it by exec, with nothing behind it, or "
        "tell it by lifecycle.preStop",
        program=launch.command.words[0].typed, seconds=grace,
    )  # fmt: skip
