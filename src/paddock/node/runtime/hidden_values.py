"""Hides the values that containers take from Secrets, in what the kubelet tells of a pod: a status and events may be
read by whoever may not read Secrets or logs. Kubernetes' kubelet copies them as they are.

The variables count (`secretKeyRef`, `secretRef`), mounted files do not. The log stays as the program wrote it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from paddock.kube.meta import Manifest
from paddock.node.runtime.container_env import Configs

MASK = "***"
_SHORTEST_VALUE, _SHORTEST_LINE = 4, 8  # characters; shorter ones occur in texts by chance


def read_hidden(pod: Manifest, configs: Configs) -> frozenset[str]:
    """The values to hide of the Secrets that the variables of the pod's containers come from."""
    spec = pod["spec"]
    everyone = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    raw = (value for container in everyone for value in _read_container(container, configs))
    return frozenset(part for value in raw for part in _split(value.decode(errors="replace")))


def _read_container(container: Manifest, configs: Configs) -> Iterator[bytes]:
    for source in container.get("envFrom") or ():
        if reference := source.get("secretRef"):
            yield from (configs.data("secret", reference.get("name") or "") or {}).values()
    for entry in container.get("env") or ():
        if reference := (entry.get("valueFrom") or {}).get("secretKeyRef"):
            data = configs.data("secret", reference.get("name") or "") or {}
            if (value := data.get(reference.get("key") or "")) is not None:
                yield value


def _split(value: str) -> Iterator[str]:
    """The value, the value without space around it (a file's last newline), and the long ones of its lines."""
    yield from (each for each in (value, value.strip()) if len(each.strip()) >= _SHORTEST_VALUE)
    yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)


@dataclass(frozen=True)
class Hidden:
    """Values that are replaced by `***`; the longest first, as one may be a part of another."""

    values: frozenset[str] = frozenset()

    @cached_property
    def longest(self) -> int:
        """Bytes: what has to be read before a text that is cut, to know a value that the cut divides."""
        return max((len(value.encode()) for value in self.values), default=0)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes] | None:
        words = _longest_first(value.encode() for value in self.values)
        return re.compile(b"|".join(map(re.escape, words))) if words else None

    def apply(self, text: str) -> str:
        data = text.encode(errors="surrogateescape")
        return self.read_tail(data, len(data)).decode(errors="surrogateescape")

    def read_tail(self, data: bytes, size: int) -> bytes:
        """The last `size` bytes of `data`, without the values. One that begins before them is hidden as a whole, if
        `data` has it as a whole (`longest`)."""
        at = max(0, len(data) - size)
        pieces: list[bytes] = []
        for match in self._pattern.finditer(data) if self._pattern else ():
            if match.end() > at:
                pieces += [data[at : match.start()], MASK.encode()]
                at = match.end()
        return b"".join([*pieces, data[at:]])


def _longest_first(values: Iterable[bytes]) -> list[bytes]:
    return sorted(values, key=lambda value: (-len(value), value))
