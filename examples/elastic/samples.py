"""Which samples a rank trains on next: the same order of samples, however many ranks share them.

The position in the data is the number of samples that are trained, counted over all ranks and all epochs. A step takes
the next `BATCH` of them, and each rank each `world`-th of these. So a gang of another size goes on behind the last
sample of the checkpoint, and no sample is left out or taken twice.
"""

import random
from collections.abc import Iterator

SIZE = 4096
"""Samples in an epoch."""
BATCH = 48
"""Samples of a step, over all ranks; 1, 2, 3 and 4 ranks have equal parts."""


def take_part(position: int, rank: int, world: int) -> list[int]:
    """The places in the order, counted over all epochs, that this rank trains on in the step at `position`."""
    return list(range(position, position + BATCH))[rank::world]


class Order:
    """Place -> sample: each epoch has an order of its own, which follows from its number."""

    def __init__(self) -> None:
        self.epoch, self.order = -1, list[int]()

    def look_up(self, places: list[int]) -> Iterator[int]:
        for place in places:
            epoch, index = divmod(place, SIZE)
            if epoch != self.epoch:
                self.epoch, self.order = epoch, random.Random(epoch).sample(range(SIZE), SIZE)  # noqa: S311
            yield self.order[index]
