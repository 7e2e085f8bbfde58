"""Creates the default Environments, and updates those that the user has not changed.

A seeded object has the digest of its seeded spec as an annotation. While its spec has that digest, a newer Paddock may
replace it; otherwise the user changed it. An object without the annotation is never changed.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.environments.defaults import build_defaults
from paddock.environments.definition import build_spec_digest
from paddock.environments.sources import read_source
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, Conflict
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of, name_of

SEED = "paddock.dev/seed"
"""Annotation: the digest of the spec that was seeded."""

logger = logging.getLogger(__name__)


def is_as_seeded(environment: Manifest) -> bool:
    """Whether it comes with Paddock, and has the spec that it was seeded with."""
    return annotations_of(environment).get(SEED) == build_spec_digest(environment)


def name_file(environment: Mapping[str, Any], own: str = "requirements.txt") -> str:
    """The requirements file in which a further package belongs: that which it was made of, or, as one that comes with
    Paddock is everybody's, `own`. Empty of any other."""
    if source := read_source(environment):
        return source.files[0]
    return own if SEED in annotations_of(environment) else ""


def plan_seeding(
    existing: Sequence[Manifest], defaults: Sequence[Manifest]
) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
    """The objects to create, and those to replace by a newer default (with the resourceVersion that was read)."""
    there: Mapping[str, Manifest] = {name_of(each): each for each in existing}
    create, replace = [], []
    for default in defaults:
        digest = build_spec_digest(default)
        old = there.get(name_of(default))
        seeded = copy.deepcopy(default)
        if old is None:
            seeded["metadata"]["annotations"] = {SEED: digest}
            create.append(seeded)
        # The user has not changed it since it was seeded, and it is not the current default.
        elif is_as_seeded(old) and build_spec_digest(old) != digest:
            seeded["metadata"] = old["metadata"] | {"annotations": {**annotations_of(old), SEED: digest}}
            replace.append(seeded)
    return tuple(create), tuple(replace)


async def seed(api: Api) -> None:
    """Creates missing defaults and updates unchanged ones. The CRD (`environments.crd`) must be installed."""
    create, replace = plan_seeding((await api.list(ENVIRONMENTS)).items, build_defaults())
    for manifest in create:
        try:
            await api.create(ENVIRONMENTS, manifest)
        except AlreadyExists:
            # Another client has created it since the list.
            continue
    for manifest in replace:
        try:
            await api.replace(ENVIRONMENTS, manifest)
        except Conflict:
            logger.info("environment %s is being changed by somebody else: left alone", name_of(manifest))
