"""Which frameworks there are. Adding one is a module in this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from paddock.jobs.frameworks import Framework, paddle

FRAMEWORKS: Mapping[str, Framework] = {"paddle": paddle}
