"""Puts the default Environments into an API, and keeps them up to date as long as the user has not changed them.

A seeded object carries the digest of the spec it was given. If its spec still has that digest, a newer Paddock may
replace it; if not, it is the user's. An object without our annotation is never touched.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import build_spec_digest
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, Conflict
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, name_of

SEED = "paddock.dev/seed"
"""Annotation: the digest of the spec that was seeded."""

logger = logging.getLogger(__name__)


def plan_seeding(
    existing: Sequence[Manifest], defaults: Sequence[Manifest]
) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
    """Objects to create, and existing ones to replace by a newer default (resourceVersion kept)."""
    there: Mapping[str, Manifest] = {name_of(each): each for each in existing}
    create, replace = [], []
    for default in defaults:
        digest = build_spec_digest(default)
        old = there.get(name_of(default))
        seeded = copy.deepcopy(default)
        if old is None:
            seeded["metadata"]["annotations"] = {SEED: digest}
            create.append(seeded)
        elif annotations_of(old).get(SEED) == build_spec_digest(old) != digest:
            seeded["metadata"] = old["metadata"] | {"annotations": {**annotations_of(old), SEED: digest}}
            replace.append(seeded)
    return tuple(create), tuple(replace)


async def seed(api: Api) -> None:
    """Creates the missing defaults and updates ours. The kind must be served already (`environments.crd`)."""
    create, replace = plan_seeding((await api.list(ENVIRONMENTS)).items, build_defaults())
    for manifest in create:
        try:
            await api.create(ENVIRONMENTS, manifest)
        except AlreadyExists:
            continue  # somebody else was first: it is theirs
    for manifest in replace:
        try:
            await api.replace(ENVIRONMENTS, manifest)
        except Conflict:
            logger.info("environment %s is being changed by somebody else: left alone", name_of(manifest))
