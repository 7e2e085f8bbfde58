"""All places of `--to`. A new place is a module or a folder of this package, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.places import kubernetes, slurm
from paddock.places.bare import place as bare
from paddock.places.clouds import aihc, bml, modelarts, pai
from paddock.places.docker import compose
from paddock.places.docker import place as docker
from paddock.places.rendering import Platform

_ALL: tuple[Platform, ...] = (
    bare.PLACE, docker.PLACE, compose.PLACE, modelarts.PLACE, bml.PLACE, pai.PLACE, aihc.PLACE, slurm.PLACE,
    kubernetes.PLACE,
)  # fmt: skip

PLACES: Mapping[str, Platform] = {place.name: place for place in _ALL}
