"""The records of usage on disk: beside the log of each run, so that they go with it.

DIRECTORY/pods/NAMESPACE_POD_UID/CONTAINER/N.usage      0600; `node.usage.samples` has its form
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from paddock.node.runtime.pod_files import open_for_writing, open_regular, read_start
from paddock.node.usage.samples import (
    HEAD,
    LARGEST,
    MOST,
    Sample,
    decode,
    encode,
    encode_head,
    find_last,
    halve,
    is_whole,
    merge,
)

SUFFIX = ".usage"


def usage_file(log: Path) -> Path:
    """Beside the log of a run."""
    return log.with_suffix(SUFFIX)


def read_usage_file(path: Path) -> list[Sample]:
    """The samples of a run, oldest first; none where there is no record."""
    try:
        return decode(read_start(path, LARGEST))[1]
    except OSError:
        return []


def read_last_samples(path: Path, most: int) -> list[Sample]:
    """The same of the last samples alone, however long the record is."""
    try:
        file = open_regular(path)
    except OSError:
        return []
    try:
        begin = find_last(os.fstat(file).st_size, most)
        return decode(os.pread(file, HEAD, 0) + os.pread(file, LARGEST, begin))[1]
    except OSError:
        return []
    finally:
        os.close(file)


@dataclass(slots=True)
class UsageRecord:
    """The record of one run while it is written. One that an earlier daemon began is gone on with."""

    path: Path
    _stride: int = 1
    _count: int = 0
    _begun: bool = False
    _pending: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        """Raises OSError, as on a full disk; then the sample is lost."""
        if not self._begun:
            self._begin()
        self._pending.append(sample)
        if len(self._pending) < self._stride:
            return
        merged, self._pending = merge(self._pending), []
        _write(self.path, encode(merged), os.O_APPEND)
        self._count += 1
        if self._count >= MOST:
            self._rewrite(*decode(read_start(self.path, LARGEST)))

    def _begin(self) -> None:
        try:
            data = read_start(self.path, LARGEST)
        except FileNotFoundError:
            data = b""
        self._stride, samples = decode(data)
        self._count = len(samples)
        if not is_whole(data):
            _write(self.path, encode_head(self._stride) + b"".join(map(encode, samples)), os.O_TRUNC)
        self._begun = True

    def _rewrite(self, stride: int, samples: list[Sample]) -> None:
        halved = halve(samples)
        # Written aside and renamed: after a `kill -9` half a record would be lost.
        fresh = self.path.with_name(f"{self.path.name}.new")
        _write(fresh, encode_head(2 * stride) + b"".join(map(encode, halved)), os.O_TRUNC)
        fresh.replace(self.path)
        self._stride, self._count = 2 * stride, len(halved)


def _write(path: Path, data: bytes, flags: int) -> None:
    file = open_for_writing(path, flags)
    try:
        os.write(file, data)
    finally:
        os.close(file)
