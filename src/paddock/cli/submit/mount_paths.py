"""What ranks could not mount on this machine, where it has no bubblewrap: refused before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from paddock.app.home import UNSANDBOXED, Home, find_running
from paddock.node.runtime.mounts import find_obstacle
from paddock.node.runtime.sandbox import choose_sandbox
from paddock.submission.documents import Checked
from paddock.submission.shared_paths import explain_difference, find_paths
from paddock.words.phrases import Phrase


def find_unmountable(checked: Iterable[Checked], home: Home) -> Iterator[tuple[Checked, Phrase]]:
    """Each document with each reason. Where the local cluster is not up, by the sandbox that it would have."""
    mounted = [(each, path) for each in checked if each.job for path in find_paths(each.job)]
    if not mounted or _choose_sandbox(home) != UNSANDBOXED:
        return
    for each, path in mounted:
        if path.differs:
            yield each, explain_difference(path)
        elif said := find_obstacle(Path(path.path), dict(path.volume), home.node):
            yield each, said


def _choose_sandbox(home: Home) -> str:
    running = find_running(home)
    return choose_sandbox().name if running is None else running.sandbox
