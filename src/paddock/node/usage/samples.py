"""The record of what one run of a container used, of a bounded size however long it runs. Pure.

    16 bytes `paddock usage 1`, 8 bytes: how many measurements each sample has (a double)
    24 bytes each sample: time (a double), cores, bytes, percent of the GPUs, bytes of the GPUs (floats; NaN: none)

All little-endian, the oldest sample first. A record that is full is halved: each two samples become one, and from then
on a sample stands for twice as many measurements. So an hour has all measurements, and a week some two thousand points.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.kube.times import Moment

MOST = 2_048
"""Samples of a record: 48 KiB."""
_MAGIC = b"paddock usage 1\0"
_HEAD = struct.Struct("<16sd")
_SAMPLE = struct.Struct("<dffff")
HEAD = _HEAD.size
"""Bytes before the first sample."""
LARGEST = _HEAD.size + 2 * MOST * _SAMPLE.size
"""Bytes that are read of a record."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a pod used at one moment. NaN: it has none."""

    at: Moment
    cpu: float  # cores
    memory: float  # bytes
    gpu: float = math.nan  # percent of the time in which a GPU worked, on average over the pod's GPUs
    gpu_memory: float = math.nan  # bytes, of all its GPUs


def encode_head(stride: int) -> bytes:
    return _HEAD.pack(_MAGIC, stride)


def encode(sample: Sample) -> bytes:
    return _SAMPLE.pack(sample.at, sample.cpu, sample.memory, sample.gpu, sample.gpu_memory)


def decode(data: bytes) -> tuple[int, list[Sample]]:
    """How many measurements each sample has, and the samples; none of what is no record. What a crash has left of a
    sample at the end is left out."""
    if len(data) < _HEAD.size:
        return 1, []
    magic, stride = _HEAD.unpack_from(data)
    if magic != _MAGIC or not 1 <= stride <= 2**40:
        return 1, []
    whole = _HEAD.size + (len(data) - _HEAD.size) // _SAMPLE.size * _SAMPLE.size
    return int(stride), [Sample(*each) for each in _SAMPLE.iter_unpack(data[_HEAD.size : whole])]


def find_last(size: int, most: int) -> int:
    """Where the last `most` whole samples of a record of this size begin, in bytes."""
    whole = max(0, size - HEAD) // _SAMPLE.size
    return HEAD + max(0, whole - most) * _SAMPLE.size


def is_whole(data: bytes) -> bool:
    """Whether more samples may be written behind."""
    return data.startswith(_MAGIC) and len(data) >= _HEAD.size and (len(data) - _HEAD.size) % _SAMPLE.size == 0


def merge(samples: Sequence[Sample]) -> Sample:
    """One for several, one or more: means of what flows, the most of what is held, the time of the last."""
    return Sample(
        samples[-1].at,
        _mean([each.cpu for each in samples]),
        max(each.memory for each in samples),
        _mean([each.gpu for each in samples]),
        max((each.gpu_memory for each in samples if each.gpu_memory == each.gpu_memory), default=math.nan),
    )


def halve(samples: Sequence[Sample]) -> list[Sample]:
    return [merge(samples[place : place + 2]) for place in range(0, len(samples), 2)]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else math.nan
