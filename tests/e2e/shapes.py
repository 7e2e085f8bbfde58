"""Shapes of a job with parameter servers: which there are, and which of them stand for all.

    servers, workers, heter ranks   1 to 3 each, and no heter ranks
    withGloo                        0, 1 and 2
    intranet                        PodIP, Service and Host
    version                         of PaddlePaddle: both whose wheels have servers and are installed today

All 648 take two hours on two cores, so `make shapes` runs a cover of them: each pair of values stands in some row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations, product

VERSIONS = ("3.0.0", "2.6.2")


@dataclass(frozen=True, slots=True)
class Shape:
    servers: int
    workers: int
    heter: int
    gloo: int
    intranet: str
    version: str

    @property
    def name(self) -> str:
        return f"{self.servers}x{self.workers}x{self.heter}-gloo{self.gloo}-{self.intranet}-{self.version}"

    @property
    def pairs(self) -> frozenset[tuple[int, object, int, object]]:
        return frozenset(
            (one, left, other, right) for (one, left), (other, right) in combinations(enumerate(astuple(self)), 2)
        )


def build_all(heter: Iterable[int] = range(4), versions: Sequence[str] = VERSIONS) -> tuple[Shape, ...]:
    counts, intranets = (1, 2, 3), ("PodIP", "Service", "Host")
    return tuple(Shape(*row) for row in product(counts, counts, heter, range(3), intranets, versions))


def find_cover(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Rows in which each pair of values of `shapes` stands at least once: always the row with the most new pairs."""
    pairs = {shape: shape.pairs for shape in shapes}
    open_pairs = set[object]().union(*pairs.values())
    chosen = []
    while open_pairs:
        best = max(shapes, key=lambda each: len(pairs[each] & open_pairs))
        chosen.append(best)
        open_pairs -= pairs[best]
    return tuple(chosen)


USUAL = (
    Shape(2, 1, 0, 1, "PodIP", "3.0.0"),
    Shape(3, 1, 0, 0, "Service", "3.0.0"),
    Shape(1, 2, 0, 2, "Host", "3.0.0"),
    Shape(2, 1, 2, 1, "PodIP", "3.0.0"),
)
"""One of each sort, for every run of the tests that train: more servers than workers, more workers than servers, more
heter ranks than workers, each `withGloo`, each `intranet`."""
