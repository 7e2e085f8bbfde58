"""What a failed build may have depended on outside its definition: when that changes, it is worth another try. I/O.

Cheap to read (stat calls, a few small files), as it is compared every few seconds while an environment is Failed. What
cannot be seen from here, such as an index that answers again, is left to whoever asks anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from paddock.environments.indexes import pip_files, read_texts, uv_files

Circumstances = tuple[object, ...]
"""Compared for equality alone."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where to look: the variables and the home directory that builds start with."""

    environ: Mapping[str, str]
    home: Path

    def read(self) -> Circumstances:
        return (self._libraries(), self._network(), self._settings())

    def _libraries(self) -> object:
        """Libraries of the system, and programs, interpreters among them: ldconfig writes the loader's cache anew
        after each package with a library, and a new program changes its directory."""
        paths = ["/etc/ld.so.cache", "/lib", "/usr/lib", *self.environ.get("LD_LIBRARY_PATH", "").split(":")]
        paths += self.environ.get("PATH", os.defpath).split(":")
        paths += [str(self.home / ".pyenv/versions"), str(self.home / ".local/share/uv/python")]
        return tuple(_changed(Path(each)) for each in paths if each)

    def _network(self) -> object:
        """Addresses that lead out of this machine, the way out, and who resolves names. Link-local addresses are left
        out: they say nothing."""
        addresses = sorted(
            (name, each.address)
            for name, every in psutil.net_if_addrs().items()
            for each in every
            if each.family.name in ("AF_INET", "AF_INET6") and not each.address.startswith(("127.", "::1", "fe80:"))
        )
        return (addresses, read_texts([Path("/etc/resolv.conf"), Path("/proc/net/route")]))

    def _settings(self) -> object:
        """pip's, uv's and the index's passwords: files that people mend."""
        files = (*pip_files(self.environ, self.home), *uv_files(self.environ, self.home), self.home / ".netrc")
        return tuple(_changed(each) for each in files)


def _changed(path: Path) -> tuple[int, int]:
    """Another value after each change of a file, or of what a directory holds."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
