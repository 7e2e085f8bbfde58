"""What is done to a gang, in which order: from a seed, so that a failure can be seen again. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MOST = 4
"""Ranks that the job asks for, and that have room at first."""


class Blow(StrEnum):
    KILL = "a rank is killed by signal 9"
    DELETE = "the pod of a rank is deleted"
    LOSE = "nodes are lost with their pods"
    RETURN = "nodes come back"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """`room`: for how many ranks there is room afterwards. `rank`: the one that is struck, of as many as there are."""

    blow: Blow
    room: int
    rank: int = 0


BEGINNING = (
    Disturbance(Blow.LOSE, 1),
    Disturbance(Blow.RETURN, MOST),
    Disturbance(Blow.KILL, MOST, 1),
)
"""Comes first, whatever the seed: the least and the most ranks, and a restart that counts."""


def build_schedule(seed: int, kills: int) -> Iterator[Disturbance]:
    """Without end. `kills`: how many restarts the job is allowed."""
    yield from BEGINNING
    dice, room, left = random.Random(seed), MOST, kills - 1
    while True:
        blows = [Blow.DELETE, Blow.LOSE if room > 1 else Blow.RETURN, Blow.RETURN if room < MOST else Blow.LOSE]
        blow = dice.choice([*blows, *([Blow.KILL] if left else [])])
        if blow is Blow.LOSE:
            room = dice.randrange(1, room)
        elif blow is Blow.RETURN:
            room = dice.randrange(room + 1, MOST + 1)
        left -= blow is Blow.KILL
        yield Disturbance(blow, room, dice.randrange(room))
