"""A process that serves looks for garbage seldom, and not at what was imported."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import gc
from paddock.serving.garbage import collect_seldom
before = gc.get_threshold()[0]
collect_seldom()
assert gc.isenabled() and gc.get_threshold()[0] > before
assert gc.get_freeze_count() > 1_000 > len(gc.get_objects())
circle = []
circle.append(circle)
del circle
assert gc.collect() == 1
"""


def test_garbage_is_collected_and_imports_are_not_looked_at() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True)
