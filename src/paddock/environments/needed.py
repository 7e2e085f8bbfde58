"""The Environment that stands for a requirements file: its name, and what is added to the file's packages.

The directory of the process counts where the path of a file is relative; else pure.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from paddock.environments.sources import Source


@dataclass(frozen=True, slots=True)
class Needed:
    """The Environment of a requirements file that a job trains in."""

    requirements: Path
    """The file."""
    framework: str = "paddle"
    """What the job trains with: `paddle`, `pytorch`, or `jax` and `none`, for which nothing is added to the file's
    packages."""
    servers: bool = False
    """With parameter servers."""

    @property
    def name(self) -> str:
        """Another one for each framework, and with parameter servers, as what is added to the file's packages is."""
        return environment_name(self.requirements, _SUFFIXES.get(self.framework, "ps" if self.servers else ""))

    @property
    def source(self) -> Source:
        files = (os.path.normpath(self.requirements.absolute()),)
        return Source(files, paddle=self.framework == "paddle", servers=self.servers, torch=self.framework == "pytorch")


_SUFFIXES = {"pytorch": "pytorch", "jax": "plain", "none": "plain"}


def environment_name(requirements: Path, suffix: str = "") -> str:
    """The Environment of a requirements file: its directory's name, the file's if it is another than requirements.txt,
    a hash of its absolute path, and a word for what else is in it."""
    path = os.path.normpath(requirements.absolute())
    words = [os.path.basename(os.path.dirname(path)), os.path.basename(path).removesuffix(".txt")]  # noqa: PTH119,PTH120
    if words[1] == "requirements":
        words.pop()
    slug = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower())[:40].strip("-")
    parts = [slug, hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:8], suffix]
    return "-".join(filter(None, parts))
