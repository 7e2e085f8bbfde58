"""The GPUs of a node while a plan is made: which are free, and who shares which. No I/O.

Rules. A pod that shares takes one share of one GPU; all pods on that GPU have the same number of shares, and there are
never more pods than shares. It goes to a GPU that is shared so already, the fullest first, so that whole GPUs stay
free. A GPU of a pod that does not share has no other pod.

The pods of a node that were bound without a choice of GPUs (by their own nodeName, or by an older Paddock) hold some
that only the kubelet knows. It takes the lowest ones that are free, so these are not given out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from paddock.kube.gpu_shares import GPU
from paddock.node.scheduler.pod_request import Request


@dataclass(frozen=True, slots=True)
class SharedGpu:
    """A GPU that pods share."""

    index: int
    shares: int
    taken: int


@dataclass(slots=True)
class Gpus:
    """Changed in place. `take` and `give_back` are each other's opposite."""

    indices: tuple[int, ...]
    """All of the node, lowest first."""
    held: dict[int, dict[str, int]] = field(default_factory=dict)
    """By GPU: the shares of each pod on it, by its UID; 0 for a pod that has it alone."""
    unknown: dict[str, int] = field(default_factory=dict)
    """How many GPUs the pods hold for which none were chosen, by UID."""
    given: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The GPUs of each pod, by UID."""

    def choose(self, request: Request) -> tuple[int, ...] | None:
        """The GPUs that a pod would have now; None if there are too few."""
        count = int(request.amounts.get(GPU, 0))
        if request.shares:
            open_ = [each for each in self.shared() if each.shares == request.shares and each.taken < each.shares]
            if open_:
                return (min(open_, key=lambda each: (-each.taken, each.index)).index,)
        free = self.free
        return tuple(free[:count]) if count <= len(free) else None

    def take(self, request: Request) -> None:
        """A pod without room, or with GPUs that are another's, counts nevertheless: it is there."""
        count = int(request.amounts.get(GPU, 0))
        if not count:
            return
        # A pod that has its node has the GPUs that were chosen then, and no others.
        chosen = request.gpus if request.holds else self.choose(request)
        if not chosen or len(chosen) != count or not set(chosen) <= set(self.indices):
            self.unknown[request.uid] = count
            return
        self.given[request.uid] = chosen
        for index in chosen:
            self.held.setdefault(index, {})[request.uid] = request.shares

    def give_back(self, request: Request) -> None:
        self.unknown.pop(request.uid, None)
        for index in self.given.pop(request.uid, ()):
            del self.held[index][request.uid]
            if not self.held[index]:
                del self.held[index]

    @property
    def free(self) -> list[int]:
        """The GPUs that nobody has."""
        left = [index for index in self.indices if index not in self.held]
        return left[sum(self.unknown.values()) :]

    def shared(self) -> Iterator[SharedGpu]:
        """The GPUs whose pods share them."""
        for index, pods in sorted(self.held.items()):
            shares = set(pods.values())
            if len(shares) == 1 and 0 not in shares:
                yield SharedGpu(index, shares.pop(), len(pods))

    def count_free(self, shares: int = 0) -> Fraction:
        """GPUs that are free; for pods with `shares` also what is free of those that are shared so."""
        open_ = sum(max(0, each.shares - each.taken) for each in self.shared() if each.shares == shares)
        return Fraction(len(self.free)) + (Fraction(open_, shares) if shares else 0)
