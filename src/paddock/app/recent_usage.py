"""What a pod of the local cluster used lately: the end of the record that the node writes beside its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paddock.kube.meta import Manifest
from paddock.kube.pod_logs import find_directory, name_main_container
from paddock.node.usage.records import SUFFIX, read_last_samples
from paddock.node.usage.samples import Sample


def read_recent(store: Path, pod: Manifest, most: int) -> Sequence[Sample]:
    """Of its container that trains, in its last run; the oldest first. None where nothing is recorded. `store`: of the
    logs of pods."""
    container = store / find_directory(pod).name / name_main_container(pod)
    numbers = [int(each.stem) for each in container.glob(f"*{SUFFIX}") if each.stem.isdecimal()]
    return read_last_samples(container / f"{max(numbers)}{SUFFIX}", most) if numbers else ()
