"""What ranks could not mount on this machine, where it has no bubblewrap: refused before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from paddock.app.home import UNSANDBOXED, Home, find_running
from paddock.submission.documents import Checked
from paddock.submission.shared_paths import explain_difference, find_paths
from paddock.words.phrases import Phrase


def _choose_sandbox(home: Home) -> str:
    from paddock.node.runtime.sandbox import choose_sandbox  # late: what runs pods takes long to import

    running = find_running(home)
    return choose_sandbox().name if running is None else running.sandbox


def find_unmountable(
    checked: Iterable[Checked], home: Home, sandbox_of: Callable[[Home], str] = _choose_sandbox
) -> Iterator[tuple[Checked, Phrase]]:
    """Each document with each reason. `sandbox_of`: that of the local cluster; where it is not up, that which it would
    have."""
    mounted = [(each, path) for each in checked if each.job for path in find_paths(each.job)]
    if not mounted or sandbox_of(home) != UNSANDBOXED:
        return
    from paddock.node.runtime.mounts import find_obstacle  # late, as above

    for each, path in mounted:
        if path.differs:
            yield each, explain_difference(path)
        elif said := find_obstacle(Path(path.path), dict(path.volume), home.node):
            yield each, said
