"""The state of the machine that a failed build may have depended on: when it changes, a retry may succeed. I/O.

Reading costs a few stat calls and small files, as it is repeated every few seconds while an environment is Failed.
Other changes, such as an index that answers again, are not visible here: a new job starts the retry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from paddock.environments.indexes import pip_files, read_texts, uv_files

Circumstances = tuple[object, ...]
"""Opaque: compare for equality only."""


@dataclass(frozen=True, slots=True)
class BuildCircumstances:
    """Reads the circumstances of builds with these variables and this home directory."""

    environ: Mapping[str, str]
    home: Path

    def read(self) -> Circumstances:
        return (self._libraries(), self._network(), self._settings())

    def _libraries(self) -> object:
        """System libraries, programs and interpreters."""
        # ldconfig rewrites the loader's cache after each installed library, and a new program changes the mtime of its
        # directory.
        paths = ["/etc/ld.so.cache", "/lib", "/usr/lib", *self.environ.get("LD_LIBRARY_PATH", "").split(":")]
        paths += self.environ.get("PATH", os.defpath).split(":")
        paths += [str(self.home / ".pyenv/versions"), str(self.home / ".local/share/uv/python")]
        return tuple(_fingerprint(Path(each)) for each in paths if each)

    def _network(self) -> object:
        """Addresses, routes and DNS resolvers."""
        # Loopback and link-local addresses do not reach an index, so their changes say nothing.
        addresses = sorted(
            (name, each.address)
            for name, every in psutil.net_if_addrs().items()
            for each in every
            if each.family.name in ("AF_INET", "AF_INET6") and not each.address.startswith(("127.", "::1", "fe80:"))
        )
        return (addresses, read_texts([Path("/etc/resolv.conf"), Path("/proc/net/route")]))

    def _settings(self) -> object:
        """Settings of pip and uv, and passwords (.netrc): files that users correct."""
        files = (*pip_files(self.environ, self.home), *uv_files(self.environ, self.home), self.home / ".netrc")
        return tuple(_fingerprint(each) for each in files)


def _fingerprint(path: Path) -> tuple[int, int]:
    """Differs after each change of a file or of a directory's entries."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
