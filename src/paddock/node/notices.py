"""Events that the node publishes about objects: what `kubectl describe` shows at its end. Best effort."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists, ApiError
from paddock.kube.meta import EVENTS, Manifest, name_of, namespace_of, uid_of
from paddock.kube.times import Moment, format_time

_TOGETHER = 20

_log = logging.getLogger(__name__)


def build_notice(
    about: Mapping[str, Any], reason: str, message: str, now: Moment, *, component: str, kind: str = "Normal"
) -> Manifest:
    """A core/v1 Event. Its name comes from what is said, so the same is said once of an object, also after a crash."""
    said = "\0".join((uid_of(about), reason, message))
    suffix = hashlib.blake2s(said.encode(), digest_size=8).hexdigest()
    time = format_time(now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name_of(about)[:200]}.{suffix}", "namespace": namespace_of(about) or "default"},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "namespace": namespace_of(about),
            "name": name_of(about),
            "uid": uid_of(about),
        },
        "type": kind,
        "reason": reason,
        "message": message[:1024],
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


async def publish_all(api: Api, notices: Sequence[Manifest]) -> None:
    """A few at a time, so that whoever writes something that matters need not wait for all of them."""
    for start in range(0, len(notices), _TOGETHER):
        await asyncio.gather(*(publish(api, notice) for notice in notices[start : start + _TOGETHER]))


async def publish(api: Api, notice: Manifest) -> None:
    """Nobody waits for an event: one that cannot be written is a line of the log."""
    try:
        await api.create(EVENTS, notice, namespace=namespace_of(notice))
    except AlreadyExists:
        return
    except ApiError as error:
        _log.info("event %s of %s is lost: %s", notice["reason"], notice["involvedObject"]["name"], error)
