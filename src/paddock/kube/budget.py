"""A bound on work, in counted steps: what is refused for its size is refused on every machine alike."""

from __future__ import annotations


class Exhausted(Exception):
    """The work takes more steps than its budget has."""


class Budget:
    """Steps that are left; a step is roughly a microsecond. Work that grows faster than its input counts its steps."""

    __slots__ = ("left",)

    def __init__(self, steps: float = float("inf")) -> None:
        self.left = steps

    def spend(self, steps: float = 1) -> None:
        """Raises `Exhausted` if fewer steps are left."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted
