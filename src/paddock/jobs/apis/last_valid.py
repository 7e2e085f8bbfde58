"""The last valid spec of a job, kept in its status: an edit that is not valid must not end the supervision of a job
that trains. A new operator, or one that was away during the edit, goes on by it.

`status.lastValidSpec` is the spec as JSON, compressed and in base64. It is for operators, and a status that held every
template a second time would be hard to read. A spec that takes more than `MOST_ENCODED` is not kept: an object of
Kubernetes has at most 1.5 MB, and a status that cannot be written would stop the job.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from paddock.jobs.apis.elastic import keep_sizes
from paddock.jobs.apis.outputs import is_readable
from paddock.jobs.labels import ELASTIC_ANNOTATION, OUTPUTS_ANNOTATION, RESTART_SCOPE_ANNOTATION
from paddock.jobs.model import RestartScope
from paddock.jobs.mounts import keep_readable
from paddock.kube.datasets import MOUNTS_ANNOTATION
from paddock.kube.meta import Manifest, annotations_of, metadata

MOST_ENCODED = 256 * 1024
"""Characters."""
_LONGEST = 3 * 1024 * 1024
"""Bytes of JSON: an object of Kubernetes has at most 1.5 MB. Whoever may write a status must not fill our memory."""


def encode_spec(spec: Mapping[str, Any]) -> str:
    """Empty if it would be too long. The same spec gives the same text, whatever the order of its keys."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    encoded = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return encoded if len(encoded) <= MOST_ENCODED else ""


def decode_spec(text: str) -> Mapping[str, Any] | None:
    """None for anything that is not an encoded spec. Never raises."""
    try:
        packed = base64.b64decode(text.encode(), validate=True)
        decompressor = zlib.decompressobj()
        unpacked = decompressor.decompress(packed, _LONGEST)
        found = json.loads(unpacked) if decompressor.eof else None
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def with_last_valid_spec(manifest: Mapping[str, Any], last_valid: str, gang_size: int = 0) -> Manifest | None:
    """The manifest with the spec that was last valid; None if there is none. `last_valid` and
    `gang_size`: those of the `Status`.

    A suspension is followed all the same: whoever asks for it must not have to mend the manifest first. Annotations are
    no part of the spec: one that asks for no known scope of restarts is left out, and of the datasets those entries
    that cannot be followed. One whose sizes cannot be leaves an elastic gang at the size that it has.
    """
    spec = decode_spec(last_valid) if last_valid else None
    if spec is None:
        return None
    wanted = _read_suspend(manifest.get("spec"))
    if wanted is not None:
        policy = spec.get("runPolicy")
        spec = {**spec, "runPolicy": {**(policy if isinstance(policy, Mapping) else {}), "suspend": wanted}}
    return {**_without_unreadable(manifest, spec, gang_size), "spec": spec}


def _without_unreadable(manifest: Mapping[str, Any], spec: Mapping[str, Any], gang_size: int) -> Manifest:
    annotations = annotations_of(manifest)
    kept = dict(annotations)
    if kept.get(RESTART_SCOPE_ANNOTATION, RestartScope.GANG) not in list(RestartScope):
        del kept[RESTART_SCOPE_ANNOTATION]
    if isinstance(mounts := kept.get(MOUNTS_ANNOTATION), str):
        kept[MOUNTS_ANNOTATION] = keep_readable(mounts, spec)
    if OUTPUTS_ANNOTATION in kept and not is_readable(kept[OUTPUTS_ANNOTATION], spec):
        del kept[OUTPUTS_ANNOTATION]
    if ELASTIC_ANNOTATION in kept:
        sizes = keep_sizes(str(kept.pop(ELASTIC_ANNOTATION)), spec, gang_size)
        kept |= {ELASTIC_ANNOTATION: sizes} if sizes else {}
    if kept == annotations:
        return dict(manifest)
    return {**manifest, "metadata": {**metadata(manifest), "annotations": kept}}


def _read_suspend(spec: Any) -> bool | None:
    policy = spec.get("runPolicy") if isinstance(spec, Mapping) else None
    found = policy.get("suspend") if isinstance(policy, Mapping) else None
    return found if isinstance(found, bool) else None
