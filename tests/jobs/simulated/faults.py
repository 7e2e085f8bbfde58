"""What others do to a job, and how its cluster is, beyond crashes, lag and lost nodes: each fault with its sentences.

A world has some of these faults (`World.faults`): actions of `world.ACTIONS`, and how its kubelets and nodes are. What
must hold all the same is in `sentences`; a sentence that lag alone can break before a fault is withstood is judged in
worlds with that fault (`CLEARED`, `KEPT`, `FORMER`, `GROUPS`).
"""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    CLEARED = "somebody deletes pods that have ended: the garbage collector of pods, an autoscaler, a cron job"
    DROPPED = "another operator writes the status without the keys that its types do not have"
    REOPENED = "somebody writes the phase Running"
    EMPTIED = "somebody writes an empty status"
    KEPT = "a kubelet keeps an immutable ConfigMap that it has read, while a pod on its node refers to that name"
    FORMER = "a job follows one of its name that had other roles, and whose pods are still there"
    LOST = "the nodes of pods that should go are lost for good, and the job goes on"
    LOST_DELETED = "the same, of a job that is deleted in the foreground"
    GROUPS = "the PodGroup of the job's name is a former job's, or that of a living job of another kind"
    ORPHANED = "a former job was deleted without what it owned, so its PodGroup has no owner"
    DEAF = "a watch dies and nobody says so, until its client takes the silence for the end"


NOT_YET: frozenset[Fault] = frozenset()
"""Faults that the operator does not withstand yet. They are left out of all worlds, and
`test_simulation.test_a_fault_that_is_not_withstood_yet_is_found` holds that each breaks a sentence."""

EXCEPTED = frozenset({Fault.EMPTIED})
"""Faults after which nothing is left to go by. `tools/simulate.py --fault EMPTIED` tells what follows."""

FAULTS = frozenset(Fault) - NOT_YET - EXCEPTED
"""The faults of a world, unless it is told others."""

DEAF_SECONDS = 150.0
"""How long a client hears nothing until it takes a watch for dead: `client.client`."""
